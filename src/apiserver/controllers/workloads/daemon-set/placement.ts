/** Which nodes of a DaemonSet lack a Pod, and which Pods have to go, whatever the update that is under way. */
import type { DaemonSet } from "#api/apps";
import type { Node, Pod } from "#api/core";
import { amountOf } from "../amounts.ts";
import { isAvailable, isReady } from "../pods.ts";
import type { Stored } from "../stored.ts";
import { DaemonLabel, type Fit, fitOf, targetNode } from "./daemon-pod.ts";

/** What is to be seen of a DaemonSet at one moment. */
export interface Sight {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** By the node that they are on or meant for; those that have ended and are going count no more. */
  readonly podsByNode: ReadonlyMap<string, readonly Stored<Pod>[]>;
  /** The hash of the newest template. */
  readonly hash: string;
  readonly now: Date;
}

export interface Ended {
  readonly pod: Stored<Pod>;
  readonly node: string;
}

export interface Placement {
  /** Nodes that lack a Pod. */
  readonly create: readonly string[];
  readonly remove: readonly Stored<Pod>[];
  /** Those of the Pods to remove that have ended though they should run. */
  readonly ended: readonly Ended[];
  /** Nodes whose Pod has failed, and which have to wait before they get another one. */
  readonly waiting: readonly string[];
}

export function groupedByNode(pods: readonly Stored<Pod>[]): Map<string, Stored<Pod>[]> {
  const grouped = new Map<string, Stored<Pod>[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    if (node === undefined || (hasEnded(pod) && isGoing(pod))) continue;
    grouped.set(node, [...(grouped.get(node) ?? []), pod]);
  }
  return grouped;
}

/** `mustWait` tells of a node whose Pods have failed so often that the next one has to wait. */
export function placementOf(sight: Sight, mustWait: (node: string) => boolean): Placement {
  const { set, nodes, podsByNode } = sight;
  const create: string[] = [];
  const remove: Stored<Pod>[] = [];
  const ended: Ended[] = [];
  const waiting: string[] = [];
  for (const node of nodes) {
    const { name } = node.metadata;
    const fit = fitOf(set, node);
    const staying = (podsByNode.get(name) ?? []).filter((pod) => !isGoing(pod));
    if (fit === "none") {
      remove.push(...staying);
      continue;
    }
    for (const pod of staying.filter(hasEnded)) {
      if (pod.status?.phase === "Failed" && mustWait(name)) waiting.push(name);
      else ended.push({ pod, node: name });
    }
    const running = staying.filter((pod) => !hasEnded(pod));
    if (needsPod(sight, fit, name, running)) create.push(name);
    remove.push(...excessOf(sight, running));
  }
  return { create, remove: [...remove, ...ended.map(({ pod }) => pod), ...stranded(sight)], ended, waiting };
}

/** Where Pods may surge, a node needs one as soon as none stays; else only when there is none left at all. */
function needsPod({ set, podsByNode }: Sight, fit: Fit, node: string, running: readonly Pod[]): boolean {
  if (fit !== "run") return false;
  return maySurge(set) && podsByNode.has(node) ? running.length === 0 : !podsByNode.has(node);
}

/** One Pod on a node is enough; while Pods surge, an old one that is ready stays until the new one is available. */
function excessOf({ set, hash, now }: Sight, running: readonly Stored<Pod>[]): Stored<Pod>[] {
  const [oldest, ...others] = inOrder(running);
  if (!oldest || others.length === 0) return [];
  if (!maySurge(set)) return others;
  const isNew = ({ metadata }: Pod) => metadata.labels?.[DaemonLabel.hash] === hash;
  const [newPod, ...moreNew] = inOrder(running.filter(isNew));
  const [oldPod, ...moreOld] = inOrder(running.filter((pod) => !isNew(pod)));
  const excess = [...moreNew, ...moreOld];
  if (!newPod || !oldPod) return excess;
  const isReplaced = !isReady(oldPod) || isAvailable(newPod, set.spec.minReadySeconds ?? 0, now);
  return isReplaced ? [...excess, oldPod] : excess;
}

/** Pods for nodes that are gone, which nobody will ever place. */
function stranded({ nodes, podsByNode }: Sight): Stored<Pod>[] {
  const names = new Set(nodes.map(({ metadata }) => metadata.name));
  return [...podsByNode].flatMap(([node, pods]) =>
    names.has(node) ? [] : pods.filter((pod) => !pod.spec.nodeName && !isGoing(pod)),
  );
}

/** Those on a node first, then the oldest. */
export function inOrder<P extends Pod>(pods: readonly P[]): P[] {
  const rank = ({ spec, metadata }: Pod) =>
    `${spec.nodeName ? 0 : 1} ${metadata.creationTimestamp ?? ""} ${metadata.name}`;
  return pods.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

export function surgeOf({ spec }: DaemonSet, desired: number): number {
  const { type = "RollingUpdate", rollingUpdate } = spec.updateStrategy ?? {};
  return type === "RollingUpdate" ? amountOf(rollingUpdate?.maxSurge ?? 0, desired, Math.ceil) : 0;
}

function maySurge(set: DaemonSet): boolean {
  return surgeOf(set, 1) > 0;
}

export function isGoing({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Failed" || status?.phase === "Succeeded";
}
