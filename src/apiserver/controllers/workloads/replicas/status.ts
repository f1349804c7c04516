/** What a ReplicaSet or a ReplicationController reports of its Pods. */
import type { ReplicasStatus, WorkloadCondition } from "#api/apps";
import type { Pod } from "#api/core";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { availableIn, isActive, isAvailable, isReady, isTerminating } from "../pods.ts";

const REPLICA_FAILURE = "ReplicaFailure";

/** Why there are more or fewer Pods than wished for. */
export interface Failure {
  readonly reason: "FailedCreate" | "FailedDelete";
  readonly error: Error;
}

export interface StatusInput {
  readonly before: ReplicasStatus | undefined;
  readonly generation: number | undefined;
  readonly templateLabels: Readonly<Record<string, string>>;
  readonly minReadySeconds: number;
  readonly pods: readonly Pod[];
  readonly failure: Failure | undefined;
  /** ReplicationControllers say nothing of Pods on their way out. */
  readonly countsTerminating: boolean;
  readonly now: Date;
}

export function replicasStatus(input: StatusInput): ReplicasStatus {
  const { before, generation, templateLabels, minReadySeconds, pods, countsTerminating, now } = input;
  const active = pods.filter(isActive);
  const isLabeled = ({ metadata }: Pod) =>
    Object.entries(templateLabels).every(([key, value]) => metadata.labels?.[key] === value);
  const labeled = active.filter(isLabeled).length;
  const ready = active.filter(isReady).length;
  const available = active.filter((pod) => isAvailable(pod, minReadySeconds, now)).length;
  const conditions = conditionsWith(before?.conditions ?? [], input.failure, now);
  return {
    replicas: active.length,
    ...(labeled > 0 && { fullyLabeledReplicas: labeled }),
    ...(ready > 0 && { readyReplicas: ready }),
    ...(available > 0 && { availableReplicas: available }),
    ...(countsTerminating && { terminatingReplicas: pods.filter(isTerminating).length }),
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(conditions.length > 0 && { conditions }),
  };
}

/** Whether the last attempt to have as many Pods as wished went wrong. */
export function hasFailed(status: ReplicasStatus | undefined): boolean {
  return findCondition(status?.conditions, REPLICA_FAILURE) !== undefined;
}

/** Milliseconds until one more Pod has been ready for long enough; undefined when none is on its way there. */
export function nextAvailableIn(pods: readonly Pod[], minReadySeconds: number, now: Date): number | undefined {
  const waits = pods.filter(isActive).flatMap((pod) => availableIn(pod, minReadySeconds, now) || []);
  return waits.length > 0 ? Math.min(...waits) : undefined;
}

/** The message stays that of the first failure, because each attempt fails with another name of a Pod in it. */
function conditionsWith(conditions: WorkloadCondition[], failure: Failure | undefined, now: Date): WorkloadCondition[] {
  const known = findCondition(conditions, REPLICA_FAILURE);
  if (known?.reason === failure?.reason) return conditions;
  const others = conditions.filter((condition) => condition !== known);
  if (!failure) return others;
  const { reason, error } = failure;
  const failed: WorkloadCondition = {
    type: REPLICA_FAILURE,
    status: "True",
    lastTransitionTime: timestamp(now),
    reason,
    message: error.message,
  };
  return [...others, failed];
}
