/**
 * The durable store of one cluster: all objects in memory, every write in a log on disk before anybody sees it,
 * one revision counter, and the recent past for watches and for lists of an earlier revision.
 */
export { DirectoryInUse, StoreDamaged, StoreError } from "./errors.ts";
export { Generations } from "./generations.ts";
export type { HistoryLimits } from "./history.ts";
export { holderOfDirectory, lockDirectory } from "./lock.ts";
export { openStore, type StoreOptions } from "./open.ts";
export { passingBytes, storedBytes } from "./stored-bytes.ts";
export {
  Compacted,
  type Durability,
  type Interest,
  type ListResult,
  type ListScope,
  type Store,
  type Stored,
  type StoreEvent,
} from "./types.ts";
