import { isAlreadyExists, isConflict, isNetworkError, isTimeout } from "#kube";
import { Terminal } from "./types.ts";

export type Failure = "conflict" | "terminal" | "error";

/** Nobody wraps an error more often; whoever does has made a circle. */
const MAX_DEPTH = 16;

/**
 * What sort of failure a reconcile ended with. Errors are looked through to their causes, for what was being done
 * is often added on the way up. Of several failures together, an error that must be told wins over a silent
 * conflict, and anything that a retry may mend over what it cannot.
 */
export function failureOf(error: unknown, depth = MAX_DEPTH): Failure {
  if (error instanceof Terminal) return "terminal";
  // "Already exists" comes from a cache that has not yet heard of our own create: another look settles it.
  if (isConflict(error) || isAlreadyExists(error)) return "conflict";
  if (depth === 0 || !(error instanceof Error)) return "error";
  if (error instanceof AggregateError && error.errors.length > 0) {
    const kinds = new Set(error.errors.map((inner) => failureOf(inner, depth - 1)));
    if (kinds.has("error")) return "error";
    return kinds.has("conflict") ? "conflict" : "terminal";
  }
  return error.cause === undefined ? "error" : failureOf(error.cause, depth - 1);
}

/** Whether a call did not come through, be it among several failures: nothing is known of what was asked for. */
export function isTransportFailure(error: unknown, depth = MAX_DEPTH): boolean {
  if (isNetworkError(error) || isTimeout(error)) return true;
  if (depth === 0 || !(error instanceof Error)) return false;
  const inner = error instanceof AggregateError ? error.errors : error.cause === undefined ? [] : [error.cause];
  return inner.some((each) => isTransportFailure(each, depth - 1));
}
