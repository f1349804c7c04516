/**
 * Says of the Pods on a node that stops being ready that they are not ready either; nobody else can. When the node is
 * back, it says what is true of them itself.
 *
 * Key     Node name
 * Reads   Node, Pod
 * Writes  Pod status: Ready False; Events
 * Twin    kube-controller-manager: node-lifecycle-controller
 */
import { PodConditionType } from "#api/core";
import { keyOf } from "#api/meta";
import { timestamp } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import type { ServerController } from "../runner.ts";
import type { NodeParts } from "./index.ts";
import { NODES, nodeNamed, PODS, podsOn, readiness, type StoredPod } from "./stored-nodes.ts";

export function nodePodsController({ store, writer, clock, teller }: NodeParts): ServerController {
  const events = teller("node-controller");

  return {
    name: "node-pods",
    watches: [NODES],
    // Only the moment counts: what others say of Pods on a node that has long been gone is theirs to say.
    keysOf: ({ type, key, object, previous }) =>
      type === "MODIFIED" && readiness(previous) === "True" && readiness(object) !== "True" ? [key] : [],

    async reconcile(name) {
      if (readiness(nodeNamed(store, name)) === "True") return undefined;
      const now = clock.now();
      const ready = podsOn(store, name).filter(isReady);
      for (const pod of ready) {
        await writer.change(PODS, keyOf(pod), (draft) => unready(draft as StoredPod, now), "status");
        events.tell(pod, { type: "Warning", reason: "NodeNotReady", message: "Node is not ready" });
      }
      return undefined;
    },
  };
}

function isReady({ status }: StoredPod): boolean {
  return isTrue(status?.conditions, PodConditionType.ready);
}

function unready(pod: StoredPod, now: Date): StoredPod {
  if (!isReady(pod)) return pod;
  const conditions = (pod.status?.conditions ?? []).map((condition) =>
    condition.type === PodConditionType.ready
      ? { ...condition, status: "False" as const, lastTransitionTime: timestamp(now) }
      : condition,
  );
  return { ...pod, status: { ...pod.status, conditions } };
}
