import type { DynamicObject } from "#api/meta";

/** A change of one object, as far as authentication and authorization look at it. */
export interface ObjectEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: string;
  readonly key: string;
  readonly object: DynamicObject;
}

/** How identities and policy are read. Objects are shared and never changed, so that they can be keys of caches. */
export interface ObjectReader {
  get(resource: string, key: string): DynamicObject | undefined;
  list(resource: string, options?: { namespace?: string }): { readonly items: readonly DynamicObject[] };
  /** Every change from now on; the answer ends it. */
  subscribe(onEvent: (event: ObjectEvent) => void): () => void;
}

/** Where the store keeps what is read here. */
export const Stored = {
  serviceAccounts: "core/serviceaccounts",
  secrets: "core/secrets",
  pods: "core/pods",
  nodes: "core/nodes",
  roles: "rbac.authorization.k8s.io/roles",
  roleBindings: "rbac.authorization.k8s.io/rolebindings",
  clusterRoles: "rbac.authorization.k8s.io/clusterroles",
  clusterRoleBindings: "rbac.authorization.k8s.io/clusterrolebindings",
} as const;
