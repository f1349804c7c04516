/** The next step of a rolling update: which Pods of an older template go, and which nodes get a new one beside. */
import type { Pod } from "#api/core";
import { amountOf } from "../amounts.ts";
import { isAvailable } from "../pods.ts";
import type { Stored } from "../stored.ts";
import { fitOf, isUpdated } from "./daemon-pod.ts";
import { isGoing, type Sight, surgeOf } from "./placement.ts";

export interface Rollout {
  readonly create: readonly string[];
  readonly remove: readonly Stored<Pod>[];
}

/** The Pods of a node by template; a node with two of one sort is tidied up first. */
interface Pair {
  readonly node: string;
  readonly isTidy: boolean;
  readonly newPod: Stored<Pod> | undefined;
  readonly oldPod: Stored<Pod> | undefined;
}

export function rolloutOf(sight: Sight): Rollout {
  const { set, nodes, podsByNode } = sight;
  const desired = nodes.filter((node) => fitOf(set, node) === "run").map(({ metadata }) => metadata.name);
  const pairs = [...new Set([...podsByNode.keys(), ...desired])].sort().map((node) => pairOn(sight, node));
  const maxSurge = surgeOf(set, desired.length);
  if (maxSurge > 0) return surge(sight, pairs, maxSurge, desired);
  // Nothing to surge and nothing to miss would be a standstill.
  const { maxUnavailable = 1 } = set.spec.updateStrategy?.rollingUpdate ?? {};
  return replace(sight, pairs, amountOf(maxUnavailable, desired.length, Math.ceil) || 1);
}

function pairOn({ set, hash, podsByNode }: Sight, node: string): Pair {
  const staying = (podsByNode.get(node) ?? []).filter((pod) => !isGoing(pod));
  const fresh = staying.filter((pod) => isUpdated(pod, set, hash));
  const old = staying.filter((pod) => !isUpdated(pod, set, hash));
  return { node, isTidy: fresh.length <= 1 && old.length <= 1, newPod: fresh[0], oldPod: old[0] };
}

/** Old Pods go first and new ones follow; those that are no use to anybody go at once. */
function replace(sight: Sight, pairs: readonly Pair[], maxUnavailable: number): Rollout {
  const broken: Stored<Pod>[] = [];
  const candidates: Stored<Pod>[] = [];
  let unavailable = 0;
  for (const { isTidy, newPod, oldPod } of pairs) {
    if (isTidy && oldPod && !newPod) {
      if (isUp(sight, oldPod)) candidates.push(oldPod);
      else broken.push(oldPod);
    }
    const only = isTidy && Boolean(newPod) !== Boolean(oldPod) ? (newPod ?? oldPod) : undefined;
    if (!only || !isUp(sight, only)) unavailable++;
  }
  const budget = Math.max(0, maxUnavailable - unavailable);
  return { create: [], remove: [...broken, ...candidates.slice(0, budget)] };
}

/** New Pods come first, beside the old ones, which go when the new ones are available. */
function surge(sight: Sight, pairs: readonly Pair[], maxSurge: number, desired: readonly string[]): Rollout {
  const wanted = new Set(desired);
  const tidy = pairs.filter(({ isTidy }) => isTidy);
  const available = tidy.filter(({ newPod, oldPod }) => isUp(sight, oldPod ?? newPod)).length;
  const alone = tidy.flatMap(({ node, newPod, oldPod }) => (oldPod && !newPod ? [{ node, oldPod }] : []));
  const both = tidy.flatMap(({ newPod, oldPod }) => (newPod && oldPod ? [{ newPod, oldPod }] : []));

  const replaced = both.filter(({ newPod }) => isUp(sight, newPod));
  const surging = pairs.length - tidy.length + both.length - replaced.length;
  const broken = alone.filter(({ oldPod }) => !isUp(sight, oldPod));
  const healthy = alone.filter(({ oldPod }) => isUp(sight, oldPod));
  const unwanted = <T extends { node: string }>(these: readonly T[]) => these.filter(({ node }) => !wanted.has(node));
  const kept = <T extends { node: string }>(these: readonly T[]) => these.filter(({ node }) => wanted.has(node));

  // A Pod on a node that should not run one any more goes when another node makes up for it.
  const spare = Math.max(0, available - desired.length);
  const gone = [...replaced, ...unwanted(broken), ...unwanted(healthy).slice(0, spare)];
  const candidates = kept(healthy).slice(0, Math.max(0, maxSurge - surging));
  return {
    create: [...kept(broken), ...candidates].map(({ node }) => node),
    remove: gone.map(({ oldPod }) => oldPod),
  };
}

function isUp({ set, now }: Sight, pod: Pod | undefined): boolean {
  return pod !== undefined && isAvailable(pod, set.spec.minReadySeconds ?? 0, now);
}
