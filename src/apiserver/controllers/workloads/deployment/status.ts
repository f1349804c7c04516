/** What a Deployment reports of its ReplicaSets, and how its rollout goes. */
import {
  type Deployment,
  type DeploymentCondition,
  type DeploymentStatus,
  type ReplicaSet,
  DeploymentConditionType as Type,
} from "#api/apps";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import type { Limits } from "./limits.ts";
import { allSets, type Generations, type Sets, sizeOf, total } from "./replica-sets.ts";

export const Reason = {
  created: "NewReplicaSetCreated",
  createFailed: "ReplicaSetCreateError",
  found: "FoundNewReplicaSet",
  updated: "ReplicaSetUpdated",
  complete: "NewReplicaSetAvailable",
  timedOut: "ProgressDeadlineExceeded",
  paused: "DeploymentPaused",
  resumed: "DeploymentResumed",
  available: "MinimumReplicasAvailable",
  unavailable: "MinimumReplicasUnavailable",
} as const;

/** A deadline of this many seconds stands for none. */
const NO_DEADLINE = 2 ** 31 - 1;

export type Conditions = readonly DeploymentCondition[];
type Claim = Pick<DeploymentCondition, "type" | "status"> & { readonly reason: string; readonly message: string };

export interface StatusInput {
  readonly deployment: Deployment;
  readonly limits: Limits;
  readonly generations: Generations;
  /** Those of before, with what this turn had to say. */
  readonly conditions: Conditions;
  /** Whether a rollout is under way whose progress can be judged: not while paused, scaled or deleted. */
  readonly isRollout: boolean;
  readonly now: Date;
}

export function deploymentStatus(input: StatusInput): DeploymentStatus {
  const { deployment, limits, generations, isRollout, now } = input;
  const counts = countsOf(deployment, generations);
  const available = counts.availableReplicas ?? 0;
  const hasMinimum = available >= limits.replicas - limits.maxUnavailable;
  let conditions = withCondition(input.conditions, hasMinimum ? MINIMUM_AVAILABLE : MINIMUM_UNAVAILABLE, now);
  if (isRollout) {
    conditions = withProgress(conditions, counts, input);
    conditions = withReplicaFailure(conditions, generations);
  }
  return { ...counts, ...(conditions.length > 0 && { conditions: [...conditions] }) };
}

const MINIMUM_AVAILABLE: Claim = {
  type: Type.available,
  status: "True",
  reason: Reason.available,
  message: "Deployment has minimum availability.",
};
const MINIMUM_UNAVAILABLE: Claim = {
  type: Type.available,
  status: "False",
  reason: Reason.unavailable,
  message: "Deployment does not have minimum availability.",
};

function countsOf({ metadata, status }: Deployment, generations: Generations): Omit<DeploymentStatus, "conditions"> {
  const sets = allSets(generations);
  const available = total(sets, (set) => set.status?.availableReplicas ?? 0);
  const terminating = terminatingIn(sets);
  return {
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    ...unlessZero("replicas", total(sets, podsIn)),
    ...unlessZero("updatedReplicas", generations.newSet ? podsIn(generations.newSet) : 0),
    ...unlessZero(
      "readyReplicas",
      total(sets, (set) => set.status?.readyReplicas ?? 0),
    ),
    ...unlessZero("availableReplicas", available),
    ...unlessZero("unavailableReplicas", Math.max(0, total(sets, sizeOf) - available)),
    ...(terminating !== undefined && { terminatingReplicas: terminating }),
    ...(status?.collisionCount !== undefined && { collisionCount: status.collisionCount }),
  };
}

function podsIn({ status }: ReplicaSet): number {
  return status?.replicas ?? 0;
}

function unlessZero<K extends string>(key: K, count: number): { [key in K]?: number } {
  return count === 0 ? {} : ({ [key]: count } as { [key in K]: number });
}

/** Undefined when one of them was looked at and did not say. */
function terminatingIn(sets: Sets): number | undefined {
  const isSilent = ({ status }: ReplicaSet) =>
    status?.terminatingReplicas === undefined && (status?.observedGeneration ?? 0) > 0;
  return sets.some(isSilent) ? undefined : total(sets, (set) => set.status?.terminatingReplicas ?? 0);
}

export function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== NO_DEADLINE;
}

function withProgress(conditions: Conditions, counts: DeploymentStatus, input: StatusInput): Conditions {
  const { deployment, generations, now } = input;
  if (!hasDeadline(deployment)) return conditions.filter(({ type }) => type !== Type.progressing);
  const known = findCondition(conditions, Type.progressing);
  // A Deployment that was complete and only changed its size is still complete.
  if (known?.reason === Reason.complete && counts.replicas === counts.updatedReplicas) return conditions;

  const { newSet } = generations;
  const subject = newSet ? `ReplicaSet "${newSet.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  const claim = (status: "True" | "False", reason: string, what: string): Claim => ({
    type: Type.progressing,
    status,
    reason,
    message: `${subject} ${what}`,
  });
  if (isComplete(deployment, counts)) {
    return withCondition(conditions, claim("True", Reason.complete, "has successfully progressed."), now);
  }
  if (hasProgressed(deployment.status ?? {}, counts)) {
    // Stated anew even where nothing but its time differs, because the deadline counts from there.
    return restated(conditions, claim("True", Reason.updated, "is progressing."), now);
  }
  return remaining(deployment, conditions, now) === 0
    ? withCondition(conditions, claim("False", Reason.timedOut, "has timed out progressing."), now)
    : conditions;
}

/** All wished Pods are of the newest template and available, and there are no others. */
export function isComplete({ metadata, spec }: Deployment, status: DeploymentStatus): boolean {
  const { replicas = 1 } = spec;
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
  );
}

/** More new ones, fewer old ones, more that are ready, or more that are available. */
function hasProgressed(before: DeploymentStatus, after: DeploymentStatus): boolean {
  const of = ({ replicas = 0, updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0 }: DeploymentStatus) => ({
    updated: updatedReplicas,
    old: replicas - updatedReplicas,
    ready: readyReplicas,
    available: availableReplicas,
  });
  const [was, is] = [of(before), of(after)];
  return is.updated > was.updated || is.old < was.old || is.ready > was.ready || is.available > was.available;
}

/** Milliseconds until the rollout has gone without progress for too long; 0 when it has, undefined when it cannot. */
export function remaining({ spec }: Deployment, conditions: Conditions, now: Date): number | undefined {
  const known = findCondition(conditions, Type.progressing);
  if (!known || known.reason === Reason.complete) return undefined;
  if (known.reason === Reason.timedOut) return 0;
  const since = Date.parse(known.lastUpdateTime ?? "") || 0;
  return Math.max(0, since + (spec.progressDeadlineSeconds ?? 0) * 1000 - now.getTime());
}

/** Why a ReplicaSet cannot do as it is told; the newest one is asked first. */
function withReplicaFailure(conditions: Conditions, { newSet, oldSets }: Generations): Conditions {
  const others = conditions.filter(({ type }) => type !== Type.replicaFailure);
  const known = findCondition(conditions, Type.replicaFailure);
  const failure = [...(newSet ? [newSet] : []), ...oldSets]
    .flatMap(({ status }) => findCondition(status?.conditions, Type.replicaFailure) ?? [])
    .at(0);
  if (!failure) return known ? others : conditions;
  if (known?.status === failure.status && known.reason === failure.reason) return conditions;
  const { lastTransitionTime } = failure;
  return [...others, { ...failure, ...(lastTransitionTime && { lastUpdateTime: lastTransitionTime }) }];
}

/** Pausing stops the clock of the deadline, and resuming starts it anew; what has timed out stays so. */
export function withPause(deployment: Deployment, conditions: Conditions, now: Date): Conditions {
  const { paused = false } = deployment.spec;
  const known = findCondition(conditions, Type.progressing);
  if (!hasDeadline(deployment) || known?.reason === Reason.timedOut) return conditions;
  if ((known?.reason === Reason.paused) === paused) return conditions;
  const claim: Claim = {
    type: Type.progressing,
    status: "Unknown",
    reason: paused ? Reason.paused : Reason.resumed,
    message: `Deployment is ${paused ? "paused" : "resumed"}`,
  };
  return withCondition(conditions, claim, now);
}

/** With a word of what became of the newest ReplicaSet. */
export function withNews(
  conditions: Conditions,
  status: "True" | "False",
  reason: string,
  message: string,
  now: Date,
): Conditions {
  return withCondition(conditions, { type: Type.progressing, status, reason, message }, now);
}

/** Nothing new when status and reason are the same: then the message and the times of the first one stand. */
function withCondition(conditions: Conditions, claim: Claim, now: Date): Conditions {
  const known = findCondition(conditions, claim.type);
  return known?.status === claim.status && known.reason === claim.reason
    ? conditions
    : restated(conditions, claim, now);
}

/** At the end of the list; its time of transition changes only with its status. */
function restated(conditions: Conditions, claim: Claim, now: Date): Conditions {
  const known = findCondition(conditions, claim.type);
  const { type, status, reason, message } = claim;
  const lastUpdateTime = timestamp(now);
  const lastTransitionTime = (known?.status === status && known.lastTransitionTime) || lastUpdateTime;
  const others = conditions.filter((condition) => condition !== known);
  return [...others, { type, status, lastUpdateTime, lastTransitionTime, reason, message }];
}
