/** Which Pods go first when there are too many: those whose loss is felt least. */
import { type Pod, PodConditionType } from "#api/core";
import { findCondition } from "#lib/conditions";
import { isReady } from "../pods.ts";

const DELETION_COST = "controller.kubernetes.io/pod-deletion-cost";
const MAX_COST = 2 ** 31 - 1;

/** Negative when the first goes first, positive when the second does. */
type Rule = (a: Pod, b: Pod) => number;

/**
 * The Pods, those to delete first in front. `related` are the Pods that share nodes with them and belong to the
 * same workload: where they crowd, one can be spared.
 */
export function deletionOrder<P extends Pod>(pods: readonly P[], related: readonly Pod[], now: Date): P[] {
  const crowd = new Map<string, number>();
  for (const { spec } of related) crowd.set(spec.nodeName ?? "", (crowd.get(spec.nodeName ?? "") ?? 0) + 1);

  const rules: readonly Rule[] = [
    ascending(({ spec }) => (spec.nodeName ? 1 : 0)),
    ascending(phaseRank),
    ascending((pod) => (isReady(pod) ? 1 : 0)),
    ascending(deletionCost),
    ascending(({ spec }) => -(crowd.get(spec.nodeName ?? "") ?? 0)),
    ascending((pod) => magnitude(readySince(pod), now)),
    ascending((pod) => -restarts(pod.status?.containerStatuses)),
    ascending((pod) => -restarts(sidecars(pod))),
    ascending(({ metadata }) => magnitude(metadata.creationTimestamp, now)),
    // Among equals chance decides, so that not always the same nodes lose; uids are chance enough.
    (a, b) => ((a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1),
  ];
  return pods.toSorted((a, b) => {
    for (const rule of rules) {
      const order = rule(a, b);
      if (order !== 0) return order;
    }
    return 0;
  });
}

function ascending(rank: (pod: Pod) => number): Rule {
  return (a, b) => {
    const [first, second] = [rank(a), rank(b)];
    return first === second ? 0 : first < second ? -1 : 1;
  };
}

function phaseRank({ status }: Pod): number {
  return { Pending: 0, Unknown: 1, Running: 2 }[status?.phase as string] ?? 0;
}

/** What its owner says a Pod is worth; nonsense counts as nothing said. */
function deletionCost({ metadata }: Pod): number {
  const said = metadata.annotations?.[DELETION_COST] ?? "";
  const cost = /^-?\d+$/.test(said) ? Number(said) : 0;
  return Math.abs(cost) <= MAX_COST ? cost : 0;
}

function readySince(pod: Pod): string | undefined {
  return isReady(pod) ? findCondition(pod.status?.conditions, PodConditionType.ready)?.lastTransitionTime : undefined;
}

/**
 * How long ago, in powers of two: an hour or fifty minutes makes no difference, an hour or a day does. Without a
 * time a Pod counts as the youngest.
 */
function magnitude(since: string | null | undefined, now: Date): number {
  if (!since) return Number.NEGATIVE_INFINITY;
  const ago = now.getTime() - Date.parse(since);
  return ago > 0 ? Math.floor(Math.log2(ago)) : -1;
}

function restarts(statuses: readonly { restartCount: number }[] = []): number {
  return Math.max(0, ...statuses.map(({ restartCount }) => restartCount));
}

/** The containers that start before the others and stay. */
function sidecars({ spec, status }: Pod) {
  const names = (spec.initContainers ?? []).filter((each) => each.restartPolicy === "Always").map(({ name }) => name);
  return status?.initContainerStatuses?.filter(({ name }) => names.includes(name));
}
