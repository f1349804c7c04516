/** From objects to their owners: which owner has to look, and how an object comes to have one. */
import type { Key, Kind, KubeObject } from "#api/meta";
import { controllerOf, describe, ownerReference, withOwner } from "#lib/meta";

export interface OwnerKeyOptions {
  /** Whether owners that do not manage the object count too; they do not unless told. */
  readonly any?: boolean;
}

/** The keys of an object's owners of a kind, in whatever version: `pods.keyedBy(ownerKeys(ReplicaSet))`. */
export function ownerKeys<O extends KubeObject>(
  owner: Pick<Kind<O>, "group" | "kind" | "namespaced">,
  { any = false }: OwnerKeyOptions = {},
): (object: KubeObject) => Key<O>[] {
  return ({ metadata: { namespace, ownerReferences = [] } }) =>
    ownerReferences
      .filter(({ controller }) => any || controller === true)
      .filter(({ apiVersion, kind }) => kind === owner.kind && groupOf(apiVersion) === owner.group)
      .map(({ name }) => (owner.namespaced && namespace ? `${namespace}/${name}` : name));
}

/**
 * The object, managed by the owner. An object has one manager, and an owner with a namespace owns only there: the
 * garbage collector would take anything else for an orphan.
 */
export function managedBy<T extends Pick<KubeObject, "metadata"> & { kind?: string }>(object: T, owner: KubeObject): T {
  const [what, who] = [describe({ kind: object.kind ?? "object", metadata: object.metadata }), describe(owner)];
  const { namespace } = owner.metadata;
  if (namespace && namespace !== object.metadata.namespace) {
    throw new Error(`${who} cannot own ${what}, which is not in its namespace`);
  }
  const manager = controllerOf(object);
  if (manager && manager.uid !== owner.metadata.uid) {
    throw new Error(`${what} is managed by ${manager.kind} ${manager.name} already, not by ${who}`);
  }
  return withOwner(object, ownerReference(owner));
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
