/**
 * Presents the nodes of this process to the cluster: it creates each Node once, keeps its status true, and repeats it
 * now and then. A Node that somebody deletes stays away until the process starts again, as with a kubelet.
 *
 * Key     Node name
 * Reads   Node
 * Writes  Node labels, spec.podCIDR, status; an Event when it becomes ready
 * Twin    kubelet: node registration and node status
 */
import { Node } from "#api/core";
import type { Clock } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";
import { again, atStart, type Cluster, type Controller, done } from "#runtime";
import type { EventTeller } from "../events.ts";
import { freeRange } from "../kubelet/addresses.ts";
import { type Machine, presented, REPORT_EVERY_MS } from "./machine.ts";

const FIELD_MANAGER = "kubelet";

export interface NodeOptions {
  cluster: Cluster;
  /** By name. */
  machines: ReadonlyMap<string, Machine>;
  teller(node: string): EventTeller;
  clock: Clock;
  /** Called whenever a Node is known to be there and true. */
  registered(name: string): void;
}

export function nodeController({ cluster, machines, teller, clock, registered }: NodeOptions): Controller {
  const nodes = cluster.cache(Node);
  const created = new Set<string>();

  return {
    name: "node",
    triggers: [
      nodes.keyedBy(({ metadata: { name } }) => (machines.has(name) ? name : undefined)),
      ...[...machines.keys()].map((name) => atStart(name)),
    ],

    async reconcile(name) {
      const machine = machines.get(name);
      const node = nodes.get(name);
      if (!machine || (!node && created.has(name))) return done;
      const draft = node ?? { apiVersion: "v1", kind: "Node", metadata: { name } };
      const now = clock.now();
      const after = presented(draft, machine, freeRange(name, nodes.list()), now);
      const stored = await cluster.commit(Node, node, after, { fieldManager: FIELD_MANAGER });
      created.add(name);
      registered(name);
      if (!isTrue(node?.status?.conditions, "Ready")) {
        teller(name).tell(stored, { reason: "NodeReady", message: `Node ${name} status is now: NodeReady` });
      }
      const reported = Date.parse(findCondition(after.status?.conditions, "Ready")?.lastHeartbeatTime ?? "");
      return again(reported + REPORT_EVERY_MS - now.getTime());
    },
  };
}
