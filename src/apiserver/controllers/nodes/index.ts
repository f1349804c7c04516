/**
 * Nodes that fall silent and come back: their conditions, the taints that follow from them, and what becomes of the
 * Pods on them.
 */
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import { nodeHealthController } from "./node-health.controller.ts";
import { nodePodsController } from "./node-pods.controller.ts";
import { nodeTaintsController } from "./node-taints.controller.ts";
import { taintEvictionController } from "./taint-eviction.controller.ts";

export type NodeParts = Pick<ControllerParts, "store" | "writer" | "clock" | "teller">;

/** In the order in which data meets them. */
export function nodeLifecycleControllers(parts: NodeParts): ServerController[] {
  return [
    nodeHealthController(parts),
    nodeTaintsController(parts),
    nodePodsController(parts),
    taintEvictionController(parts),
  ];
}
