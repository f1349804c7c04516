/** What a manifest says, in a form that can be sent, and in a form that can be compared. */
import { createHash } from "node:crypto";
import { apiVersionOf, type DynamicObject, type Kind, type ObjectMeta } from "#api/meta";
import { isObject, stringifyJson } from "#lib/json";
import { withAnnotations, withLabels } from "#lib/meta";
import { groupKindOf } from "./identity.ts";

const HASH_PREFIX = "hash.apply.capstan.dev/";
const LONGEST_NAME = 63;
const MARK_LENGTH = 16;

/**
 * The annotation that tells, on an object, which manifest was applied to it last. Every manager has its own: managers
 * who share an object would else be in conflict about it.
 */
export function hashAnnotationOf(manager: string): string {
  const name = manager.replace(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, "");
  if (name === manager && name.length <= LONGEST_NAME) return `${HASH_PREFIX}${name}`;
  const mark = createHash("sha256").update(manager).digest("hex").slice(0, MARK_LENGTH);
  return `${HASH_PREFIX}m${name.slice(0, LONGEST_NAME - MARK_LENGTH - 2)}-${mark}`;
}

/**
 * The manifest as it is sent: in its namespace, and without what only a server or a controller may say.
 */
export function prepared(object: DynamicObject, kind: Kind, defaultNamespace: string): DynamicObject {
  const { status: _, metadata, ...content } = object;
  const { namespace, ...meta } = ownMetadata(metadata);
  const place = kind.namespaced ? { namespace: namespace || defaultNamespace } : {};
  const plain = withoutEmptyTimes(content) as Record<string, unknown>;
  const body = (EXCEPTIONS[groupKindOf(kind)] ?? asItIs)(plain);
  return { ...body, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { ...meta, ...place } };
}

/** What cannot be sent as it is written. */
const EXCEPTIONS: Readonly<Record<string, (content: Record<string, unknown>) => Record<string, unknown>>> = {
  Secret: withEncodedTexts,
  "ClusterRole.rbac.authorization.k8s.io": withoutFilledRules,
};

function asItIs(content: Record<string, unknown>): Record<string, unknown> {
  return content;
}

function ownMetadata(metadata: ObjectMeta): ObjectMeta {
  const {
    uid: _uid,
    resourceVersion: _version,
    generation: _generation,
    creationTimestamp: _created,
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    managedFields: _fields,
    ...own
  } = metadata;
  const { selfLink: _link, ...rest } = own as ObjectMeta & { selfLink?: unknown };
  // A wish for nothing is none.
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null)) as unknown as ObjectMeta;
}

/** Generators write `creationTimestamp: null` into every template; as a wish it would own a field without a value. */
function withoutEmptyTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmptyTimes);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    if (key !== "metadata" || !isObject(inner) || inner.creationTimestamp !== null)
      return [key, withoutEmptyTimes(inner)];
    const { creationTimestamp: _, ...rest } = inner;
    return [key, withoutEmptyTimes(rest)];
  });
  return Object.fromEntries(entries);
}

/** In base64 at once: the server would store them so, and forget who wrote them. */
function withEncodedTexts({ stringData, data, ...secret }: Record<string, unknown>): Record<string, unknown> {
  if (!isObject(stringData)) return data === undefined ? secret : { ...secret, data };
  const encoded = Object.entries(stringData).map(([key, text]) => [
    key,
    typeof text === "string" ? Buffer.from(text, "utf8").toString("base64") : text,
  ]);
  return { ...secret, data: { ...(isObject(data) ? data : {}), ...Object.fromEntries(encoded) } };
}

/** The rules of an aggregated role are a controller's; whoever claims them too is in conflict with it for ever. */
function withoutFilledRules({ rules, ...role }: Record<string, unknown>): Record<string, unknown> {
  return role.aggregationRule === undefined && rules !== undefined ? { ...role, rules } : role;
}

/** The manifest with the label of its set. */
export function labelled(object: DynamicObject, label: { key: string; value: string } | undefined): DynamicObject {
  return label ? withLabels(object, { [label.key]: label.value }) : object;
}

export function withHash(object: DynamicObject, annotation: string, hash: string): DynamicObject {
  return withAnnotations(object, { [annotation]: hash });
}

/** The same for the same content, in whatever order its fields are written. */
export function hashOf(value: unknown): string {
  const parts: string[] = [];
  feed(value, (text) => parts.push(text));
  return createHash("sha256").update(parts.join("")).digest("base64url");
}

function feed(value: unknown, write: (text: string) => unknown): void {
  if (Array.isArray(value)) {
    write("[");
    for (const item of value) {
      feed(item, write);
      write(",");
    }
    write("]");
  } else if (isObject(value)) {
    write("{");
    for (const key of Object.keys(value).sort()) {
      if (value[key] === undefined) continue;
      write(`${JSON.stringify(key)}:`);
      feed(value[key], write);
      write(",");
    }
    write("}");
  } else write(value === undefined ? "null" : stringifyJson(value));
}

/** What somebody wishes of an object: all of it but its status and what the server counts. */
export function wishedPart(live: DynamicObject): Record<string, unknown> {
  const { status: _, metadata, ...content } = live;
  return { ...content, metadata: ownMetadata(metadata) };
}

/** The same for as long as nobody changes what is wished of this object; labels and the like are looked at elsewhere. */
export function fingerprintOf(live: DynamicObject): string {
  const { status: _, metadata, ...content } = live;
  return hashOf({ ...content, uid: metadata.uid });
}
