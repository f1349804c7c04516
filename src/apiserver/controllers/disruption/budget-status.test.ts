import { describe, expect, it } from "vitest";
import type { Pod } from "#api/core";
import type { BudgetStatus, PodDisruptionBudget } from "#api/policy";
import { expectationOf, nextLook, statusOf } from "./budget-status.ts";

const NOW = new Date("2026-01-01T00:10:00Z");
const JUST_NOW = "2026-01-01T00:09:00Z";
const LONG_AGO = "2026-01-01T00:05:00Z";

const pod = (name: string, isReady = true, metadata: object = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [] },
  status: { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
});

const budget = (status: Partial<BudgetStatus> = {}): PodDisruptionBudget => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "b", generation: 2 },
  status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...status },
});

describe("how many must be healthy", () => {
  const rows: [why: string, spec: PodDisruptionBudget["spec"], expected: number, healthy: number][] = [
    ["a number is taken as it is", { minAvailable: 2 }, 3, 2],
    ["of nothing nothing", {}, 3, 0],
    ["a share of what the owners want, rounded up", { minAvailable: "50%" }, 5, 3],
    ["so many less than the owners want", { maxUnavailable: 2 }, 5, 3],
    ["a share less, the share rounded up", { maxUnavailable: "30%" }, 5, 3],
    ["never less than none", { maxUnavailable: 9 }, 5, 0],
  ];
  it.each(rows)("%s", (_, spec, expectedPods, desiredHealthy) => {
    const pods = ["a", "b", "c"].map((name) => pod(name));
    const scales = () => ({ expected: 5, unmanaged: [] });
    expect(expectationOf(spec ?? {}, pods, scales)).toEqual({ expectedPods, desiredHealthy, unmanaged: [] });
  });
});

describe("the status of a budget", () => {
  const look = (pods: Pod[], desiredHealthy: number, status: Partial<BudgetStatus> = {}, expectedPods = pods.length) =>
    statusOf({
      budget: budget(status),
      pods,
      expectation: { expectedPods, desiredHealthy, unmanaged: [] },
      now: NOW,
    });

  it("counts Pods that are ready and stay", () => {
    const leaving = pod("d", true, { deletionTimestamp: JUST_NOW });
    expect(look([pod("a"), pod("b"), pod("c", false), leaving], 1)).toMatchObject({
      observedGeneration: 2,
      currentHealthy: 2,
      disruptionsAllowed: 1,
      conditions: [{ status: "True", reason: "SufficientPods", observedGeneration: 2 }],
    });
  });

  it("allows nothing where no Pods are expected, because the first ones may be there before they are counted", () => {
    expect(look([pod("a")], 0, {}, 0)).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 });
  });

  it("does not count on a Pod whose eviction was granted, until that was long ago", () => {
    const granted = { a: JUST_NOW, b: LONG_AGO, gone: JUST_NOW };
    const status = look([pod("a"), pod("b"), pod("c")], 1, { disruptedPods: granted });
    expect(status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1, disruptedPods: { a: JUST_NOW } });
    expect(nextLook(status, NOW)).toBe(60_000);
    expect(nextLook(look([pod("c")], 1), NOW)).toBeUndefined();
  });
});
