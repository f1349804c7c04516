/**
 * The apply engine: given manifests and a cluster, it makes the cluster look so, in phases and with what can be retried
 * retried, removes what has left a set, and reports of each object what it did and why, or would do.
 */
export { ApplyError } from "./apply-error.ts";
export { hashAnnotationOf } from "./content.ts";
export { type Difference, differenceOf } from "./diff.ts";
export type { Drift } from "./drift.ts";
export { type ApplyEngine, type ApplyEngineOptions, createApplyEngine } from "./engine.ts";
export { identityOf, idOf, nameOf, type ObjectId, objectIdentity } from "./identity.ts";
export {
  ApplySetAnnotation,
  ApplySetLabel,
  type ApplySetParent,
  applySetId,
  memberAnnotations,
} from "./inventory/apply-set.ts";
export { type ConfigMapInventoryOptions, configMapSet } from "./inventory/config-map.ts";
export { memberList, membersIn } from "./inventory/member-list.ts";
export { lastOfEach } from "./items.ts";
export { Kinds } from "./kinds.ts";
export {
  type Manifest,
  ManifestError,
  manifestsIn,
  type ReadManifestsOptions,
  readManifests,
} from "./manifests/index.ts";
export { DEFAULT_BUDGET } from "./prune.ts";
export { missingIn } from "./readiness.ts";
export type { ReadyOptions, Unready } from "./ready.ts";
export type {
  Action as ApplyAction,
  ApplyReport,
  CacheOf,
  FieldChange,
  FieldConflict,
  Inventory as SetInventory,
  LiveCache,
  Membership as SetMembership,
  ObjectReport,
  ObjectSet,
  OwnerPolicy,
  Reason as ApplyReason,
  RemovalBudget,
  RunOptions as ApplyOptions,
  Strategy as ApplyStrategy,
  Tracking as SetTracking,
  Wish,
} from "./types.ts";
