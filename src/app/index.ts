/**
 * Composition roots: the only place where API servers, connections, controllers, clocks and logs are put
 * together to programs. Commands call these; nothing here prints.
 */
export { stopSignal } from "#runtime";
export {
  accept,
  bootstrapKubeconfig,
  FLEET_NAMESPACE,
  prepareHub,
  prepareSpoke,
  untilWorking,
} from "./administrator.ts";
export { runAgent } from "./agent.ts";
export { type ApiServerOptions, startApiServer } from "./apiserver.ts";
export { addCluster, removeCluster } from "./clusters.ts";
export { takeOrders } from "./control.ts";
export { down } from "./down.ts";
export type { HubSettings } from "./fleet.ts";
export { FleetDirectory } from "./fleet-directory.ts";
export { lockFleet } from "./fleet-lock.ts";
export { type HubEndpoints, type HubLease, type HubOptions, runHub } from "./hub.ts";
export { parseFeatureGates } from "./hub-choice.ts";
export { type KnativeOptions, type KnativeParts, knativeParts, planKnative } from "./knative.ts";
export { knativeReleases, pullKnative, type ReleaseSettings } from "./knative-releases.ts";
export {
  type KnativeInstallation,
  type KnativeState,
  knativeState,
  untilKnativeGone,
  untilKnativeReady,
} from "./knative-state.ts";
export { createProgramMetrics, type ProgramMetrics, type ProgramMetricsOptions } from "./metrics.ts";
export { nodeNames, type RunningNodes, startNodes } from "./node.ts";
export { DEFAULT_FIRST_PORT } from "./ports.ts";
export { type RunningFleet, up } from "./up.ts";
export { UsageError, UserError } from "./user-error.ts";
