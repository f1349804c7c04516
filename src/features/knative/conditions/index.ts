/** The conditions of KnativeServing and KnativeEventing: what each step of an installation says, and what follows for `Ready`. */
export { type Conditions, initialized } from "./algebra.ts";
export {
  deploymentsAvailable,
  deploymentsNotReady,
  installFailed,
  installSucceeded,
  targetNotResolved,
  targetResolved,
  versionEligible,
  versionNotEligible,
} from "./marks.ts";
