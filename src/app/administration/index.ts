/** What administrators do to a hub and its spokes, as functions that return what they did; commands say it. */
export { type Acceptance, acceptCluster } from "./acceptance.ts";
export { type Cleaning, cleanHub } from "./cleaning.ts";
export {
  addManagedNamespaces,
  bindClusterSet,
  createClusterSet,
  deleteClusterSet,
  type Membership,
  setClusters,
  unbindClusterSet,
} from "./cluster-sets.ts";
export { type Diagnosis, diagnose, type Finding } from "./doctor/index.ts";
export { contactHub, type HubAddress, type HubContact, isLoopback } from "./hub-contact.ts";
export { type HubInstallation, type HubWish, installHub, untilHubWorks } from "./hub-installation.ts";
export { ensureIdentity, type HubToken, hubToken, removeIdentity } from "./hub-tokens.ts";
export {
  type ClusterSetInfo,
  clusterSetInfos,
  type DeploymentInfo,
  hubInfo,
  type InstallationInfo,
  klusterletInfo,
} from "./infos.ts";
export { type Joining, type JoinWish, joinCluster, untilJoining } from "./joining.ts";
export type { JoinMode } from "./klusterlet-wish.ts";
export type { Removal } from "./removal.ts";
export type { Change, Task } from "./task.ts";
export { type Unjoining, unjoinCluster } from "./unjoining.ts";
export {
  imageOf,
  joinCommand,
  parseAnnotations,
  parseGates,
  resourceRequirement,
} from "./wishes.ts";
