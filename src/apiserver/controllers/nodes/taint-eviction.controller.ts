/**
 * Deletes Pods from nodes whose taints they do not tolerate, or no longer: a taint that drives Pods away (NoExecute)
 * may be tolerated for a time.
 *
 * Key     Pod
 * Reads   Pod, Node
 * Writes  Pod condition DisruptionTarget; deletes Pods; Events
 * Twin    kube-controller-manager: taint-eviction-controller
 */
import { type PodCondition, PodConditionType, type Taint } from "#api/core";
import { type DynamicObject, keyOf } from "#api/meta";
import { timestamp } from "#lib/clock";
import { equal } from "#lib/json";
import { isDeleting } from "#lib/meta";
import { toleratedFor } from "#lib/scheduling";
import type { ServerController } from "../runner.ts";
import type { NodeParts } from "./index.ts";
import { NODES, nodeNamed, PODS, podsOn, type StoredNode, type StoredPod } from "./stored-nodes.ts";

export function taintEvictionController({ store, writer, clock, teller }: NodeParts): ServerController {
  const events = teller("taint-eviction-controller");
  /** When we first saw taints that do not say when they were added, by node and taint. */
  const seen = new Map<string, Map<string, number>>();

  return {
    name: "taint-eviction",
    watches: [NODES, PODS],
    keysOf({ type, resource, key, object, previous }) {
      if (resource === PODS)
        return type !== "DELETED" && drivingTaintsOf(store.get(NODES, nodeOf(object))).length > 0 ? [key] : [];
      const taints = type === "DELETED" ? [] : drivingTaintsOf(object);
      remember(key, taints);
      return equal(taints, drivingTaintsOf(previous)) ? [] : podsOn(store, key).map(keyOf);
    },

    async reconcile(key) {
      const pod = store.get(PODS, key) as StoredPod | undefined;
      if (!pod || isDeleting(pod)) return undefined;
      const node = nodeOf(pod);
      const taints = drivingTaintsOf(nodeNamed(store, node));
      if (taints.length === 0) return undefined;
      const seconds = toleratedFor(taints, pod.spec.tolerations);
      if (seconds === Number.POSITIVE_INFINITY) return undefined;
      const now = clock.now();
      const left = since(node, taints) + seconds * 1000 - now.getTime();
      if (left > 0) return left;
      events.tell(pod, { reason: "TaintManagerEviction", message: `Marking for deletion Pod ${key}` });
      await writer.change(PODS, key, (draft) => marked(draft as StoredPod, now), "status");
      await writer.remove(PODS, pod);
      return undefined;
    },
  };

  function remember(node: string, taints: readonly Taint[]): void {
    const before = seen.get(node);
    if (taints.length === 0) {
      seen.delete(node);
      return;
    }
    const now = clock.now().getTime();
    seen.set(node, new Map(taints.map((taint) => [nameOf(taint), before?.get(nameOf(taint)) ?? now])));
  }

  /** When the last of the taints came. */
  function since(node: string, taints: readonly Taint[]): number {
    const moments = taints.map((taint) => {
      const told = Date.parse(taint.timeAdded ?? "");
      return Number.isNaN(told) ? (seen.get(node)?.get(nameOf(taint)) ?? clock.now().getTime()) : told;
    });
    return Math.max(...moments);
  }
}

function nodeOf(pod: DynamicObject): string {
  return (pod as StoredPod).spec.nodeName ?? "";
}

function drivingTaintsOf(node: DynamicObject | undefined): Taint[] {
  return ((node as StoredNode | undefined)?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
}

function nameOf({ key, value = "" }: Taint): string {
  return `${key}=${value}`;
}

/** The Pod with the reason why it goes, for those who count disruptions. */
function marked(pod: StoredPod, now: Date): StoredPod {
  const { generation } = pod.metadata;
  const condition: PodCondition = {
    type: PodConditionType.disruptionTarget,
    ...(generation !== undefined && { observedGeneration: generation }),
    status: "True",
    reason: "DeletionByTaintManager",
    message: "Taint manager: deleting due to NoExecute taint",
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
  };
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== condition.type);
  return { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
}
