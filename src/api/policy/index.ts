/** The group `policy/v1`: how many Pods of an application may be missing at a time, and asking a Pod to go. */
import { type Condition, type KubeObject, kind, type LabelSelector } from "#api/meta";

export interface PodDisruptionBudget extends KubeObject {
  spec?: {
    /** A number of Pods, or a percentage of how many there should be; only one of the two is set. */
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    selector?: LabelSelector;
    unhealthyPodEvictionPolicy?: "IfHealthyBudget" | "AlwaysAllow";
  };
  status?: BudgetStatus;
}
export const PodDisruptionBudget = kind<PodDisruptionBudget>({
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
});

export interface BudgetStatus {
  observedGeneration?: number;
  /** Pods whose eviction was granted and that are not seen going yet, with the time of the grant. */
  disruptedPods?: Record<string, string>;
  disruptionsAllowed: number;
  currentHealthy: number;
  desiredHealthy: number;
  expectedPods: number;
  conditions?: Condition[];
}

export const BudgetCondition = { disruptionAllowed: "DisruptionAllowed" } as const;

export const BudgetReason = {
  sufficientPods: "SufficientPods",
  insufficientPods: "InsufficientPods",
  syncFailed: "SyncFailed",
} as const;

/** What a refused eviction names as its cause. */
export const DISRUPTION_BUDGET_CAUSE = "DisruptionBudget";
