/**
 * Controllers and what carries them: clusters to read and write, caches shared between controllers, queues that
 * decide who is next, and a manager that starts all of it and brings it to an end in good order.
 */
export { createCluster } from "./cluster.ts";
export { connectedCluster } from "./connected-cluster.ts";
export type { ReconcileRecord, ReconcileResult } from "./controller-run.ts";
export { forEach } from "./for-each.ts";
export { createManager, type Manager, type ManagerOptions, runControllers } from "./manager.ts";
export type { CacheSource } from "./shared-cache.ts";
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
  type Outcome,
  type ReconcileContext,
  Terminal,
  type Trigger,
} from "./types.ts";
