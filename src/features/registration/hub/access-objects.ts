/** What the hub makes in the namespace of a cluster that grants access. */
import { CLUSTER_ACCESS, ClusterLabel } from "#api/cluster";
import type { Secret } from "#api/core";
import { RBAC_GROUP, type Role, type RoleBinding } from "#api/rbac";
import type { Draft } from "#kube";
import { agentsOf } from "./cluster-rbac.ts";

/** The name of the Role and of its binding. */
export const ACCESS_ROLE = "open-cluster-management:cluster-access";

/** Without content, which is the agent's. */
export function accessSecret(cluster: string): Draft<Secret> {
  return { metadata: metadata(cluster, CLUSTER_ACCESS.secret) };
}

/** Who watches one object by its name also lists it, in the eyes of a server; no other Secret is shown by that. */
export function accessRole(cluster: string): Draft<Role> {
  return {
    metadata: metadata(cluster, ACCESS_ROLE),
    rules: [
      {
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [CLUSTER_ACCESS.secret],
        verbs: ["get", "list", "watch", "update"],
      },
    ],
  };
}

export function accessRoleBinding(cluster: string): Draft<RoleBinding> {
  return {
    metadata: metadata(cluster, ACCESS_ROLE),
    roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: ACCESS_ROLE },
    subjects: agentsOf(cluster),
  };
}

function metadata(cluster: string, name: string): { name: string; namespace: string; labels: Record<string, string> } {
  return { name, namespace: cluster, labels: { [ClusterLabel.name]: cluster } };
}
