/** The words that are written on ClusterProfiles and read by every consumer of the inventory. */

export const INVENTORY_GROUP = "multicluster.x-k8s.io";

export const ProfileLabel = {
  /** Always equal to `spec.clusterManager.name`. */
  manager: "x-k8s.io/cluster-manager",
  /** The set that the cluster is an exclusive member of; may be empty. */
  set: "multicluster.x-k8s.io/clusterset",
} as const;

export const ProfileCondition = {
  ControlPlaneHealthy: "ControlPlaneHealthy",
  Joined: "Joined",
} as const;
