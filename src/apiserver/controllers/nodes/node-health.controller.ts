/**
 * Notices nodes that have fallen silent: neither their lease was renewed nor their status repeated for too long.
 *
 * Key     Node name
 * Reads   Node, Lease in kube-node-lease
 * Writes  Node status: Ready and the pressures become Unknown; Events
 * Twin    kube-controller-manager: node-lifecycle-controller
 */
import type { Lease } from "#api/coordination";
import type { Node, NodeCondition } from "#api/core";
import { type DynamicObject, splitKey } from "#api/meta";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import type { ServerController } from "../runner.ts";
import type { NodeParts } from "./index.ts";
import { NODES, nodeNamed, type StoredNode } from "./stored-nodes.ts";

const LEASES = "coordination.k8s.io/leases";
const LEASE_NAMESPACE = "kube-node-lease";

/** How long a node may be silent. It is given up after five missed renewals, as upstream does since 1.32. */
const GRACE_MS = 50_000;
/** How long a new node may take to say something for the first time. */
const STARTUP_GRACE_MS = 60_000;

/** What a silent node no longer vouches for. */
const VOUCHED = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** The last sign of life, and when it came by our own clock: that of the node may be off. */
interface Sign {
  readonly text: string;
  readonly at: number;
}

export function nodeHealthController({ store, writer, clock, teller }: NodeParts): ServerController {
  const signs = new Map<string, Sign>();
  const events = teller("node-controller");

  return {
    name: "node-health",
    watches: [NODES, LEASES],
    keysOf({ resource, key }) {
      if (resource === NODES) return [key];
      const { namespace, name } = splitKey(key);
      return namespace === LEASE_NAMESPACE ? [name] : [];
    },

    async reconcile(name) {
      const node = nodeNamed(store, name);
      if (!node) {
        signs.delete(name);
        return undefined;
      }
      const now = clock.now();
      const left = latestSign(node, now).at + graceOf(node) - now.getTime();
      if (left > 0) return left;
      const silent = silenced(node, now);
      if (silent === node) return undefined;
      await writer.change(NODES, name, (draft) => silenced(draft as StoredNode, now), "status");
      events.tell(node, { reason: "NodeNotReady", message: `Node ${name} status is now: NodeNotReady` });
      return undefined;
    },
  };

  function latestSign(node: StoredNode, now: Date): Sign {
    const { name, creationTimestamp = "" } = node.metadata;
    const lease = store.get(LEASES, `${LEASE_NAMESPACE}/${name}`) as (Lease & DynamicObject) | undefined;
    const ready = findCondition(node.status?.conditions, "Ready");
    const text = `${lease?.spec?.renewTime} ${ready?.lastHeartbeatTime}`;
    const known = signs.get(name);
    if (known?.text === text) return known;
    // One that never said anything is as old as its object.
    const isMute = !lease && !ready;
    const sign = { text, at: isMute ? Date.parse(creationTimestamp) : now.getTime() };
    signs.set(name, sign);
    return sign;
  }
}

function graceOf({ status }: Node): number {
  return findCondition(status?.conditions, "Ready") ? GRACE_MS : STARTUP_GRACE_MS;
}

/** The node with nothing known about it; the same object when that was said before. */
export function silenced<T extends Node>(node: T, now: Date): T {
  const known = node.status?.conditions ?? [];
  if (VOUCHED.every((type) => findCondition(known, type)?.status === "Unknown")) return node;
  const missing = VOUCHED.filter((type) => !findCondition(known, type)).map(
    (type): NodeCondition => ({
      type,
      status: "Unknown",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: node.metadata.creationTimestamp ?? timestamp(now),
      lastTransitionTime: timestamp(now),
    }),
  );
  const conditions = known.map((condition): NodeCondition => {
    if (!VOUCHED.includes(condition.type) || condition.status === "Unknown") return condition;
    return {
      ...condition,
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastTransitionTime: timestamp(now),
    };
  });
  return { ...node, status: { ...node.status, conditions: [...conditions, ...missing] } };
}
