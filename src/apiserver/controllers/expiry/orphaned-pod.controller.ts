/**
 * Ends Pods whose node is gone and does not come back.
 *
 * Key     Node name
 * Reads   Node, Pod
 * Writes  Pod status.phase, condition DisruptionTarget; deletes Pods
 * Twin    kube-controller-manager: pod-garbage-collector-controller
 */
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import { sideBySide } from "../side-by-side.ts";
import { endByForce, nodeOf, PODS } from "./forced-end.ts";

const NODES = "core/nodes";

/** A node that registers late, or again, keeps its Pods. */
const QUARANTINE_MS = 40_000;

const AT_ONCE = 64;
const WHY = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };

export function orphanedPodController({
  store,
  writer,
  clock,
}: Pick<ControllerParts, "store" | "writer" | "clock">): ServerController {
  /** Since when a node has been missed. */
  const missedMs = new Map<string, number>();
  return {
    name: "orphaned-pod",
    watches: [NODES, PODS],
    keysOf({ resource, type, key, object, previous }) {
      if (resource === NODES) return type === "MODIFIED" ? [] : [key];
      const node = nodeOf(object);
      const isNews = type === "ADDED" || (type === "MODIFIED" && nodeOf(previous) !== node);
      return isNews && node !== "" && !store.get(NODES, node) ? [node] : [];
    },
    async reconcile(node) {
      if (store.get(NODES, node)) {
        missedMs.delete(node);
        return undefined;
      }
      const orphans = store.list(PODS).items.filter((pod) => nodeOf(pod) === node);
      if (orphans.length === 0) {
        missedMs.delete(node);
        return undefined;
      }
      const now = clock.now();
      const since = missedMs.get(node) ?? now.getTime();
      missedMs.set(node, since);
      const leftMs = since + QUARANTINE_MS - now.getTime();
      if (leftMs > 0) return leftMs;
      const failures = await sideBySide(orphans, AT_ONCE, (pod) => endByForce(writer, pod, now, WHY));
      if (failures.length > 0) throw failures[0];
      missedMs.delete(node);
      return undefined;
    },
  };
}
