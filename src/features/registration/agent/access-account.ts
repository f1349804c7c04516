/** Who those are on the spoke that come with the token on the hub: a service account, and the role that it has. */
import { ClusterLabel } from "#api/cluster";
import type { ServiceAccount } from "#api/core";
import type { KubeObject } from "#api/meta";
import { type ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import type { Draft } from "#kube";

/** In the agent's namespace. */
export const ACCESS_ACCOUNT = "cluster-access";

/** Bindings have no namespace of their own, and a cluster may have an agent in each of several. */
export function accessBindingName(namespace: string): string {
  return `open-cluster-management:cluster-access:${namespace}`;
}

export interface AccessAccount {
  clusterName: string;
  /** The agent's. */
  namespace: string;
}

/** Its tokens are asked for; no Pod needs one. */
export function accessAccount({ clusterName, namespace }: AccessAccount): Draft<ServiceAccount> {
  const metadata = { name: ACCESS_ACCOUNT, namespace, labels: { [ClusterLabel.name]: clusterName } };
  return { metadata, automountServiceAccountToken: false };
}

export function accessBinding(
  { clusterName, namespace }: AccessAccount,
  clusterRole: string,
): Draft<ClusterRoleBinding> {
  return {
    metadata: { name: accessBindingName(namespace), labels: { [ClusterLabel.name]: clusterName } },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: clusterRole },
    subjects: [{ kind: "ServiceAccount", name: ACCESS_ACCOUNT, namespace }],
  };
}

/** What does not carry the cluster's name is somebody else's. */
export function isAccountOf(clusterName: string, { metadata }: KubeObject): boolean {
  return metadata.labels?.[ClusterLabel.name] === clusterName;
}
