/**
 * Controllers and what carries them: clusters to read and write, caches shared between controllers, queues that
 * decide who is next, and a manager that starts all of it and brings it to an end in good order.
 */

/** What controllers of others need of the layer below, which they cannot import. */
export { type Clock, ManualClock, systemClock } from "#lib/clock";
export { type ConditionClaim, findCondition, isTrue, setCondition } from "#lib/conditions";
export { createLogger, type Fields, type LogFormat, type Logger, type LogLevel, silentLog } from "#lib/log";
export { createCluster } from "./cluster.ts";
export { connectedCluster } from "./connected-cluster.ts";
export type { ReconcileRecord, ReconcileResult } from "./controller-run.ts";
export { type Check, type Checks, type EndpointOptions, type Endpoints, serveEndpoints } from "./endpoints.ts";
export { createEventRecorder, type EventRecorder, type RecorderOptions, type Telling } from "./events.ts";
export { type Finalization, withCleanUp } from "./finalizer.ts";
export * from "./fleet/index.ts";
export { forEach } from "./for-each.ts";
export {
  createElection,
  DEFAULT_TIMING,
  type Election,
  type ElectionOptions,
  type ElectionTiming,
  LeadershipLost,
} from "./leader-election.ts";
export { createManager, type ManagedFleet, type Manager, type ManagerOptions, runControllers } from "./manager.ts";
export {
  type ControllerMeter,
  createRuntimeMetrics,
  type Measured,
  type RuntimeMetrics,
  type RuntimeMetricsOptions,
} from "./metrics.ts";
export { managedBy, type OwnerKeyOptions, ownerKeys } from "./owners.ts";
export type { Predicate } from "./predicates.ts";
export * as predicates from "./predicates.ts";
export { createProgram, type Program, type ProgramOptions, type ProgramParts } from "./program.ts";
export { runTogether } from "./run-together.ts";
export type { CacheSource } from "./shared-cache.ts";
export { stopSignal } from "./stop-signal.ts";
export { atStart, every } from "./triggers.ts";
export {
  again,
  type Cache,
  type CacheScope,
  type Cluster,
  type CommitOptions,
  type Controller,
  done,
  type Fillable,
  type Index,
  type KeyedByOptions,
  type Outcome,
  type ReconcileContext,
  Terminal,
  type Trigger,
} from "./types.ts";
export * from "./webhooks/index.ts";
