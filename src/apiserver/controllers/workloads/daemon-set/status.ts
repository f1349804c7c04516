/** What a DaemonSet reports of its nodes. */
import type { DaemonSetStatus } from "#api/apps";
import { isAvailable, isReady } from "../pods.ts";
import { fitOf, isUpdated } from "./daemon-pod.ts";
import { inOrder, type Sight } from "./placement.ts";

export function daemonSetStatus(sight: Sight, collisionCount: number): DaemonSetStatus {
  const { set, nodes, podsByNode, hash, now } = sight;
  const { minReadySeconds = 0 } = set.spec;
  const firstOn = (node: string) => inOrder(podsByNode.get(node) ?? [])[0];
  const names = (shouldRun: boolean) =>
    nodes.filter((node) => (fitOf(set, node) === "run") === shouldRun).map(({ metadata }) => metadata.name);

  const desired = names(true);
  const pods = desired.flatMap((node) => firstOn(node) ?? []);
  const available = pods.filter((pod) => isAvailable(pod, minReadySeconds, now)).length;
  const unavailable = desired.length - available;
  const updated = pods.filter((pod) => isUpdated(pod, set, hash)).length;
  const { generation } = set.metadata;
  const { conditions } = set.status ?? {};
  return {
    currentNumberScheduled: pods.length,
    numberMisscheduled: names(false).filter(firstOn).length,
    desiredNumberScheduled: desired.length,
    numberReady: pods.filter(isReady).length,
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(updated > 0 && { updatedNumberScheduled: updated }),
    ...(available > 0 && { numberAvailable: available }),
    ...(unavailable > 0 && { numberUnavailable: unavailable }),
    ...(collisionCount > 0 && { collisionCount }),
    ...(conditions && { conditions }),
  };
}
