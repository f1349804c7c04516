/**
 * Ends deleted Pods that never came to a node, because no node will.
 *
 * Key     Pod namespace/name
 * Reads   Pod
 * Writes  Pod status.phase; deletes Pods
 * Twin    kube-controller-manager: pod-garbage-collector-controller
 */
import type { DynamicObject } from "#api/meta";
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import { endByForce, hasEnded, nodeOf, PODS } from "./forced-end.ts";

export function unscheduledPodController({
  store,
  writer,
  clock,
}: Pick<ControllerParts, "store" | "writer" | "clock">): ServerController {
  return {
    name: "unscheduled-pod",
    watches: [PODS],
    keysOf: ({ type, key, object }) => (type !== "DELETED" && awaitsEnd(object) ? [key] : []),
    async reconcile(key) {
      const pod = store.get(PODS, key);
      if (pod && awaitsEnd(pod)) await endByForce(writer, pod, clock.now());
      return undefined;
    },
  };
}

function awaitsEnd(pod: DynamicObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  return Boolean(deletionTimestamp) && nodeOf(pod) === "" && (!hasEnded(pod) || Boolean(deletionGracePeriodSeconds));
}
