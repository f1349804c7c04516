import { describe, expect, it } from "vitest";
import { ManagedClusterAddOn, managedClusterAddOnCrd } from "#api/addon";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster } from "#api/cluster";
import type { Condition } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { type FakeCluster, fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { addonsController } from "./addons.controller.ts";

const clock = new ManualClock();
const PREFIX = "feature.open-cluster-management.io/addon-";
const at = "2025-12-31T00:00:00Z";
type Status = Condition["status"];
const condition = (type: string, status: Status, reason = "r"): Condition => ({
  type,
  status,
  reason,
  message: "m",
  lastTransitionTime: at,
});

const cluster = (available: Status | undefined, labels: Record<string, string> = {}) => ({
  metadata: { name: "c1", labels },
  status: {
    conditions: available
      ? [condition("ManagedClusterConditionAvailable", available, "ManagedClusterLeaseUpdateStopped")]
      : [],
  },
});
const addon = (name: string, available: Status | undefined) => ({
  metadata: { name, namespace: "c1" },
  spec: {},
  status: { conditions: available ? [condition("Available", available)] : [] },
});
const serve = (hub: FakeCluster) =>
  hub.put(CustomResourceDefinition, {
    ...managedClusterAddOnCrd,
    status: { conditions: [condition("Established", "True")] },
  } as CustomResourceDefinition);
const started = async (hub: FakeCluster, isServed = true) => {
  if (isServed) serve(hub);
  const running = startControllers([addonsController({ hub, clock })], { clock });
  await running.quiet();
  return running;
};
const labels = (hub: FakeCluster) => hub.read(ManagedCluster, "c1")?.metadata.labels ?? {};

describe("the labels of a cluster", () => {
  it.each<[Status | undefined, string]>([
    ["True", "available"],
    ["False", "unhealthy"],
    ["Unknown", "unreachable"],
    [undefined, "unreachable"],
  ])("say of an add-on whose condition is %s that it is %s", async (status, word) => {
    const hub = fakeCluster([ManagedCluster, cluster("True")], [ManagedClusterAddOn, addon("proxy", status)]);
    const running = await started(hub);
    expect(labels(hub)).toEqual({ [`${PREFIX}proxy`]: word });
    hub.writes.length = 0;
    await running.stop();
    const again = await started(hub);
    expect(hub.writes).toEqual([]);
    await again.stop();
  });

  it("go with the add-on, and those of others stay", async () => {
    const hub = fakeCluster(
      [ManagedCluster, cluster("True", { team: "a", [`${PREFIX}gone`]: "available" })],
      [ManagedClusterAddOn, addon("proxy", "True")],
    );
    const running = await started(hub);
    expect(labels(hub)).toEqual({ team: "a", [`${PREFIX}proxy`]: "available" });
    hub.drop(ManagedClusterAddOn, "c1/proxy");
    await running.quiet();
    expect(labels(hub)).toEqual({ team: "a" });
    await running.stop();
  });

  it("go at the start too, when no add-on is left", async () => {
    const hub = fakeCluster([ManagedCluster, cluster("True", { [`${PREFIX}gone`]: "available" })]);
    const running = await started(hub);
    expect(labels(hub)).toEqual({});
    await running.stop();
  });

  it("are not written before something is known of the cluster, nor while it goes, nor with a key that is too long", async () => {
    const hub = fakeCluster(
      [ManagedCluster, cluster(undefined)],
      [ManagedClusterAddOn, addon("proxy", "True"), addon("x".repeat(60), "True")],
    );
    const running = await started(hub);
    expect(labels(hub)).toEqual({});
    hub.put(ManagedCluster, {
      ...cluster("True"),
      metadata: { name: "c1", deletionTimestamp: at, finalizers: ["x"] },
    });
    await running.quiet();
    expect(labels(hub)).toEqual({});
    hub.put(ManagedCluster, { ...cluster("True"), metadata: { name: "c1" } });
    await running.quiet();
    expect(labels(hub)).toEqual({ [`${PREFIX}proxy`]: "available" });
    await running.stop();
  });
});

describe("a hub that does not know add-ons", () => {
  it("asks for none, leaves labels alone, and begins when it does", async () => {
    const hub = fakeCluster(
      [ManagedCluster, cluster("True", { [`${PREFIX}gone`]: "available" })],
      [ManagedClusterAddOn, addon("proxy", "True")],
    );
    const running = await started(hub, false);
    expect(labels(hub)).toEqual({ [`${PREFIX}gone`]: "available" });
    serve(hub);
    await running.quiet();
    expect(labels(hub)).toEqual({ [`${PREFIX}proxy`]: "available" });
    await running.stop();
  });
});

describe("the add-ons of a cluster", () => {
  it("are as unknown as the cluster, and say it in its words", async () => {
    const hub = fakeCluster([ManagedCluster, cluster("Unknown")], [ManagedClusterAddOn, addon("proxy", "True")]);
    const running = await started(hub);
    expect(hub.read(ManagedClusterAddOn, "c1/proxy")?.status?.conditions).toMatchObject([
      { type: "Available", status: "Unknown", reason: "ManagedClusterLeaseUpdateStopped", message: "m" },
    ]);
    expect(labels(hub)).toEqual({ [`${PREFIX}proxy`]: "unreachable" });
    await running.stop();
  });

  it.each<Status>(["True", "False"])("say themselves how they are while the cluster is %s", async (status) => {
    const hub = fakeCluster([ManagedCluster, cluster(status)], [ManagedClusterAddOn, addon("proxy", "True")]);
    const running = await started(hub);
    expect(hub.read(ManagedClusterAddOn, "c1/proxy")?.status?.conditions?.[0]?.status).toBe("True");
    await running.stop();
  });
});
