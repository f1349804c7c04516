/** What the agent says of works and their manifests. Programs read the reasons: they are upstream's and never change. */

export const AppliedReason = {
  manifestComplete: "AppliedManifestComplete",
  manifestFailed: "AppliedManifestFailed",
  ignoreFieldsFailed: "AppliedManifestSSAIgnoreFieldError",
  workComplete: "AppliedManifestWorkComplete",
  workFailed: "AppliedManifestWorkFailed",
} as const;

export const AvailableReason = {
  incomplete: "IncompleteResourceMeta",
  absent: "ResourceNotAvailable",
  unreadable: "FetchingResourceFailed",
  present: "ResourceAvailable",
  someAbsent: "ResourcesNotAvailable",
  unknown: "ResourcesStatusUnknown",
  allPresent: "ResourcesAvailable",
} as const;

export const FeedbackReason = {
  none: "NoStatusFeedbackSynced",
  failed: "StatusFeedbackSyncFailed",
  synced: "StatusFeedbackSynced",
} as const;

/** All begin alike: what begins so and is of another generation is taken away. */
export const RULE_PREFIX = "ConditionRule";
export const RuleReason = {
  evaluated: "ConditionRuleEvaluated",
  expressionError: "ConditionRuleExpressionError",
  invalid: "ConditionRuleInvalid",
  aggregated: "ConditionRulesAggregated",
} as const;

export const DELETING_REASON = "WorkDeleting";

/** Of Events, where something is not removed until a person confirms it. Ours. */
export const HELD_REASON = "RemovalHeld";
