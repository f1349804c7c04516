/** The group `rbac.authorization.k8s.io/v1`: who may do what. */
import { type KubeObject, kind, type LabelSelector } from "#api/meta";

export const RBAC_GROUP = "rbac.authorization.k8s.io";

export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

export interface RoleRef {
  apiGroup: typeof RBAC_GROUP;
  kind: "ClusterRole" | "Role";
  name: string;
}

/** A service account has a namespace and no apiGroup; users and groups have the group of RBAC. */
export interface Subject {
  kind: "Group" | "ServiceAccount" | "User";
  name: string;
  namespace?: string;
  apiGroup?: string;
}

export interface Role extends KubeObject {
  rules?: PolicyRule[];
}
export const Role = kind<Role>({
  group: RBAC_GROUP,
  version: "v1",
  kind: "Role",
  plural: "roles",
  namespaced: true,
});

export interface RoleBinding extends KubeObject {
  roleRef: RoleRef;
  subjects?: Subject[];
}
export const RoleBinding = kind<RoleBinding>({
  group: RBAC_GROUP,
  version: "v1",
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
});

export interface ClusterRole extends KubeObject {
  rules?: PolicyRule[];
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] };
}
export const ClusterRole = kind<ClusterRole>({
  group: RBAC_GROUP,
  version: "v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
});

export interface ClusterRoleBinding extends KubeObject {
  roleRef: RoleRef;
  subjects?: Subject[];
}
export const ClusterRoleBinding = kind<ClusterRoleBinding>({
  group: RBAC_GROUP,
  version: "v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});
