import type { DynamicObject } from "#api/meta";
import type { UserInfo } from "../resource.ts";
import { type ObjectEvent, type ObjectReader, Stored } from "./object-reader.ts";
import { type PolicySubject, type RoleRef, roleRefOf, subjectsOf } from "./policy.ts";
import { serviceAccountName } from "./users.ts";

/** One binding of a role, seen from one of its subjects. */
export interface Grant {
  /** The same for all subjects of a binding. */
  readonly binding: string;
  readonly bindingName: string;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly roleRef: RoleRef;
  readonly subject: PolicySubject;
}

/** Which bindings name a user or a group, cluster-wide or in a namespace; follows the store by its events. */
export class BindingIndex {
  /** By scope and subject, then by binding. */
  readonly #grants = new Map<string, Map<string, Grant>>();
  /** Where a binding is entered, so that it can be taken out again. */
  readonly #places = new Map<string, ReadonlySet<string>>();
  readonly #unsubscribe: () => void;

  constructor(reader: ObjectReader) {
    this.#unsubscribe = reader.subscribe((event) => this.#follow(event));
    for (const resource of [Stored.clusterRoleBindings, Stored.roleBindings]) {
      for (const object of reader.list(resource).items) this.#enter(resource, object);
    }
  }

  /** The grants to a user in one scope; a namespace of "" is the cluster. */
  *grantsTo({ username, groups }: UserInfo, namespace: string): Generator<Grant> {
    yield* this.#grants.get(place(namespace, "User", username))?.values() ?? [];
    for (const group of groups) yield* this.#grants.get(place(namespace, "Group", group))?.values() ?? [];
  }

  close(): void {
    this.#unsubscribe();
  }

  #follow({ type, resource, object }: ObjectEvent): void {
    if (resource !== Stored.clusterRoleBindings && resource !== Stored.roleBindings) return;
    this.#remove(bindingId(resource, object));
    if (type !== "DELETED") this.#enter(resource, object);
  }

  #enter(resource: string, object: DynamicObject): void {
    const binding = bindingId(resource, object);
    const namespace = resource === Stored.roleBindings ? (object.metadata.namespace ?? "") : "";
    const roleRef = roleRefOf(object);
    const places = new Set<string>();
    for (const subject of subjectsOf(object)) {
      const where = placeOf(subject, namespace);
      if (where === undefined || places.has(where)) continue;
      places.add(where);
      const grants = this.#grants.get(where) ?? new Map<string, Grant>();
      this.#grants.set(where, grants);
      grants.set(binding, { binding, bindingName: object.metadata.name, namespace, roleRef, subject });
    }
    this.#places.set(binding, places);
  }

  #remove(binding: string): void {
    for (const where of this.#places.get(binding) ?? []) {
      const grants = this.#grants.get(where);
      grants?.delete(binding);
      if (grants?.size === 0) this.#grants.delete(where);
    }
    this.#places.delete(binding);
  }
}

function bindingId(resource: string, { metadata }: DynamicObject): string {
  return `${resource}/${metadata.namespace ?? ""}/${metadata.name}`;
}

/** A service account is entered as the user that it is; without a namespace it is the binding's own. */
function placeOf({ kind, name, namespace: own }: PolicySubject, namespace: string): string | undefined {
  if (kind === "User" || kind === "Group") return place(namespace, kind, name);
  const home = own || namespace;
  if (kind !== "ServiceAccount" || home === "") return undefined;
  return place(namespace, "User", serviceAccountName(home, name));
}

/** Namespaces hold no slash and come first, so that no name can reach into another place. */
function place(namespace: string, kind: "User" | "Group", name: string): string {
  return `${namespace}/${kind}/${name}`;
}
