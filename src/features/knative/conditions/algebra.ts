/**
 * How the conditions of a Knative object hang together: `Ready` follows the five others. Unlike the conditions of most
 * kinds they are sorted by type, and a time moves when reason or message changes, not only when the status does.
 */
import { KnativeCondition, type KnativeStatusCondition } from "#api/knative";
import type { ConditionStatus } from "#api/meta";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";

export type Conditions = readonly KnativeStatusCondition[];

/** Those that `Ready` is made of. */
export type Dependent = Exclude<KnativeCondition, "Ready">;

const { ready: READY, ...others } = KnativeCondition;
const DEPENDENTS: readonly Dependent[] = Object.values(others).sort();

interface Claim {
  readonly status: ConditionStatus;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** Adds what is missing; what is there stays as it is. */
export function initialized(conditions: Conditions | undefined, now: Date): Conditions {
  const started = findCondition(conditions, READY)
    ? (conditions ?? [])
    : stated(conditions ?? [], READY, { status: "Unknown" }, now);
  const status = findCondition(started, READY)?.status === "True" ? "True" : "Unknown";
  const missing = DEPENDENTS.filter((type) => !findCondition(started, type));
  return missing.reduce((all, type) => stated(all, type, { status }, now), started);
}

/** The condition fails, and so does `Ready`, in the same words. */
export function withFalse(
  conditions: Conditions,
  type: Dependent,
  { reason, message }: { readonly reason: string; readonly message: string },
  now: Date,
): Conditions {
  const claim = { status: "False", reason, message } as const;
  return stated(stated(conditions, type, claim, now), READY, claim, now);
}

/** The condition holds, and `Ready` repeats what still does not: the newest failure, else the newest doubt. */
export function withTrue(conditions: Conditions, type: Dependent, now: Date): Conditions {
  const next = stated(conditions, type, { status: "True" }, now);
  return stated(next, READY, unhappy(next) ?? { status: "True" }, now);
}

function unhappy(conditions: Conditions): Claim | undefined {
  const dependents = conditions.filter(({ type }) => DEPENDENTS.some((dependent) => dependent === type));
  // The sort is stable: of those that changed at the same time, the first by name wins, always the same one.
  const newest = [...dependents].sort((a, b) => timeOf(b) - timeOf(a));
  const found = newest.find(({ status }) => status === "False") ?? newest.find(({ status }) => status === "Unknown");
  if (found) return found;
  return dependents.length < DEPENDENTS.length ? { status: "Unknown" } : undefined;
}

function timeOf({ lastTransitionTime }: KnativeStatusCondition): number {
  return Date.parse(lastTransitionTime ?? "") || 0;
}

/** The same conditions come back when all of it was said before. */
function stated(
  conditions: Conditions,
  type: KnativeCondition,
  { status, reason, message }: Claim,
  now: Date,
): Conditions {
  const known = findCondition(conditions, type);
  const isSame =
    known?.status === status && (known.reason ?? "") === (reason ?? "") && (known.message ?? "") === (message ?? "");
  if (isSame) return conditions;
  const next: KnativeStatusCondition = {
    type,
    status,
    lastTransitionTime: timestamp(now),
    ...(reason && { reason }),
    ...(message && { message }),
  };
  return [...conditions.filter((condition) => condition.type !== type), next].sort((a, b) =>
    a.type < b.type ? -1 : 1,
  );
}
