/**
 * Counts the Pods that a PodDisruptionBudget guards, and says how many of them may be evicted now.
 *
 * Key     PodDisruptionBudget namespace/name
 * Reads   PodDisruptionBudget, Pod, their owners
 * Writes  PodDisruptionBudget status
 * Twin    kube-controller-manager: disruption-controller
 */
import type { Pod } from "#api/core";
import { keyOf } from "#api/meta";
import { BudgetCondition, BudgetReason, type BudgetStatus, type PodDisruptionBudget } from "#api/policy";
import { setCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { labelSelector, SelectorError } from "#lib/selectors";
import type { EventTeller } from "../events.ts";
import type { ControllerParts } from "../manager.ts";
import type { Occurrence, ServerController } from "../runner.ts";
import { isReady, PODS } from "../workloads/pods.ts";
import type { Stored } from "../workloads/stored.ts";
import { expectationOf, nextLook, statusOf } from "./budget-status.ts";
import { scalesOf, UnknownScale } from "./scales.ts";

const BUDGETS = "policy/poddisruptionbudgets";

type Budget = Stored<PodDisruptionBudget>;

export function disruptionBudgetController(
  parts: Pick<ControllerParts, "store" | "writer" | "catalog" | "ownership" | "clock" | "teller">,
): ServerController {
  const { store, writer, clock } = parts;
  const events = parts.teller("disruption-controller");
  const podsOf = ({ metadata: { namespace = "" }, spec }: Budget): Stored<Pod>[] => {
    const selector = labelSelector(spec?.selector);
    const pods = store.list(PODS, { namespace }).items as Stored<Pod>[];
    return pods.filter(({ metadata }) => selector.matches(metadata.labels));
  };

  return {
    name: "disruption-budget",
    watches: [BUDGETS, PODS],
    keysOf: (event) => (event.resource === BUDGETS ? [event.key] : guardsOf(event)),

    async reconcile(key) {
      const budget = store.get(BUDGETS, key) as Budget | undefined;
      if (!budget) return undefined;
      const now = clock.now();
      const { status, tell } = look(budget, now);
      if (!equal(budget.status, status)) {
        await writer.change(BUDGETS, key, (draft) => ({ ...draft, status }), "status");
        tell(events);
      }
      return nextLook(status, now);
    },
  };

  function guardsOf({ type, object, previous }: Occurrence): readonly string[] {
    if (
      type === "MODIFIED" &&
      previous &&
      equal(whatMatters(previous as Stored<Pod>), whatMatters(object as Stored<Pod>))
    ) {
      return [];
    }
    const { namespace = "" } = object.metadata;
    const pods = [object, ...(previous ? [previous] : [])];
    const budgets = store.list(BUDGETS, { namespace }).items as Budget[];
    return budgets.filter((budget) => pods.some(({ metadata }) => guards(budget, metadata.labels))).map(keyOf);
  }

  /** What to say of the budget, and what to tell people when that is new. */
  function look(budget: Budget, now: Date): { status: BudgetStatus; tell: (events: EventTeller) => void } {
    try {
      const pods = podsOf(budget);
      const expectation = expectationOf(budget.spec ?? {}, pods, () => scalesOf(pods, parts));
      const tell = (teller: EventTeller) => tellOfPods(teller, budget, pods, expectation.unmanaged);
      return { status: statusOf({ budget, pods, expectation, now }), tell };
    } catch (error) {
      if (!(error instanceof UnknownScale || error instanceof SelectorError)) throw error;
      const message = `Failed to calculate the number of expected pods: ${error.message}`;
      return {
        status: failed(budget, error.message, now),
        tell: (teller) => teller.tell(budget, { type: "Warning", reason: "CalculateExpectedPodCountFailed", message }),
      };
    }
  }
}

/** What of a Pod can change a count. */
function whatMatters({ metadata, ...pod }: Stored<Pod>): unknown {
  const { labels, deletionTimestamp, ownerReferences } = metadata;
  return {
    labels,
    ownerReferences,
    isDeleted: deletionTimestamp !== undefined,
    isReady: isReady({ metadata, ...pod }),
  };
}

function guards({ spec }: Budget, labels: Record<string, string> | undefined): boolean {
  try {
    return labelSelector(spec?.selector).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return false; // the budget itself tells of it
    throw error;
  }
}

/** Nobody is evicted by a budget that cannot be counted. */
function failed({ status }: Budget, message: string, now: Date): BudgetStatus {
  const { observedGeneration } = status ?? {};
  const conditions = setCondition(
    status?.conditions,
    {
      type: BudgetCondition.disruptionAllowed,
      status: "False",
      reason: BudgetReason.syncFailed,
      message,
      ...(observedGeneration !== undefined && { observedGeneration }),
    },
    now,
  );
  const { currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = status ?? {};
  return { ...status, currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed: 0, conditions };
}

function tellOfPods(events: EventTeller, budget: Budget, pods: readonly Pod[], unmanaged: readonly string[]): void {
  if (pods.length === 0) events.tell(budget, { reason: "NoPods", message: "No matching pods found" });
  if (unmanaged.length === 0) return;
  const message = `Pods that this budget selects have no controller, so that it is not known how many there should be: ${unmanaged.join(", ")}. Set .spec.minAvailable to a number to count them.`;
  events.tell(budget, { type: "Warning", reason: "UnmanagedPods", message });
}
