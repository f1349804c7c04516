/**
 * Takes the mark of a coming disruption back from Pods that were to be evicted or preempted and are still there.
 *
 * Key     Pod namespace/name
 * Reads   Pod
 * Writes  Pod status condition DisruptionTarget
 * Twin    kube-controller-manager: disruption-controller
 */
import { type Pod, PodConditionType } from "#api/core";
import { type Clock, timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import type { Store } from "../../store/index.ts";
import type { ServerController } from "../runner.ts";
import type { SystemWriter } from "../system.ts";
import { PODS } from "../workloads/pods.ts";
import type { Stored } from "../workloads/stored.ts";

const STALE_MS = 120_000;

/** A node may take its time between the mark and the end. */
const BY_NODE = "TerminationByKubelet";

export function staleDisruptionController(options: {
  store: Store;
  writer: SystemWriter;
  clock: Clock;
}): ServerController {
  const { store, writer, clock } = options;
  return {
    name: "stale-disruption",
    watches: [PODS],
    keysOf: ({ key, object }) => (staleIn(object as Stored<Pod>, clock.now()) === undefined ? [] : [key]),

    async reconcile(key) {
      const pod = store.get(PODS, key) as Stored<Pod> | undefined;
      const wait = pod && staleIn(pod, clock.now());
      if (wait !== 0) return wait;
      await writer.change(PODS, key, (draft) => withoutMark(draft as Stored<Pod>, clock.now()), "status");
      return undefined;
    },
  };
}

/** Milliseconds until the mark of a Pod means nothing any longer; undefined where it is right or there is none. */
function staleIn({ metadata, status }: Pod, now: Date): number | undefined {
  const mark = findCondition(status?.conditions, PodConditionType.disruptionTarget);
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  if (metadata.deletionTimestamp || hasEnded || mark?.status !== "True" || mark.reason === BY_NODE) return undefined;
  return Math.max(0, Date.parse(mark.lastTransitionTime ?? "") + STALE_MS - now.getTime() || 0);
}

function withoutMark(pod: Stored<Pod>, now: Date): Stored<Pod> {
  if (staleIn(pod, now) !== 0) return pod;
  const conditions = (pod.status?.conditions ?? []).map((condition) =>
    condition.type === PodConditionType.disruptionTarget
      ? {
          type: condition.type,
          status: "False" as const,
          lastProbeTime: null,
          lastTransitionTime: timestamp(now),
        }
      : condition,
  );
  return { ...pod, status: { ...pod.status, conditions } };
}
