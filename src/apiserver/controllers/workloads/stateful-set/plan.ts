/** What a StatefulSet has to do next, decided from its Pods alone. */
import type { StatefulSet } from "#api/apps";
import type { Pod } from "#api/core";
import { amountOf } from "../amounts.ts";
import { isAvailable, isReady } from "../pods.ts";
import type { Stored } from "../stored.ts";
import { firstOrdinal, isWished, ordinalOf, ordinalsOf, revisionOf } from "./identity.ts";

export interface PlanInput {
  readonly set: StatefulSet;
  readonly pods: readonly Stored<Pod>[];
  /** The name of the revision that Pods should be of. */
  readonly updateRevision: string;
  /** Whether an ordinal still has the claims of a Pod that is gone, which are about to go too. */
  readonly hasStaleClaims: (ordinal: number) => boolean;
  readonly now: Date;
}

/** In the order in which they have to happen; what stands in one list may happen together. */
export interface Plan {
  /** Ordinals without a Pod, and whether they are to get the newest template. */
  readonly create: readonly { ordinal: number; isUpdated: boolean }[];
  /** Pods that stay, whose labels and claims should be as they must be. */
  readonly keep: readonly Member[];
  /** Pods of ordinals that are not wished for, whose claims may have to go with them. */
  readonly letGo: readonly Member[];
  readonly remove: readonly Stored<Pod>[];
}

export interface Member {
  readonly ordinal: number;
  readonly pod: Stored<Pod>;
}

/** A wished ordinal and its Pod, if it has one. */
interface Replica {
  readonly ordinal: number;
  readonly pod: Stored<Pod> | undefined;
}

export function planFor(input: PlanInput): Plan {
  const { set, now } = input;
  const { minReadySeconds = 0 } = set.spec;
  const isHealthy = (pod: Pod) =>
    !isGoing(pod) && isRunning(pod) && isReady(pod) && isAvailable(pod, minReadySeconds, now);
  const { replicas, surplus } = sorted(input);
  const inOrder = set.spec.podManagementPolicy !== "Parallel";

  const first = planReplicas(input, replicas, inOrder ? isHealthy : () => true);
  if (first.isBlocked) return { ...first, letGo: [], remove: first.remove };

  const doomed = surplus.map(({ pod }) => pod);
  const scaled = planSurplus(doomed, inOrder ? isHealthy : () => true, inOrder);
  if (scaled.isBlocked) return { ...first, letGo: surplus, remove: [...first.remove, ...scaled.remove] };

  const updated = planUpdate(input, replicas, isHealthy);
  return { ...first, letGo: surplus, remove: [...new Set([...first.remove, ...scaled.remove, ...updated])] };
}

/** The wished ordinals from the first to the last, and the Pods of others from the last to the first. */
function sorted({ set, pods }: PlanInput): { replicas: Replica[]; surplus: Member[] } {
  const byOrdinal = new Map<number, Stored<Pod>>();
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod);
    if (ordinal !== undefined) byOrdinal.set(ordinal, pod);
  }
  return {
    replicas: ordinalsOf(set).map((ordinal) => ({ ordinal, pod: byOrdinal.get(ordinal) })),
    surplus: [...byOrdinal]
      .filter(([ordinal]) => !isWished(set, ordinal))
      .sort(([a], [b]) => b - a)
      .map(([ordinal, pod]) => ({ ordinal, pod })),
  };
}

/** Where order matters, nothing is done beyond the first Pod that is missing or not healthy. */
function planReplicas(
  { set, hasStaleClaims }: PlanInput,
  replicas: readonly Replica[],
  mayPass: (pod: Pod) => boolean,
): Omit<Plan, "letGo"> & { isBlocked: boolean } {
  const inOrder = set.spec.podManagementPolicy !== "Parallel";
  const create: { ordinal: number; isUpdated: boolean }[] = [];
  const keep: Member[] = [];
  const remove: Stored<Pod>[] = [];
  for (const { ordinal, pod } of replicas) {
    if (!pod) {
      if (!hasStaleClaims(ordinal)) create.push({ ordinal, isUpdated: !isHeldBack(set, ordinal) });
    } else if (hasEnded(pod)) {
      if (!isGoing(pod)) remove.push(pod); // whatever its exit code: an evicted Pod may end well
    } else {
      keep.push({ ordinal, pod });
      if (mayPass(pod)) continue;
    }
    if (inOrder) return { create, keep, remove, isBlocked: true };
  }
  return { create, keep, remove, isBlocked: false };
}

/** From the last down, where order matters one at a time, and a Pod that is not healthy before any that is. */
function planSurplus(
  surplus: readonly Stored<Pod>[],
  mayPass: (pod: Pod) => boolean,
  inOrder: boolean,
): { remove: Stored<Pod>[]; isBlocked: boolean } {
  if (!inOrder) return { remove: surplus.filter((pod) => !isGoing(pod)), isBlocked: false };
  const [next] = surplus;
  if (!next) return { remove: [], isBlocked: false };
  const firstUnhealthy = surplus.findLast((pod) => !mayPass(pod));
  const mayGo = !isGoing(next) && (mayPass(next) || next === firstUnhealthy);
  return { remove: mayGo ? [next] : [], isBlocked: true };
}

/** Pods of another revision that may go now, from the last down to the partition. */
function planUpdate(
  { set, updateRevision }: PlanInput,
  replicas: readonly Replica[],
  isHealthy: (pod: Pod) => boolean,
): Stored<Pod>[] {
  const { updateStrategy = {}, replicas: wished = 1 } = set.spec;
  if (updateStrategy.type === "OnDelete") return [];
  const { maxUnavailable } = updateStrategy.rollingUpdate ?? {};
  const fromLast = replicas.filter(({ ordinal }) => !isHeldBack(set, ordinal)).reverse();
  const isOutdated = (pod: Pod) => revisionOf(pod) !== updateRevision && !isGoing(pod);

  if (maxUnavailable === undefined) {
    const next = fromLast.find(({ pod }) => !pod || isOutdated(pod) || !isHealthy(pod))?.pod;
    return next && isOutdated(next) ? [next] : [];
  }
  const unavailable = replicas.filter(({ pod }) => !pod || !isHealthy(pod)).length;
  const allowed = Math.max(1, amountOf(maxUnavailable, wished, Math.floor));
  const budget = Math.max(0, allowed - unavailable);
  return fromLast.flatMap(({ pod }) => (pod && isOutdated(pod) ? [pod] : [])).slice(0, budget);
}

/** Below the partition Pods stay as they were. */
function isHeldBack(set: StatefulSet, ordinal: number): boolean {
  const { type = "RollingUpdate", rollingUpdate } = set.spec.updateStrategy ?? {};
  return type === "RollingUpdate" && ordinal - firstOrdinal(set) < (rollingUpdate?.partition ?? 0);
}

function isGoing({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function isRunning({ status }: Pod): boolean {
  return status?.phase === "Running";
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}
