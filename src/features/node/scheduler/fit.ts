/** Which nodes could take a Pod, and which of them should. */
import { createHash } from "node:crypto";
import type { Node, Pod } from "#api/core";
import { isTrue } from "#lib/conditions";
import { matchesNode, untoleratedTaints } from "#lib/scheduling";
import { RUNTIME } from "../registration/machine.ts";

/** Why a node cannot take a Pod, in the words that people search for. */
export const Misfit = {
  notReady: "node(s) were not ready",
  unschedulable: "node(s) were unschedulable",
  tainted: "node(s) had untolerated taint(s)",
  affinity: "node(s) didn't match Pod's node affinity/selector",
  full: "Too many pods",
} as const;
export type Misfit = (typeof Misfit)[keyof typeof Misfit];

const UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable";

/** Whether a node runs Pods by Capstan, in this process or another; other nodes have a scheduler of their own. */
export function isCapstans({ status }: Node): boolean {
  return status?.nodeInfo?.containerRuntimeVersion?.startsWith(RUNTIME) ?? false;
}

export function isReady({ status }: Node): boolean {
  return isTrue(status?.conditions, "Ready");
}

/** What keeps the node from taking the Pod, if anything. `podCount` are those that run there. */
export function misfit(pod: Pod, node: Node, podCount: number): Misfit | undefined {
  if (!isReady(node)) return Misfit.notReady;
  const { taints = [], unschedulable = false } = node.spec ?? {};
  const cordon = { key: UNSCHEDULABLE_TAINT, effect: "NoSchedule" } as const;
  const { tolerations = [] } = pod.spec;
  if (unschedulable && untoleratedTaints([cordon], tolerations).length > 0) return Misfit.unschedulable;
  if (!matchesNode(pod.spec, node)) return Misfit.affinity;
  const hard = taints.filter(({ effect }) => effect !== "PreferNoSchedule");
  if (untoleratedTaints(hard, tolerations).length > 0) return Misfit.tainted;
  return podCount < Number(node.status?.allocatable?.pods ?? 0) ? undefined : Misfit.full;
}

export interface Candidate {
  readonly node: Node;
  readonly podCount: number;
}

/** The node with the fewest Pods; among several of those, the one that the Pod's uid and the name point at. */
export function choice(pod: Pod, candidates: readonly Candidate[]): Node | undefined {
  const least = Math.min(...candidates.map(({ podCount }) => podCount));
  const rank = ({ metadata }: Node) =>
    createHash("sha256").update(`${pod.metadata.uid} ${metadata.name}`).digest("hex");
  return candidates
    .filter(({ podCount }) => podCount === least)
    .map(({ node }) => ({ node, rank: rank(node) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.node;
}

/** `0/3 nodes are available: 1 Too many pods, 2 node(s) were unschedulable.` */
export function unschedulableMessage(misfits: readonly Misfit[]): string {
  if (misfits.length === 0) return "no nodes available to schedule pods";
  const counts = new Map<Misfit, number>();
  for (const each of misfits) counts.set(each, (counts.get(each) ?? 0) + 1);
  const reasons = [...counts].map(([why, count]) => `${count} ${why}`).sort();
  return `0/${misfits.length} nodes are available: ${reasons.join(", ")}.`;
}
