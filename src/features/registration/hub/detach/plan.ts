/** What is to be done about what is left of a cluster that goes. Everything here is decided without asking anybody. */
import { ClusterAnnotation, ClusterCondition, type ManagedCluster } from "#api/cluster";
import type { ConditionClaim } from "#lib/conditions";
import { findCondition, isTrue } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { Reason } from "../../reasons.ts";
import type { Remaining } from "./remains.ts";

export interface Plan {
  /** To be deleted now. */
  readonly remove: readonly Remaining[];
  /** To lose their finalizers now, because nobody will come for them. */
  readonly release: readonly Remaining[];
  /** When to look again although nothing changes, in milliseconds since the epoch. */
  readonly next?: number;
}

interface PlanOptions {
  /** In the order of their kinds. */
  readonly remaining: readonly Remaining[];
  /** Whether what nobody deleted is deleted. */
  readonly mayRemove: boolean;
  /** When an object that waits for its finalizers is given up; never if there is nothing to say. */
  readonly givenUpAt: (object: Remaining) => number | undefined;
  readonly now: Date;
}

export function planFor({ remaining, mayRemove, givenUpAt, now }: PlanOptions): Plan {
  const isOver = (object: Remaining) => (givenUpAt(object) ?? Number.POSITIVE_INFINITY) <= now.getTime();
  const lost = remaining.filter(isOver);
  const turn = mayRemove ? firstInOrder(remaining) : [];
  const waiting = remaining.filter((object) => !isOver(object)).flatMap((object) => givenUpAt(object) ?? []);
  return {
    remove: [...new Set([...turn, ...(mayRemove ? lost : [])])].filter((object) => !isDeleting(object)),
    release: lost.filter(({ metadata }) => isDeleting({ metadata }) || mayRemove).filter(isHeld),
    ...(waiting.length > 0 && { next: Math.min(...waiting) }),
  };
}

/** Those whose turn it is: of the first kind of which there is any, those of the lowest priority. */
function firstInOrder(remaining: readonly Remaining[]): Remaining[] {
  const ofKind = remaining.filter(({ kind }) => kind === remaining[0]?.kind);
  const lowest = Math.min(...ofKind.map(priorityOf));
  return ofKind.filter((object) => priorityOf(object) === lowest);
}

const HIGHEST_PRIORITY = 100;

/** What cannot be understood counts as 0, as upstream. */
export function priorityOf({ metadata }: Pick<Remaining, "metadata">): number {
  const text = metadata.annotations?.[ClusterAnnotation.cleanupPriority] ?? "";
  const value = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return value <= HIGHEST_PRIORITY ? value : 0;
}

function isHeld({ metadata }: Pick<Remaining, "metadata">): boolean {
  return (metadata.finalizers ?? []).length > 0;
}

/**
 * Since when nobody can be expected to clean up on a cluster that goes, in milliseconds since the epoch; undefined as
 * long as its agent is there. `at once` is told as the beginning of time: one that never joined has nothing to clean,
 * and one that was denied may not.
 */
export function lostSince(cluster: ManagedCluster): number | undefined {
  const { conditions } = cluster.status ?? {};
  if (!isTrue(conditions, ClusterCondition.Joined) || !cluster.spec?.hubAcceptsClient) return Number.NEGATIVE_INFINITY;
  const available = findCondition(conditions, ClusterCondition.Available);
  if (available && available.status !== "Unknown") return undefined;
  return Date.parse(available?.lastTransitionTime ?? cluster.metadata.deletionTimestamp ?? "") || 0;
}

/** What is waited for, in words that stay the same until something changes. */
export function remainingCondition(remaining: readonly Remaining[], givenUp: number | undefined): ConditionClaim {
  const type = ClusterCondition.Deleting;
  const [first] = remaining;
  if (!first) {
    return {
      type,
      status: "True",
      reason: Reason.noResource,
      message: "No add-ons and works of the cluster are left.",
    };
  }
  const ofKind = remaining.filter(({ kind }) => kind === first.kind);
  const held = ofKind.filter((object) => isDeleting(object) && isHeld(object));
  const finalizers = [...new Set(held.flatMap(({ metadata }) => metadata.finalizers ?? []))].sort();
  const later = [...new Set(remaining.filter(({ kind }) => kind !== first.kind).map(({ kind }) => kind.plural))];
  const message = [
    `Waiting for ${first.kind.plural}: ${ofKind.length} remain, ${held.length} of them pending on finalizers`,
    finalizers.length > 0 ? ` (${finalizers.join(", ")})` : "",
    ".",
    later.length > 0 ? ` Then ${later.join(", ")}.` : "",
    givenUp === undefined
      ? " Its agent removes what was applied for them."
      : ` The cluster is lost; if it does not come back, they are given up at ${new Date(givenUp).toISOString()}.`,
  ].join("");
  return { type, status: "False", reason: Reason.resourceRemaining, message };
}
