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
  type UpdateStrategy,
  type WorkExecutor,
} from "./manifest-work.ts";
export { WORK_FIELD_MANAGER, WORK_GROUP, WorkCondition, WorkFinalizer } from "./names.ts";
