/** Responses without what differs from server to server and from second to second. */
import { isObject } from "#lib/json";

/** Identity, time and bookkeeping: present or absent alike, but never equal. */
const CHANCE = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "lastTransitionTime",
  "lastUpdateTime",
  "expirationTimestamp",
  "eventTime",
  "continue",
  "since",
]);
/** Written by people for people, or proven elsewhere. */
const DROPPED = new Set(["managedFields", "description", "kubernetes.io/description", "hash"]);

/** Of the build, not of the version. */
const BUILD = new Set(["gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler"]);

/** The recorded server knew of no front proxy. */
function isOfFrontProxy(key: string): boolean {
  return key.startsWith("requestheader-");
}

/** Left out of the recordings, because they are keys or certificates. */
const BLANKED = new Set(["token", "certificate", "ca.crt", "client-ca-file", "request"]);

/** The recorded administrator had a token from a file, ours has a certificate. */
function isProofOfIdentity(key: string, value: unknown): boolean {
  return (key === "uid" && value === "admin") || (key === "extra" && JSON.stringify(value).includes("X509SHA256="));
}

/** Nobody can tell empty details from none. */
function isEmptyDetails(key: string, value: unknown): boolean {
  return key === "details" && isObject(value) && Object.keys(value).length === 0;
}

export function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normal);
  if (!isObject(value)) return typeof value === "string" ? normalText(value) : value;
  const kept: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) {
    if (DROPPED.has(key) || BUILD.has(key) || isOfFrontProxy(key)) continue;
    if (isProofOfIdentity(key, each) || isEmptyDetails(key, each)) continue;
    if (BLANKED.has(key)) kept[key] = "<blank>";
    else if (CHANCE.has(key) && each !== null) kept[key] = "<chance>";
    else if (key === "port" && isOwnPort(each)) kept[key] = "<port>";
    else if (key === "gitVersion") kept[key] = String(each).replace(/^(v\d+\.\d+)\..*/, "$1");
    else kept[key] = normal(each);
  }
  if (typeof kept.generateName === "string") kept.name = `${kept.generateName}<suffix>`;
  return kept;
}

/** The recorded one, or one that the system chose. */
function isOwnPort(value: unknown): boolean {
  return value === 6443 || (typeof value === "number" && value >= 32_768);
}

/** A real server gathers these by walking Go maps, whose order is chance. */
const UNORDERED = new Set(["causes", "nonResourceRules"]);

/** With everything sorted that comes in an order of chance. */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      UNORDERED.has(key) && Array.isArray(each)
        ? each.toSorted((a, b) => (place(a) < place(b) ? -1 : 1))
        : inOrder(each),
    ]),
  );
}

function place(item: unknown): string {
  const { field, reason } = item as { field?: string; reason?: string };
  return JSON.stringify(field === undefined ? item : [field, reason]);
}

/** Texts that programs look for, because nothing else in an answer tells what they need to know. */
const TELLING = [
  /not found$/,
  /already exists$/,
  / is forbidden: /,
  /^forbidden: /,
  /the object has been modified/,
  /^Apply failed with \d+ conflict/,
  /field not declared in schema/,
  /does not contain declared merge key/,
  /strict decoding error/,
  /^field label not supported/,
];

/** Without the messages that only people read. */
export function withoutProse(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutProse);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, each]) => key !== "message" || TELLING.some((text) => text.test(String(each))))
      .map(([key, each]) => [key, withoutProse(each)]),
  );
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const AGE = /^\d+(s|m|h|d)(\d+[smh])?$/;

function normalText(text: string): string {
  if (AGE.test(text)) return "<age>";
  return text
    .replaceAll(UUID, "<uid>")
    .replaceAll("capstan-admin", "admin")
    .replaceAll("kubernetes.default.svc.cluster.local", "kubernetes.default.svc")
    .replaceAll(/\b(10\.0\.0\.5|127\.0\.0\.1|192\.0\.2\.1)(:\d+)?\b/g, "<server>")
    .replaceAll(/\b10\.96\.\d+\.\d+\b/g, "<address>")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>")
    .replaceAll(/kube-api-access-\w{5}/g, "kube-api-access-<suffix>")
    .replaceAll(/current: \d+/g, "current: <revision>");
}
