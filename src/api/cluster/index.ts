/** The group `cluster.open-cluster-management.io`: clusters that joined the hub, their sets and their claims. */
export { ClusterClaim, clusterClaimCrd } from "./cluster-claim.ts";
export {
  ManagedClusterSet,
  ManagedClusterSetBinding,
  managedClusterSetBindingCrd,
  managedClusterSetCrd,
  selectorOfSet,
} from "./cluster-set.ts";
export { ManagedCluster, managedClusterCrd, type Taint } from "./managed-cluster.ts";
export {
  AgentIdentity,
  BindingCondition,
  CLUSTER_ACCESS,
  CLUSTER_GROUP,
  CLUSTER_LEASE,
  ClusterAnnotation,
  ClusterCondition,
  ClusterFinalizer,
  ClusterLabel,
  ClusterSetCondition,
  ClusterSetName,
  ClusterTaint,
  DEFAULT_LEASE_DURATION_SECONDS,
  REGISTER_GROUP,
  ReservedClaims,
} from "./names.ts";
export { addOnPlacementScoreCrd, placementCrd, placementDecisionCrd } from "./placement.ts";
export { type RolloutStrategy, rolloutStrategy } from "./rollout-strategy.ts";
