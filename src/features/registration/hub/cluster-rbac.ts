/** The rights of a cluster's agent on the hub. */
import { AgentIdentity, CLUSTER_GROUP, ClusterFinalizer, ClusterLabel, REGISTER_GROUP } from "#api/cluster";
import { type ClusterRole, type ClusterRoleBinding, RBAC_GROUP, type RoleBinding, type Subject } from "#api/rbac";
import type { Draft } from "#kube";

const PREFIX = "open-cluster-management:managedcluster:";

/** What agents of all clusters may do, each in the namespace of its own cluster. */
export const CommonRole = { registration: `${PREFIX}registration`, work: `${PREFIX}work` } as const;

/** Selects the RBAC objects, leases and requests of clusters, leaving those of their add-ons to the add-ons. */
export const CLUSTER_OBJECTS = `${ClusterLabel.name},!${ClusterLabel.addon}`;

/**
 * Names that no cluster may have: the first two would give its ClusterRole the name of a common one, the
 * third would make its group the group of all agents.
 */
const RESERVED = new Set(["registration", "work", "managed-clusters"]);

export function isReservedName(cluster: string): boolean {
  return RESERVED.has(cluster);
}

export const rbacName = {
  cluster: (cluster: string) => `${PREFIX}${cluster}`,
  registration: (cluster: string) => `${PREFIX}${cluster}:registration`,
  work: (cluster: string) => `${PREFIX}${cluster}:work`,
} as const;

/** What the agent may do with its own ManagedCluster: work with it once accepted, only look at it otherwise. */
export function clusterRole(cluster: string, accepted: boolean): Draft<ClusterRole> {
  const own = { resourceNames: [cluster] };
  const metadata = { name: rbacName.cluster(cluster), labels: { [ClusterLabel.name]: cluster } };
  if (!accepted) {
    return {
      metadata,
      rules: [{ apiGroups: [CLUSTER_GROUP], resources: ["managedclusters"], ...own, verbs: ["get", "list", "watch"] }],
    };
  }
  return {
    metadata,
    rules: [
      {
        apiGroups: ["certificates.k8s.io"],
        resources: ["certificatesigningrequests"],
        verbs: ["create", "get", "list", "watch"],
      },
      { apiGroups: [REGISTER_GROUP], resources: ["managedclusters/clientcertificates"], verbs: ["renew"] },
      { apiGroups: [CLUSTER_GROUP], resources: ["managedclusters"], ...own, verbs: ["get", "list", "update", "watch"] },
      { apiGroups: [CLUSTER_GROUP], resources: ["managedclusters/status"], ...own, verbs: ["patch", "update"] },
    ],
  };
}

export function clusterRoleBinding(cluster: string): Draft<ClusterRoleBinding> {
  return {
    metadata: { name: rbacName.cluster(cluster), labels: { [ClusterLabel.name]: cluster } },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: rbacName.cluster(cluster) },
    subjects: agentsOf(cluster),
  };
}

/** The two bindings in the cluster's namespace. That for work outlasts the cluster as long as there are works to clean. */
export function roleBindings(cluster: string): Draft<RoleBinding>[] {
  return (["registration", "work"] as const).map((purpose) => ({
    metadata: {
      name: rbacName[purpose](cluster),
      namespace: cluster,
      labels: { [ClusterLabel.name]: cluster },
      ...(purpose === "work" && { finalizers: [ClusterFinalizer.workBinding] }),
    },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: CommonRole[purpose] },
    subjects: agentsOf(cluster),
  }));
}

/** The ClusterRoles that every accepted cluster's bindings name. Their cluster label is empty: they belong to all. */
export function commonRoles(): Draft<ClusterRole>[] {
  const labels = { [ClusterLabel.name]: "" };
  return [
    {
      metadata: { name: CommonRole.registration, labels },
      rules: [
        { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "list", "watch", "update"] },
        {
          apiGroups: ["addon.open-cluster-management.io"],
          resources: ["managedclusteraddons"],
          verbs: ["get", "list", "watch"],
        },
        {
          apiGroups: ["addon.open-cluster-management.io"],
          resources: ["managedclusteraddons/status"],
          verbs: ["patch", "update"],
        },
        { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create"] },
      ],
    },
    {
      metadata: { name: CommonRole.work, labels },
      rules: [
        { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "update"] },
        {
          apiGroups: ["work.open-cluster-management.io"],
          resources: ["manifestworks"],
          verbs: ["get", "list", "watch", "update", "patch"],
        },
        {
          apiGroups: ["work.open-cluster-management.io"],
          resources: ["manifestworks/status"],
          verbs: ["patch", "update"],
        },
      ],
    },
  ];
}

/** The groups of a cluster's agents. The second is how EKS spells it: there a group must not begin with `system:`. */
export function agentsOf(cluster: string): Subject[] {
  return [AgentIdentity.group(cluster), `open-cluster-management:${cluster}`].map((name) => ({
    kind: "Group",
    apiGroup: RBAC_GROUP,
    name,
  }));
}
