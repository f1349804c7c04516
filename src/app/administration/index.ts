/** What administrators do to a hub and its spokes, as functions that return what they did; commands say it. */
export { acceptCluster } from "./acceptance.ts";
export { cleanHub } from "./cleaning.ts";
export {
  addManagedNamespaces,
  bindClusterSet,
  createClusterSet,
  deleteClusterSet,
  setClusters,
  unbindClusterSet,
} from "./cluster-sets.ts";
export { type Diagnosis, diagnose, type Finding } from "./doctor/index.ts";
export { contactHub, type HubAddress, type HubContact, isLoopback } from "./hub-contact.ts";
export { type HubWish, installHub, untilHubWorks } from "./hub-installation.ts";
export { ensureIdentity, type HubToken, hubToken, removeIdentity } from "./hub-tokens.ts";
export {
  type ClusterSetInfo,
  clusterSetInfos,
  type DeploymentInfo,
  hubInfo,
  type InstallationInfo,
  klusterletInfo,
} from "./infos.ts";
export { type JoinWish, joinCluster, untilJoining } from "./joining.ts";
export type { JoinMode } from "./klusterlet-wish.ts";
export { rejoinCluster } from "./rejoining.ts";
export type { Removal } from "./removal.ts";
export type { Change, Task } from "./task.ts";
export { unjoinCluster } from "./unjoining.ts";
export {
  imageOf,
  joinCommand,
  parseAnnotations,
  parseGates,
  resourceRequirement,
} from "./wishes.ts";
export { deleteWork, listWorks, placeWork } from "./works.ts";
export { explainWork, statesOf } from "./works-explanation.ts";
export { originOf } from "./works-origin.ts";
export { type ClusterPlan, planDeletion, planWorks } from "./works-plan.ts";
export type { SpokeWays } from "./works-spokes.ts";
