/** How large the ReplicaSets of a Deployment should be. Pure decisions: nothing is read or written here. */
import { type Deployment, DeploymentAnnotation, type ReplicaSet } from "#api/apps";
import type { Limits } from "./limits.ts";
import {
  allSets,
  annotatedNumber,
  dependable,
  type Generations,
  isInUse,
  occupied,
  olderFirst,
  type Sets,
  sizeOf,
  total,
} from "./replica-sets.ts";

/** The sizes of ReplicaSets by name; one that is not mentioned stays as it is. */
export type Sizes = ReadonlyMap<string, number>;

export interface RolloutSizes {
  /** Of the ReplicaSet with the newest template, whether it exists or not; undefined when its time has not come. */
  readonly ofNew: number | undefined;
  readonly ofOld: Sizes;
}

/** One step of a rolling update: the new grow into the room there is, the old give way as far as others stand in. */
export function rollingSizes(limits: Limits, generations: Generations): RolloutSizes {
  return { ofNew: grownNew(limits, generations), ofOld: shrunkOld(limits, generations) };
}

function grownNew({ replicas, maxSurge }: Limits, { newSet, oldSets }: Generations): number {
  const size = newSet ? sizeOf(newSet) : 0;
  if (size >= replicas) return replicas;
  const taken = total(oldSets, occupied) + (newSet ? occupied(newSet) : 0);
  const room = Math.max(0, replicas + maxSurge - taken);
  return size + Math.min(room, replicas - size);
}

function shrunkOld({ replicas, maxUnavailable }: Limits, { newSet, oldSets }: Generations): Sizes {
  const minAvailable = replicas - maxUnavailable;
  const fromNew = newSet ? dependable(newSet) : 0;
  const sizes = new Map(oldSets.filter(isInUse).map((set) => [set.metadata.name, sizeOf(set)]));
  const shrink = (set: ReplicaSet, most: number): number => {
    const { name } = set.metadata;
    const size = sizes.get(name) ?? 0;
    const by = Math.max(0, Math.min(size, most));
    if (by > 0) sizes.set(name, size - by);
    return by;
  };

  // Pods that do no work go first, or they would stand in the way of the rollout for good.
  let spare = total(oldSets, sizeOf) + fromNew - minAvailable;
  for (const set of oldSets) spare -= shrink(set, Math.min(spare, sizeOf(set) - dependable(set)));
  let surplus = total(oldSets, dependable) + fromNew - minAvailable;
  for (const set of oldSets) surplus -= shrink(set, surplus);
  return sizes;
}

/** One step of a replacement at once: nothing new before the last of the old is gone. */
export function recreateSizes({ replicas }: Limits, { oldSets }: Generations, oldPodsRun: boolean): RolloutSizes {
  const ofOld = new Map(oldSets.filter(isInUse).map((set) => [set.metadata.name, 0]));
  const isWaiting = ofOld.size > 0 || oldPodsRun;
  return { ofNew: isWaiting ? undefined : replicas, ofOld };
}

/** Whether the Deployment has another size than when its ReplicaSets were last sized. */
export function isScaled({ replicas }: Limits, generations: Generations): boolean {
  return allSets(generations)
    .filter(isInUse)
    .some((set) => {
      const desired = annotatedNumber(set, DeploymentAnnotation.desiredReplicas);
      return desired !== undefined && desired !== replicas;
    });
}

/**
 * A new size without a step of the rollout: all ReplicaSets in use grow or shrink in proportion, so that a bad
 * template gains no ground by it.
 */
export function scaledSizes(deployment: Deployment, limits: Limits, generations: Generations): Sizes {
  const { newSet, oldSets } = generations;
  const { replicas } = limits;
  const inUse = allSets(generations).filter(isInUse);
  if (inUse.length <= 1) {
    const only = inUse[0] ?? newSet ?? oldSets.at(-1);
    return new Map(only ? [[only.metadata.name, replicas]] : []);
  }
  if (newSet && isSaturated(newSet, replicas)) {
    return new Map(oldSets.filter(isInUse).map((set) => [set.metadata.name, 0]));
  }
  if (deployment.spec.strategy?.type !== "Recreate") return proportions(deployment, limits, inUse);
  return new Map(inUse.map((set) => [set.metadata.name, sizeOf(set)]));
}

/** Whether the new ReplicaSet does all the work, and knows that this is what it should do. */
function isSaturated(set: ReplicaSet, replicas: number): boolean {
  const desired = annotatedNumber(set, DeploymentAnnotation.desiredReplicas);
  return sizeOf(set) === replicas && desired === replicas && set.status?.availableReplicas === replicas;
}

function proportions(deployment: Deployment, { replicas, maxSurge }: Limits, inUse: Sets): Sizes {
  const allowed = replicas > 0 ? replicas + maxSurge : 0;
  const change = allowed - total(inUse, sizeOf);
  // The largest first; among equals the newer one grows and the older one shrinks.
  const direction = change > 0 ? -1 : 1;
  const ordered = inUse.toSorted((a, b) => sizeOf(b) - sizeOf(a) || direction * olderFirst(a, b));

  const sizes = new Map<string, number>();
  let left = change;
  for (const set of ordered) {
    const share = Math.round(shareOf(set, deployment, replicas + maxSurge));
    const part = change > 0 ? clamp(share, 0, left) : clamp(share, left, 0);
    sizes.set(set.metadata.name, sizeOf(set) + part);
    left -= part;
  }
  const largest = ordered[0]?.metadata.name;
  if (largest !== undefined) sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + left));
  return sizes;
}

/** By how much a ReplicaSet would change if it kept its part of the whole. */
function shareOf(set: ReplicaSet, { spec, status }: Deployment, max: number): number {
  const size = sizeOf(set);
  if (spec.replicas === 0) return -size;
  const maxBefore = annotatedNumber(set, DeploymentAnnotation.maxReplicas) || status?.replicas;
  return maxBefore ? (size * max) / maxBefore - size : 0;
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}
