import { randomUUID } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import { isObject } from "#lib/json";
import type { TokenSigningKey } from "#lib/pki";
import { badRequest, conflict, field, invalid, notFound } from "../errors.ts";
import { type ObjectReader, Stored } from "./object-reader.ts";
import { type BoundObject, issueServiceAccountToken } from "./service-account-tokens.ts";

const DEFAULT_SECONDS = 3600;
const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 2 ** 32;

export interface TokenRequestContext {
  readonly reader: ObjectReader;
  readonly key: TokenSigningKey;
  readonly issuer: string;
  /** Whom a token is meant for when the request does not say. */
  readonly audiences: readonly string[];
  readonly serviceAccount: DynamicObject;
  readonly body: DynamicObject;
  readonly now: Date;
}

/** The answer to a TokenRequest for a service account. Throws ApiError for a wish that cannot be granted. */
export function tokenRequest(request: TokenRequestContext): DynamicObject {
  const { reader, key, issuer, serviceAccount, body, now } = request;
  const spec = isObject(body.spec) ? body.spec : {};
  const expirationSeconds = secondsOf(spec.expirationSeconds);
  const asked = Array.isArray(spec.audiences) ? spec.audiences.filter((each) => typeof each === "string") : [];
  const audiences = asked.length > 0 ? asked : [...request.audiences];
  const reference = isObject(spec.boundObjectRef) ? spec.boundObjectRef : undefined;
  const boundObject = reference && boundObjectOf(reader, serviceAccount, reference);

  const order = { key, issuer, serviceAccount, audiences, expirationSeconds, now };
  const { token, expires } = issueServiceAccountToken(boundObject ? { ...order, boundObject } : order);
  const { name, namespace = "" } = serviceAccount.metadata;
  return {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name, namespace, uid: randomUUID(), creationTimestamp: timestamp(now) },
    spec: { audiences, expirationSeconds, boundObjectRef: reference ?? null },
    status: { token, expirationTimestamp: timestamp(expires) },
  };
}

function secondsOf(asked: unknown): number {
  const seconds = asked === undefined || asked === null ? DEFAULT_SECONDS : Number(asked);
  const detail =
    seconds < SHORTEST_SECONDS
      ? "may not specify a duration less than 10 minutes"
      : seconds > LONGEST_SECONDS
        ? "may not specify a duration larger than 2^32 seconds"
        : undefined;
  if (detail === undefined && Number.isInteger(seconds)) return seconds;
  throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, [
    field.invalid("spec.expirationSeconds", asked, detail ?? "must be a number of seconds"),
  ]);
}

function boundObjectOf(
  reader: ObjectReader,
  { metadata }: DynamicObject,
  reference: Record<string, unknown>,
): BoundObject {
  const { kind, apiVersion, name, uid } = reference;
  const resource = apiVersion === "v1" ? RESOURCES.get(String(kind)) : undefined;
  if (!resource) {
    const type = `${String(apiVersion ?? "")}, Kind=${String(kind ?? "")}`;
    throw badRequest(`cannot bind token for serviceaccount "${metadata.name}" to object of type ${type}`);
  }
  const subject = { group: "", kind: resource.plural, name: String(name ?? "") };
  const key = resource.namespaced ? `${metadata.namespace ?? ""}/${subject.name}` : subject.name;
  const object = reader.get(resource.stored, key);
  if (!object) throw notFound(subject);
  const actual = object.metadata.uid ?? "";
  if (uid !== undefined && uid !== "" && uid !== actual) {
    const why = `the UID in the bound object reference (${String(uid)}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict(subject, why);
  }
  const bound = { kind: resource.kind, name: subject.name, uid: actual };
  if (resource.kind !== "Pod") return bound;

  const podSpec = isObject(object.spec) ? object.spec : {};
  if (podSpec.serviceAccountName !== metadata.name) {
    throw badRequest(
      `cannot bind token for serviceaccount "${metadata.name}" to pod running with different serviceaccount name.`,
    );
  }
  const node = typeof podSpec.nodeName === "string" ? reader.get(Stored.nodes, podSpec.nodeName) : undefined;
  return node ? { ...bound, node: { name: node.metadata.name, uid: node.metadata.uid ?? "" } } : bound;
}

interface Bindable {
  readonly kind: BoundObject["kind"];
  readonly plural: string;
  readonly stored: string;
  readonly namespaced: boolean;
}

const RESOURCES: ReadonlyMap<string, Bindable> = new Map([
  ["Pod", { kind: "Pod", plural: "pods", stored: Stored.pods, namespaced: true }],
  ["Secret", { kind: "Secret", plural: "secrets", stored: Stored.secrets, namespaced: true }],
  ["Node", { kind: "Node", plural: "nodes", stored: Stored.nodes, namespaced: false }],
]);
