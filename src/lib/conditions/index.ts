/** Conditions of a status: reading them, and setting them so that nothing changes when nothing is new. */
import type { Condition, ConditionStatus } from "#api/meta";
import { timestamp } from "#lib/clock";

/** A condition as one states it; when it last changed is found out by comparing. */
export interface ConditionClaim {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

/** The condition of a type, if there is one. */
export function findCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether a condition is there and says True. */
export function isTrue(
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * The conditions with one of them stated anew, in its old place or at the end. Its time changes only when its
 * status does. The same array comes back when all of it was said before.
 */
export function setCondition(conditions: Condition[] | undefined, claim: ConditionClaim, now: Date): Condition[] {
  const known = findCondition(conditions, claim.type);
  const { type, status, reason, message, observedGeneration } = claim;
  const lastTransitionTime = (known?.status === status && known.lastTransitionTime) || timestamp(now);
  const next: Condition = {
    type,
    status,
    ...(observedGeneration !== undefined && { observedGeneration }),
    lastTransitionTime,
    reason,
    message,
  };
  if (!conditions || !known) return [...(conditions ?? []), next];
  return isSame(known, next) ? conditions : conditions.map((condition) => (condition === known ? next : condition));
}

/** The conditions without one of them; the same array when it was not there. */
export function removeCondition(conditions: Condition[] | undefined, type: string): Condition[] {
  if (!conditions) return [];
  return findCondition(conditions, type) ? conditions.filter((condition) => condition.type !== type) : conditions;
}

function isSame(a: Condition, b: Condition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration &&
    a.lastTransitionTime === b.lastTransitionTime
  );
}
