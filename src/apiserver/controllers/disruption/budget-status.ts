/** What a PodDisruptionBudget says about the Pods it guards. */
import type { Pod } from "#api/core";
import type { BudgetStatus, PodDisruptionBudget } from "#api/policy";
import { withDisruptionAllowed } from "../../kinds/index.ts";
import { amountOf } from "../workloads/amounts.ts";
import { isReady } from "../workloads/pods.ts";

/** Whose eviction was granted so long ago and is still there is not going to go. */
export const GRANT_MS = 120_000;

export interface Expectation {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  readonly unmanaged: readonly string[];
}

/** How many Pods there should be, and how many of them must be healthy. A share is one of what the owners want. */
export function expectationOf(
  { minAvailable, maxUnavailable }: NonNullable<PodDisruptionBudget["spec"]>,
  pods: readonly Pod[],
  scales: () => { readonly expected: number; readonly unmanaged: readonly string[] },
): Expectation {
  if (maxUnavailable !== undefined) {
    const { expected, unmanaged } = scales();
    const healthy = expected - amountOf(maxUnavailable, expected, Math.ceil);
    return { expectedPods: expected, desiredHealthy: Math.max(0, healthy), unmanaged };
  }
  if (typeof minAvailable !== "string") {
    return { expectedPods: pods.length, desiredHealthy: minAvailable ?? 0, unmanaged: [] };
  }
  const { expected, unmanaged } = scales();
  return { expectedPods: expected, desiredHealthy: amountOf(minAvailable, expected, Math.ceil), unmanaged };
}

export interface Look {
  readonly budget: PodDisruptionBudget;
  readonly pods: readonly Pod[];
  readonly expectation: Expectation;
  readonly now: Date;
}

/** The status as it should be; itself when nothing is new. */
export function statusOf({ budget, pods, expectation, now }: Look): BudgetStatus {
  const { generation } = budget.metadata;
  const { expectedPods, desiredHealthy } = expectation;
  const disruptedPods = openGrants(budget, pods, now);
  const isCounted = (pod: Pod) => !pod.metadata.deletionTimestamp && !(pod.metadata.name in disruptedPods);
  const currentHealthy = pods.filter((pod) => isCounted(pod) && isReady(pod)).length;
  const allowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  const status: BudgetStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    disruptionsAllowed: allowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: budget.status?.conditions ?? [],
  };
  return { ...status, conditions: withDisruptionAllowed(status, now) };
}

/** Grants whose Pods are neither gone nor going, and may yet be. */
function openGrants({ status }: PodDisruptionBudget, pods: readonly Pod[], now: Date): Record<string, string> {
  const waiting = new Set(
    pods.filter(({ metadata }) => !metadata.deletionTimestamp).map(({ metadata }) => metadata.name),
  );
  const grants = Object.entries(status?.disruptedPods ?? {});
  return Object.fromEntries(grants.filter(([name, at]) => waiting.has(name) && isOpen(at, now)));
}

function isOpen(grantedAt: string, now: Date): boolean {
  return Date.parse(grantedAt) + GRANT_MS > now.getTime();
}

/** Milliseconds until the first grant has waited long enough. */
export function nextLook({ disruptedPods = {} }: BudgetStatus, now: Date): number | undefined {
  const times = Object.values(disruptedPods).map((at) => Date.parse(at) + GRANT_MS - now.getTime());
  return times.length === 0 ? undefined : Math.max(0, Math.min(...times));
}
