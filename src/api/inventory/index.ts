/** The group `multicluster.x-k8s.io`: the inventory of clusters, readable by anyone who speaks the Cluster Inventory API. */
export {
  type AccessProvider,
  ClusterProfile,
  type ClusterProfileProperty,
  clusterProfileCrd,
} from "./cluster-profile.ts";
export { INVENTORY_GROUP, ProfileCondition, ProfileLabel } from "./names.ts";
export { profileDecisionCrd } from "./placement-decision.ts";
