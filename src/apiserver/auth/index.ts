/**
 * Who asks, and what that one may do: client certificates and tokens become users, and roles and bindings decide.
 * It reads the store through `ObjectReader` and writes nothing.
 */
export { aggregatedRules } from "./aggregation.ts";
export type { Attributes, PathAttributes, ResourceAttributes } from "./attributes.ts";
export {
  type Authenticator,
  type AuthenticatorOptions,
  type Credentials,
  createAuthenticator,
  type TokenReviewResult,
} from "./authentication.ts";
export { bootstrapPolicy } from "./bootstrap-policy.ts";
export { checkBindingWrite, checkRoleWrite, type PolicyWrite, rulesCover } from "./escalation.ts";
export { accessDenied, forbiddenMessage } from "./messages.ts";
export type { ObjectEvent, ObjectReader } from "./object-reader.ts";
export { type PolicyRule, type RoleRef, writtenRule } from "./policy.ts";
export { type Authorizer, createRbacAuthorizer, type Decision, rulesReviewStatus } from "./rbac.ts";
export { issueSecretToken, type SecretTokenOrder, TokenSecret } from "./secret-tokens.ts";
export {
  type BoundObject,
  issueServiceAccountToken,
  type ObjectIdentity,
  type TokenOrder,
} from "./service-account-tokens.ts";
export { createStandingRequests, type StandingRequests } from "./standing-requests.ts";
export { type TokenRequestContext, tokenRequest } from "./token-requests.ts";
export { tokenReview } from "./token-reviews.ts";
export {
  ANONYMOUS,
  authenticated,
  Extra,
  Group,
  serviceAccountGroups,
  serviceAccountName,
  splitServiceAccountName,
} from "./users.ts";
