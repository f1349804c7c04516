/** Which object is meant: what stays the same when its version or its content changes. */
import type { DynamicObject, Kind, KubeObject } from "#api/meta";

export interface ObjectId {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Absent for objects of the whole cluster. */
  readonly namespace?: string;
  readonly name: string;
}

/** The parts of an apiVersion: `apps/v1`, `v1`. */
export function groupVersionOf(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf("/");
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

export function idOf({ apiVersion, kind, metadata }: KubeObject | DynamicObject): ObjectId {
  const { group, version } = groupVersionOf(apiVersion);
  const { namespace, name } = metadata;
  return namespace ? { group, version, kind, namespace, name } : { group, version, kind, name };
}

/** Equal for the same object in whatever version; apt as the key of a map. */
export function identityOf({ group, kind, namespace = "", name }: ObjectId): string {
  return `${group}|${kind}|${namespace}|${name}`;
}

/** The same for an object, which is asked for at every event. */
export function objectIdentity({ apiVersion, kind, metadata }: KubeObject | DynamicObject): string {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  return `${group}|${kind}|${metadata.namespace ?? ""}|${metadata.name}`;
}

/** The object in a sentence: `Deployment demo/web`. */
export function nameOf({ kind, namespace, name }: ObjectId): string {
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

/** `Deployment.apps`, `Secret`: the kind without its version. */
export function groupKindOf({ group, kind }: Pick<ObjectId, "group" | "kind">): string {
  return group === "" ? kind : `${kind}.${group}`;
}

export function keyOfId({ namespace, name }: ObjectId): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** By group, kind, namespace and name, so that reports and records read the same every time. */
export function compareIds(a: ObjectId, b: ObjectId): number {
  return identityOf(a) < identityOf(b) ? -1 : identityOf(a) > identityOf(b) ? 1 : 0;
}

export function isOfKind({ group, kind }: Pick<ObjectId, "group" | "kind">, wanted: Kind<KubeObject>): boolean {
  return group === wanted.group && kind === wanted.kind;
}
