import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { PodDisruptionBudget } from "#api/policy";
import type { ServerController } from "../runner.ts";
import { type Bed, bed } from "../testing/bed.ts";
import { PODS } from "../workloads/pods.ts";
import type { Stored } from "../workloads/stored.ts";
import { disruptionBudgetController } from "./disruption-budget.controller.ts";

const BUDGETS = "policy/poddisruptionbudgets";
const SETS = "apps/replicasets";
const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "app" }] } };

async function start() {
  let controller: ServerController | undefined;
  const here = await bed((parts) => {
    controller = disruptionBudgetController(parts);
    return [controller];
  });
  return { ...here, lookAgain: () => controller?.reconcile("default/b") };
}

const namespaced = (apiVersion: string, kind: string, name: string, more: object) => ({
  apiVersion,
  kind,
  metadata: { namespace: "default", name },
  ...more,
});
const budget = (here: Bed, spec: object) =>
  here
    .create(
      BUDGETS,
      namespaced("policy/v1", "PodDisruptionBudget", "b", { spec: { selector: { matchLabels: labels }, ...spec } }),
    )
    .then(() => here.settle());
const statusIn = (here: Bed) => (here.get(BUDGETS, "default/b") as Stored<PodDisruptionBudget> | undefined)?.status;

async function pod(here: Bed, name: string, owner?: DynamicObject, controller = true): Promise<void> {
  const { apiVersion = "", kind = "", metadata } = owner ?? {};
  const references = owner && [{ apiVersion, kind, name: metadata?.name ?? "", uid: metadata?.uid ?? "", controller }];
  await here.create(PODS, {
    ...namespaced("v1", "Pod", name, { spec: template.spec }),
    metadata: { namespace: "default", name, labels, ...(references && { ownerReferences: references }) },
  });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  await here.change(
    PODS,
    `default/${name}`,
    (draft) => ({ ...draft, status: { ...(draft.status as object), ...status } }),
    "status",
  );
  await here.settle();
}

describe("a disruption budget", () => {
  it("counts its Pods, and nothing is written the second time", async () => {
    const here = await start();
    await budget(here, { minAvailable: 1 });
    await pod(here, "a");
    await pod(here, "b");
    expect(statusIn(here)).toMatchObject({ currentHealthy: 2, expectedPods: 2, disruptionsAllowed: 1 });
    const { revision } = here.store;
    await here.lookAgain();
    expect(here.store.revision).toBe(revision);
  });

  it("counts the wish of each owner once, and of a Deployment in the place of its ReplicaSets", async () => {
    const here = await start();
    const spec = (replicas: number) => ({ spec: { replicas, selector: { matchLabels: labels }, template } });
    const deployment = await here.create("apps/deployments", namespaced("apps/v1", "Deployment", "web", spec(4)));
    const { uid = "" } = deployment.metadata;
    const reference = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid, controller: true };
    const set = namespaced("apps/v1", "ReplicaSet", "web-1", spec(1));
    const owned = await here.create(SETS, { ...set, metadata: { ...set.metadata, ownerReferences: [reference] } });
    const free = await here.create(SETS, namespaced("apps/v1", "ReplicaSet", "free", spec(3)));
    await pod(here, "a", owned);
    await pod(here, "b", owned);
    await pod(here, "c", free);
    await budget(here, { minAvailable: "50%" });
    expect(statusIn(here)).toMatchObject({ expectedPods: 7, desiredHealthy: 4, currentHealthy: 3 });
  });

  it.each([
    [
      "has no size",
      "batch/jobs",
      namespaced("batch/v1", "Job", "x", {
        spec: { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } },
      }),
      "jobs.batch does not implement the scale subresource",
    ],
    ["is gone", undefined, namespaced("apps/v1", "ReplicaSet", "x", {}), 'found no controllers for pod "a"'],
    [
      "nobody knows",
      undefined,
      namespaced("example.com/v1", "Thing", "x", {}),
      'no matches for kind "Thing" in version "example.com/v1"',
    ],
  ])("allows nothing when the owner of a Pod %s", async (_, storage, object, message) => {
    const here = await start();
    const owner = storage
      ? await here.create(storage, object)
      : { ...object, metadata: { ...object.metadata, uid: "u-gone" } };
    await pod(here, "a", owner);
    await budget(here, { maxUnavailable: 1 });
    expect(statusIn(here)).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ type: "DisruptionAllowed", status: "False", reason: "SyncFailed", message }],
    });
    expect(here.list("core/events")).toMatchObject([{ reason: "CalculateExpectedPodCountFailed" }]);
  });

  it("forgets a grant that was not made use of", async () => {
    const here = await start();
    await budget(here, { minAvailable: 0 });
    await pod(here, "a");
    const grant = { a: "2026-01-01T00:00:00Z" };
    await here.change(
      BUDGETS,
      "default/b",
      (draft) => ({ ...draft, status: { ...(draft.status as object), disruptedPods: grant } }),
      "status",
    );
    await here.settle();
    expect(statusIn(here)).toMatchObject({ currentHealthy: 0, disruptedPods: grant });
    await here.pass(121_000);
    expect(statusIn(here)).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 1 });
    expect(statusIn(here)).not.toHaveProperty("disruptedPods");
  });

  it("tells people of Pods that nobody owns, where it had to know how many there should be", async () => {
    const here = await start();
    await pod(here, "a");
    await budget(here, { minAvailable: "50%" });
    expect(statusIn(here)).toMatchObject({ expectedPods: 0, disruptionsAllowed: 0 });
    expect(here.list("core/events")).toMatchObject([{ reason: "UnmanagedPods", type: "Warning" }]);
  });
});
