/**
 * Keeps on every node the taints that follow from its conditions and from whether it is cordoned. Where no node at all
 * is ready, nothing is to be driven away: it is more likely that something else is wrong.
 *
 * Key     Node name
 * Reads   Node
 * Writes  Node spec.taints
 * Twin    kube-controller-manager: node-lifecycle-controller
 */
import type { Node, Taint } from "#api/core";
import { timestamp } from "#lib/clock";
import { equal } from "#lib/json";
import type { ServerController } from "../runner.ts";
import type { NodeParts } from "./index.ts";
import { NODES, nodeNamed, readiness, type StoredNode } from "./stored-nodes.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE = "node.kubernetes.io/unschedulable";

/** The taint for each status of a condition that means trouble. */
const TROUBLES: ReadonlyMap<string, string> = new Map([
  ["Ready False", NOT_READY],
  ["Ready Unknown", UNREACHABLE],
  ["MemoryPressure True", "node.kubernetes.io/memory-pressure"],
  ["DiskPressure True", "node.kubernetes.io/disk-pressure"],
  ["PIDPressure True", "node.kubernetes.io/pid-pressure"],
  ["NetworkUnavailable True", "node.kubernetes.io/network-unavailable"],
]);

/** The taints that are ours to give and to take. */
const OURS: ReadonlySet<string> = new Set([
  ...[...TROUBLES.values(), UNSCHEDULABLE].map((key) => `${key} NoSchedule`),
  `${NOT_READY} NoExecute`,
  `${UNREACHABLE} NoExecute`,
]);

export function nodeTaintsController({ store, writer, clock }: NodeParts): ServerController {
  const nodes = () => store.list(NODES).items as StoredNode[];

  return {
    name: "node-taints",
    watches: [NODES],
    keysOf: ({ key, object, previous }) =>
      // Whether this node is ready may decide what the others are tainted with.
      readiness(object) === readiness(previous) ? [key] : nodes().map(({ metadata }) => metadata.name),

    async reconcile(name) {
      const node = nodeNamed(store, name);
      if (!node) return undefined;
      const drivesAway = nodes().some((each) => readiness(each) === "True");
      const wanted = tainted(node, drivesAway, clock.now());
      if (wanted === node) return undefined;
      await writer.change(NODES, name, (draft) => tainted(draft as StoredNode, drivesAway, clock.now()));
      return undefined;
    },
  };
}

/** The node with the taints that it should have; the same object when it has them. */
export function tainted<T extends Node>(node: T, drivesAway: boolean, now: Date): T {
  const before = node.spec?.taints ?? [];
  const wanted = wantedTaints(node, drivesAway);
  const kept = before.filter((taint) => !OURS.has(nameOf(taint)) || wanted.some((other) => isSame(other, taint)));
  const added = wanted
    .filter((taint) => !before.some((other) => isSame(other, taint)))
    .map((taint) => ({ ...taint, timeAdded: timestamp(now) }));
  const taints = [...kept, ...added];
  if (equal(taints, before)) return node;
  const { taints: _, ...spec } = node.spec ?? {};
  return { ...node, spec: { ...spec, ...(taints.length > 0 && { taints }) } };
}

function wantedTaints({ spec, status }: Node, drivesAway: boolean): Taint[] {
  const troubles = (status?.conditions ?? []).flatMap(({ type, status }) => TROUBLES.get(`${type} ${status}`) ?? []);
  const keys = [...troubles, ...(spec?.unschedulable ? [UNSCHEDULABLE] : [])];
  const away = drivesAway ? troubles.filter((key) => key === NOT_READY || key === UNREACHABLE) : [];
  return [
    ...keys.map((key): Taint => ({ key, effect: "NoSchedule" })),
    ...away.map((key): Taint => ({ key, effect: "NoExecute" })),
  ];
}

function nameOf({ key, effect }: Taint): string {
  return `${key} ${effect}`;
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}
