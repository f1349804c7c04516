/**
 * Many clusters: providers tell which there are and how to reach them, the fleet connects them, looks after their
 * health, follows changed credentials and endpoints, and lets go of those that leave.
 */
export { changesFrom } from "./changes.ts";
export { clusterKey, splitClusterKey } from "./cluster-key.ts";
export { createFleet, type FleetOptions } from "./fleet.ts";
export { type FleetMetricsOptions, registerFleetMetrics } from "./metrics.ts";
export { compositeProvider } from "./providers/composite.ts";
export { watchFolders } from "./providers/folders.ts";
export { type KubeconfigFilesOptions, kubeconfigFilesProvider } from "./providers/kubeconfig-files.ts";
export {
  KUBECONFIG_SECRET_LABELS,
  type KubeconfigSecretsOptions,
  kubeconfigSecretsProvider,
} from "./providers/kubeconfig-secrets.ts";
export type { KubeconfigTrust } from "./providers/kubeconfig-way.ts";
export { type StaticProvider, staticProvider } from "./providers/static.ts";
export {
  type ClusterKey,
  type ClusterRef,
  type Departure,
  type Fleet,
  type FleetCache,
  type FleetChange,
  type FleetKeyedByOptions,
  type FleetProvider,
  FleetReason,
  isUnreachable,
  type MemberState,
  type MemberStatus,
  type Offer,
  type ReachOptions,
  type UnfilledCopy,
  type Unreachable,
} from "./types.ts";
