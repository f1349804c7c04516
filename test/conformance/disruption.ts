/** Budgets of disruption, and evictions that ask them. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body, Reply } from "../support/raw.ts";
import { handmadePods } from "./pods.ts";
import { at, inGroup, refusal, refused, type Staged } from "./stage.ts";

interface BudgetStatus {
  readonly observedGeneration?: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly expectedPods: number;
  readonly disruptionsAllowed: number;
  readonly disruptedPods?: Record<string, string>;
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}

export function disruptionSuite(stage: Staged): void {
  const pods = handmadePods(stage);
  let space: string;
  let node: string;
  beforeAll(async () => {
    node = await pods.node();
  });
  beforeEach(async () => {
    space = await pods.namespace();
  });

  const budgets = (name?: string) => inGroup("policy", "v1", "poddisruptionbudgets", space, name);
  const selector = { matchLabels: { app: "web" } };
  const budget = async (spec: object, name = "budget"): Promise<void> => {
    const { code, body } = await stage().admin.post(budgets(), { metadata: { name }, spec: { selector, ...spec } });
    expect([code, body.message]).toEqual([201, undefined]);
  };
  const statusOf = async (name = "budget") => (await stage().admin.get(budgets(name))).body.status as BudgetStatus;
  /** Waits until the budget has counted. */
  const counted = (status: Partial<BudgetStatus>) =>
    eventually(async () => expect(await statusOf()).toMatchObject(status));
  const running = async (...names: string[]): Promise<void> => {
    for (const name of names) {
      await pods.pod(space, name, { node, labels: { app: "web" } });
      await pods.report(space, name, {});
    }
  };
  const evict = (name: string, more: object = {}, query = ""): Promise<Reply> =>
    stage().admin.post(`${at(space, "pods", name)}/eviction${query}`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, namespace: space },
      ...more,
    });
  const isLeaving = async (name: string): Promise<boolean> => {
    const { code, body } = await stage().admin.get(at(space, "pods", name));
    return code === 404 || body.metadata.deletionTimestamp !== undefined;
  };
  const tooMany = refused(429, "TooManyRequests", "DisruptionBudget");

  describe("a budget", () => {
    it("disruption.counts: counts the Pods it guards, and those of them that are ready", async () => {
      await budget({ minAvailable: 1 });
      await counted({ observedGeneration: 1, currentHealthy: 0, desiredHealthy: 1, expectedPods: 0 });
      await running("a", "b");
      await pods.pod(space, "slow", { node, labels: { app: "web" } });
      await counted({ currentHealthy: 2, desiredHealthy: 1, expectedPods: 3, disruptionsAllowed: 1 });
      expect((await statusOf()).conditions).toMatchObject([
        { type: "DisruptionAllowed", status: "True", reason: "SufficientPods", message: "", observedGeneration: 1 },
      ]);
      await pods.report(space, "b", { isReady: false });
      await counted({ currentHealthy: 1, disruptionsAllowed: 0 });
      expect((await statusOf()).conditions).toMatchObject([
        { type: "DisruptionAllowed", status: "False", reason: "InsufficientPods" },
      ]);
    });

    it("disruption.generation: counts anew when its wish changes", async () => {
      await running("a", "b");
      await budget({ minAvailable: 2 });
      await counted({ observedGeneration: 1, disruptionsAllowed: 0 });
      await stage().admin.patch(budgets("budget"), { spec: { minAvailable: 1 } });
      await counted({ observedGeneration: 2, desiredHealthy: 1, disruptionsAllowed: 1 });
    });

    it.each([
      ["minAvailable 50%", { minAvailable: "50%" }, 3],
      ["minAvailable 100%", { minAvailable: "100%" }, 5],
      ["maxUnavailable 30%", { maxUnavailable: "30%" }, 3],
      ["maxUnavailable 2", { maxUnavailable: 2 }, 3],
      ["maxUnavailable 9", { maxUnavailable: 9 }, 0],
    ])("disruption.shares: takes %s of what the owner of the Pods wants", async (_, spec, desiredHealthy) => {
      await stage().admin.post(inGroup("apps", "v1", "replicasets", space), {
        metadata: { name: "web" },
        spec: {
          replicas: 5,
          selector,
          template: {
            metadata: { labels: { app: "web" } },
            spec: { containers: [{ name: "main", image: "registry.example/app:1" }] },
          },
        },
      });
      await budget(spec);
      await counted({ expectedPods: 5, desiredHealthy, currentHealthy: 0, disruptionsAllowed: 0 });
    });

    it("disruption.deployment: looks through a ReplicaSet at its Deployment", async () => {
      await stage().admin.post(inGroup("apps", "v1", "deployments", space), {
        metadata: { name: "web" },
        spec: {
          replicas: 4,
          selector,
          template: {
            metadata: { labels: { app: "web" } },
            spec: { containers: [{ name: "main", image: "registry.example/app:1" }] },
          },
        },
      });
      await budget({ maxUnavailable: 1 });
      await counted({ expectedPods: 4, desiredHealthy: 3 });
    });

    it("disruption.unmanaged: counts Pods without an owner only where a number is asked for", async () => {
      await running("a", "b");
      await budget({ minAvailable: "50%" });
      await counted({ observedGeneration: 1, expectedPods: 0, desiredHealthy: 0, disruptionsAllowed: 0 });
    });

    it("disruption.sync-failed: allows nothing when its Pods belong to what has no size", async () => {
      const { body: owner } = await stage().admin.post(at(space, "configmaps"), { metadata: { name: "owner" } });
      const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: owner.metadata.uid };
      const ownerReferences = [{ ...reference, controller: true }];
      await pods.pod(space, "a", { node, labels: { app: "web" }, metadata: { ownerReferences } });
      await budget({ maxUnavailable: "50%" });
      await eventually(async () =>
        expect((await statusOf()).conditions).toMatchObject([
          { type: "DisruptionAllowed", status: "False", reason: "SyncFailed" },
        ]),
      );
      expect(await statusOf()).toMatchObject({ disruptionsAllowed: 0 });
    });

    it("disruption.selectors: guards all Pods with an empty selector and none without one", async () => {
      await running("a");
      await stage().admin.post(budgets(), { metadata: { name: "all" }, spec: { minAvailable: 1, selector: {} } });
      await stage().admin.post(budgets(), { metadata: { name: "none" }, spec: { minAvailable: 1 } });
      await eventually(async () => {
        expect(await statusOf("all")).toMatchObject({ observedGeneration: 1, expectedPods: 1 });
        expect(await statusOf("none")).toMatchObject({ observedGeneration: 1, expectedPods: 0 });
      });
    });

    it.each([
      ["both bounds", { minAvailable: 1, maxUnavailable: 1 }, ["spec FieldValueInvalid"]],
      ["fewer than none", { minAvailable: -1 }, ["spec.minAvailable FieldValueInvalid"]],
      ["more than all", { maxUnavailable: "101%" }, ["spec.maxUnavailable FieldValueInvalid"]],
      ["a share of nothing", { minAvailable: "half" }, ["spec.minAvailable FieldValueInvalid"]],
      [
        "an unknown policy",
        { unhealthyPodEvictionPolicy: "Never" },
        ["spec.unhealthyPodEvictionPolicy FieldValueNotSupported"],
      ],
      [
        "a selector without values",
        { selector: { matchExpressions: [{ key: "a", operator: "In" }] } },
        ["spec.selector.matchExpressions[0].values FieldValueRequired"],
      ],
    ])("disruption.refusals: is refused with %s", async (_, spec, causes) => {
      const reply = await stage().admin.post(budgets(), { metadata: { name: "bad" }, spec });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", ...causes));
    });

    it("disruption.conditional: is changed only by who names its version", async () => {
      await budget({ minAvailable: 1 });
      const { body } = await stage().admin.get(budgets("budget"));
      const { resourceVersion: _, ...metadata } = body.metadata;
      const blind = await stage().admin.put(budgets("budget"), { ...body, metadata });
      expect(refusal(blind)).toEqual(refused(422, "Invalid", "metadata.resourceVersion FieldValueInvalid"));
    });
  });

  describe("an eviction", () => {
    it("disruption.eviction: deletes a Pod that no budget guards, and marks it", async () => {
      await running("a");
      const { code, body } = await evict("a");
      expect(code).toBe(201);
      expect(body).toMatchObject({ kind: "Status", status: "Success", code: 201 });
      const { body: pod } = await stage().admin.get(at(space, "pods", "a"));
      expect(pod.metadata.deletionTimestamp).toBeDefined();
      expect((pod.status as { conditions: object[] }).conditions).toContainEqual({
        type: "DisruptionTarget",
        status: "True",
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting",
        lastProbeTime: null,
        lastTransitionTime: expect.any(String),
      });
    });

    it("disruption.budget: is refused while the budget allows none, and then not", async () => {
      await running("a", "b");
      await budget({ minAvailable: 2 });
      await counted({ currentHealthy: 2, disruptionsAllowed: 0 });
      const reply = await evict("a");
      expect(reply.code).toBe(429);
      expect(reply.body).toMatchObject({
        reason: "TooManyRequests",
        details: {
          causes: [
            {
              reason: "DisruptionBudget",
              message: "The disruption budget budget needs 2 healthy pods and has 2 currently",
            },
          ],
        },
      });
      expect(await isLeaving("a")).toBe(false);

      await stage().admin.patch(budgets("budget"), { spec: { minAvailable: 1 } });
      await counted({ observedGeneration: 2, disruptionsAllowed: 1 });
      expect((await evict("a")).code).toBe(201);
      expect(await isLeaving("a")).toBe(true);
      expect((await evict("b")).code).toBe(429);
      await counted({ currentHealthy: 1, disruptionsAllowed: 0 });
    });

    it("disruption.dry-run: asks the budget and leaves everything as it is when it runs dry", async () => {
      await running("a", "b");
      await budget({ minAvailable: 1 });
      await counted({ disruptionsAllowed: 1 });
      expect((await evict("a", {}, "?dryRun=All")).code).toBe(201);
      expect((await evict("b", { deleteOptions: { dryRun: ["All"] } })).code).toBe(201);
      expect([await isLeaving("a"), await isLeaving("b")]).toEqual([false, false]);
      expect(await statusOf()).toMatchObject({ disruptionsAllowed: 1 });
      await stage().admin.patch(budgets("budget"), { spec: { minAvailable: 2 } });
      await counted({ observedGeneration: 2, disruptionsAllowed: 0 });
      expect(refusal(await evict("a", {}, "?dryRun=All"))).toEqual(tooMany);
    });

    it("disruption.two-budgets: is not possible where two budgets guard a Pod", async () => {
      await running("a");
      await budget({ minAvailable: 0 }, "one");
      await budget({ minAvailable: 0 }, "two");
      expect(refusal(await evict("a"))).toEqual(refused(500, undefined));
      expect(await isLeaving("a")).toBe(false);
    });

    it("disruption.pending: is not asked of a budget for a Pod that has not begun or has ended", async () => {
      await budget({ minAvailable: 1 });
      await pods.pod(space, "waiting", { node, labels: { app: "web" } });
      await running("ended");
      await pods.report(space, "ended", { phase: "Failed" });
      await counted({ expectedPods: 2, disruptionsAllowed: 0 });
      expect((await evict("waiting")).code).toBe(201);
      expect((await evict("ended")).code).toBe(201);
      expect([await isLeaving("waiting"), await isLeaving("ended")]).toEqual([true, true]);
    });

    it("disruption.unhealthy: spends nothing on a Pod that is not ready while enough others are", async () => {
      await running("a", "b");
      await pods.report(space, "b", { isReady: false });
      await budget({ minAvailable: 1 });
      await counted({ currentHealthy: 1, desiredHealthy: 1, disruptionsAllowed: 0 });
      expect((await evict("b")).code).toBe(201);
      expect(refusal(await evict("a"))).toEqual(tooMany);
    });

    it("disruption.unhealthy-policy: lets such a Pod go always, or only while enough others are ready", async () => {
      await running("a", "b");
      for (const name of ["a", "b"]) await pods.report(space, name, { isReady: false });
      await budget({ minAvailable: 1 });
      await counted({ currentHealthy: 0, expectedPods: 2 });
      expect(refusal(await evict("a"))).toEqual(tooMany);
      await stage().admin.patch(budgets("budget"), { spec: { unhealthyPodEvictionPolicy: "AlwaysAllow" } });
      expect((await evict("a")).code).toBe(201);
    });

    it("disruption.options: takes the options of a deletion", async () => {
      await running("a");
      const { body } = await stage().admin.get(at(space, "pods", "a"));
      const { uid } = body.metadata;
      const other = await evict("a", {
        deleteOptions: { preconditions: { uid: "9b7be5bb-9a90-4d55-a0e0-6a1c0bd0a8a0" } },
      });
      expect(refusal(other)).toEqual(refused(409, "Conflict"));
      const options = { gracePeriodSeconds: 0, preconditions: { uid } };
      expect((await evict("a", { deleteOptions: options })).code).toBe(201);
      expect((await stage().admin.get(at(space, "pods", "a"))).code).toBe(404);
    });

    it.each([
      ["another name", { metadata: { name: "other" } }, refused(400, "BadRequest")],
      ["no name", { metadata: {} }, refused(400, "BadRequest")],
    ])("disruption.eviction-refusals: is refused with %s", async (_, more, expected) => {
      await running("a");
      expect(refusal(await evict("a", more))).toEqual(expected);
      expect(refusal(await evict("nobody"))).toEqual(refused(404, "NotFound"));
    });
  });

  it("disruption.collection: budgets are listed everywhere and deleted together", async () => {
    await budget({ minAvailable: 1 }, "one");
    await budget({ minAvailable: 2 }, "two");
    const { body } = await stage().admin.get(inGroup("policy", "v1", "poddisruptionbudgets"));
    const here = (body.items as Body[]).filter(({ metadata }) => metadata.namespace === space);
    expect(here.map(({ metadata }) => metadata.name)).toEqual(["one", "two"]);
    await stage().admin.delete(budgets());
    expect((await stage().admin.get(budgets())).body.items).toEqual([]);
  });
}
