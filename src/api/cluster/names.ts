/** The words that are written on objects of this group and read by others: never change one. */

export const CLUSTER_GROUP = "cluster.open-cluster-management.io";

/**
 * A group in which nothing is served. It appears in RBAC rules and access reviews only:
 * `managedclusters/accept` and `managedclusters/clientcertificates`.
 */
export const REGISTER_GROUP = "register.open-cluster-management.io";

export const ClusterLabel = {
  /** On everything that belongs to one cluster: the ManagedCluster's name. */
  name: "open-cluster-management.io/cluster-name",
  /** On what belongs to one add-on of a cluster. */
  addon: "open-cluster-management.io/addon-name",
  /** On a ManagedCluster: the one set that it is an exclusive member of. */
  set: "cluster.open-cluster-management.io/clusterset",
  /** On a claim or property, with any value: not reported to the hub. */
  spokeOnly: "open-cluster-management.io/spoke-only",
} as const;

export const ClusterAnnotation = {
  skipClockCheck: "registration.open-cluster-management.io/skip-clock-sync-check",
  autoAcceptedOn: "open-cluster-management.io/automatically-accepted-on",
  /** `"false"` on the default or the global set: the hub leaves an edited selector alone. */
  autoUpdate: "cluster.open-cluster-management.io/autoupdate",
  /** On a ManagedCluster, by its agent: it keeps a token on the hub, which has this ClusterRole on the spoke. */
  grantedAccess: "access.capstan.dev/cluster-role",
  /** On what is removed when its cluster goes: a number from 0 to 100, the lowest go first; 0 unless told. */
  cleanupPriority: "open-cluster-management.io/cleanup-priority",
} as const;

export const ClusterFinalizer = {
  /** On an accepted ManagedCluster: its agents' rights have to go first. */
  rights: "cluster.open-cluster-management.io/api-resource-cleanup",
  /** On every ManagedCluster while there is ResourceCleanup: its add-ons and works have to go first. */
  resources: "cluster.open-cluster-management.io/resource-cleanup",
  /** On the RoleBinding by which a cluster's agents work: it stays as long as there are ManifestWorks. */
  workBinding: "cluster.open-cluster-management.io/manifest-work-cleanup",
} as const;

export const ClusterCondition = {
  HubAccepted: "HubAcceptedManagedCluster",
  Joined: "ManagedClusterJoined",
  Available: "ManagedClusterConditionAvailable",
  ClockSynced: "ManagedClusterConditionClockSynced",
  CertificateRotated: "ClusterCertificateRotated",
  Deleting: "Deleting",
} as const;

export const ClusterSetCondition = { Empty: "ClusterSetEmpty" } as const;
export const PlacementCondition = { Satisfied: "PlacementSatisfied" } as const;
export const BindingCondition = { Bound: "Bound" } as const;

export const ClusterTaint = {
  unreachable: "cluster.open-cluster-management.io/unreachable",
  unavailable: "cluster.open-cluster-management.io/unavailable",
} as const;

export const ClusterSetName = { default: "default", global: "global" } as const;

/** Claims that are always reported, however many others there are. */
export const ReservedClaims = [
  "id.k8s.io",
  "kubeversion.open-cluster-management.io",
  "platform.open-cluster-management.io",
  "product.open-cluster-management.io",
] as const;

/** How long a cluster is silent between two beats when its ManagedCluster does not say. */
export const DEFAULT_LEASE_DURATION_SECONDS = 60;
/** The Lease in a cluster's namespace that its agent renews. */
export const CLUSTER_LEASE = "managed-cluster-lease";

/** Who an agent is, once its certificate is signed. */
export const AgentIdentity = {
  prefix: "system:open-cluster-management:",
  /** The group of all agents of all clusters. */
  commonGroup: "system:open-cluster-management:managed-clusters",
  /** The user that one agent of a cluster is. */
  user: (cluster: string, agent: string) => `system:open-cluster-management:${cluster}:${agent}`,
  /** The group of all agents of one cluster. */
  group: (cluster: string) => `system:open-cluster-management:${cluster}`,
} as const;

/**
 * The Secret in a cluster's namespace on the hub that holds a token for the cluster, and the key that it lies under.
 * It is there only while the agent of an accepted cluster grants access.
 */
export const CLUSTER_ACCESS = { secret: "capstan-cluster-access", key: "token" } as const;
