/**
 * Programs outside of the server that it asks: where they are, how they are called, and what may be said in which
 * version. What they are asked for, and what becomes of their answers, is for `admission` and `crd` to know.
 */
export {
  type Asked,
  admissionReview,
  InvalidAnswer,
  type ReviewVersion,
  reviewVersion,
  type Verdict,
  verdictOf,
} from "./admission-review.ts";
export type { Authorize } from "./authorizer-library.ts";
export { type Called, createWebhookCaller, type WebhookCaller } from "./caller.ts";
export { CallFailure, type CallLimits, createWebhookClient, type WebhookClient } from "./client.ts";
export { clientConfigErrors, isPem } from "./client-config.ts";
export type { ObjectLookup } from "./locate.ts";
export {
  type ConditionFacts,
  type Conditions,
  type ConditionVerdict,
  conditionErrors,
  conditionsOf,
} from "./match-conditions.ts";
export { type RuleSubject, versionFor } from "./rules.ts";
