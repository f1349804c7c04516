/**
 * Composition roots: the only place where API servers, connections, controllers, clocks and logs are put
 * together to programs. Commands call these; nothing here prints.
 */
export { ClusterManagerGates, KlusterletGates } from "#features/operator/kit";
export { stopSignal } from "#runtime";
export * from "./administration/index.ts";
export { accept, FLEET_NAMESPACE, untilWorking } from "./administrator.ts";
export {
  bootstrapFile,
  type RegistrationOptions,
  runAgent,
  runRegistration,
  runWork,
  wayInFile,
  whileLeading,
} from "./agent.ts";
export { type ApiServerOptions, startApiServer } from "./apiserver.ts";
export { addCluster, removeCluster } from "./clusters.ts";
export { takeOrders } from "./control.ts";
export { down } from "./down.ts";
export type { FleetHub } from "./fleet.ts";
export { FleetDirectory } from "./fleet-directory.ts";
export { lockFleet } from "./fleet-lock.ts";
export { type HubEndpoints, type HubLease, type HubOptions, type HubSettings, runHub } from "./hub.ts";
export { checkCleanedKinds, DEFAULT_GATES, HUB_CONTROLLERS, parseFeatureGates } from "./hub-choice.ts";
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
export {
  nodeNames,
  type OwnPrograms,
  type ProgramContext,
  type RunningNodes,
  type RunProgram,
  startNodes,
} from "./node.ts";
export { type OperatorOptions, runClusterManager, runKlusterlet } from "./operator.ts";
export { DEFAULT_FIRST_PORT } from "./ports.ts";
export { serveProgram } from "./program-endpoints.ts";
export { type RunningFleet, up } from "./up.ts";
export { reasonOf, UsageError, UserError } from "./user-error.ts";
export { parseWebhookGates } from "./webhook-gates.ts";
export { runWebhook } from "./webhooks.ts";
