/** What a StatefulSet reports of its Pods. */
import type { StatefulSet, StatefulSetStatus } from "#api/apps";
import type { Pod } from "#api/core";
import { isAvailable, isReady } from "../pods.ts";
import { ordinalOf, revisionOf } from "./identity.ts";

export interface StatusInput {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly currentRevision: string;
  readonly updateRevision: string;
  readonly collisionCount: number;
  readonly now: Date;
}

export function statefulSetStatus(input: StatusInput): StatefulSetStatus {
  const { set, updateRevision, collisionCount, now } = input;
  const { metadata, spec, status: before } = set;
  const pods = input.pods.filter((pod) => ordinalOf(set, pod) !== undefined);
  const staying = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const ready = pods.filter((pod) => pod.status?.phase === "Running" && isReady(pod));
  const updated = staying.filter((pod) => revisionOf(pod) === updateRevision).length;
  const isDone =
    spec.updateStrategy?.type !== "OnDelete" &&
    [updated, ready.length, pods.length].every((count) => count === (spec.replicas ?? 1));
  const current = staying.filter((pod) => revisionOf(pod) === input.currentRevision).length;
  return {
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    replicas: pods.length,
    ...some("readyReplicas", ready.length),
    ...some("currentReplicas", isDone ? updated : current),
    ...some("updatedReplicas", updated),
    availableReplicas: ready.filter((pod) => isAvailable(pod, spec.minReadySeconds ?? 0, now)).length,
    currentRevision: isDone ? updateRevision : input.currentRevision,
    updateRevision,
    collisionCount,
    ...(before?.conditions && { conditions: before.conditions }),
  };
}

/** A count that is left out when it is nothing, as the API shows it. */
function some<K extends string>(key: K, count: number): Partial<Record<K, number>> {
  return count > 0 ? ({ [key]: count } as Record<K, number>) : {};
}
