/** The group `work.open-cluster-management.io`: what a hub wants on a spoke, and what is there because of it. */
export { AppliedManifestWork, type AppliedResource, appliedManifestWorkCrd } from "./applied-manifest-work.ts";
export {
  type ConditionRule,
  type DeleteOption,
  type FeedbackRule,
  type FeedbackValue,
  type IgnoreFields,
  type ManifestCondition,
  type ManifestConfig,
  type ManifestResourceMeta,
  ManifestWork,
  manifestWorkCrd,
  manifestWorkSpec,
  type UpdateStrategy,
  type WorkExecutor,
} from "./manifest-work.ts";
export { manifestWorkReplicaSetCrd } from "./manifest-work-replica-set.ts";
export {
  APPLIED_HASH,
  AppliedAnnotation,
  AppliedLabel,
  DETACH_LEDGER,
  REMOVAL_CONFIRMED,
  WORK_FIELD_MANAGER,
  WORK_GROUP,
  WorkCondition,
  WorkFinalizer,
  WorkLabel,
} from "./names.ts";
