import { describe, expect, it } from "vitest";
import { ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { ManualClock } from "#lib/clock";
import { type FakeCluster, fakeCluster, runUntilQuiet, startControllers } from "../../../../test/support/index.ts";
import { defaultSetLabelController } from "./default-set-label.controller.ts";
import { defaultSetsController } from "./default-sets.controller.ts";
import { setBindingController } from "./set-binding.controller.ts";
import { setStatusController } from "./set-status.controller.ts";

const clock = new ManualClock();
const SET = "cluster.open-cluster-management.io/clusterset";

const controllers = (hub: FakeCluster) => [
  defaultSetLabelController({ hub }),
  defaultSetsController({ hub }),
  setStatusController({ hub, clock }),
  setBindingController({ hub, clock }),
];
const run = (hub: FakeCluster) => runUntilQuiet(...controllers(hub));
const cluster = (name: string, labels: Record<string, string> = {}) => ({ metadata: { name, labels } });
const exclusive = (name: string) => ({
  metadata: { name },
  spec: { clusterSelector: { selectorType: "ExclusiveClusterSetLabel" as const } },
});
const selecting = (name: string, labelSelector?: ManagedClusterSet["spec"]["clusterSelector"]["labelSelector"]) => ({
  metadata: { name },
  spec: { clusterSelector: { selectorType: "LabelSelector" as const, ...(labelSelector && { labelSelector }) } },
});
const sizeOf = (hub: FakeCluster, name: string) => {
  const [condition] = hub.read(ManagedClusterSet, name)?.status?.conditions ?? [];
  return condition && `${condition.status} ${condition.reason}: ${condition.message}`;
};
const EMPTY = "True NoClusterMatched: No ManagedCluster selected";
const holding = (count: number) => `False ClustersSelected: ${count} ManagedClusters selected`;

describe("the default and the global set", () => {
  it("are made, and come back when they are deleted", async () => {
    const hub = fakeCluster([ManagedClusterSet]);
    const running = startControllers(controllers(hub));
    await running.quiet();
    expect(hub.read(ManagedClusterSet, "default")?.spec.clusterSelector).toEqual({
      selectorType: "ExclusiveClusterSetLabel",
    });
    expect(hub.read(ManagedClusterSet, "global")?.spec.clusterSelector).toEqual({
      selectorType: "LabelSelector",
      labelSelector: {},
    });
    hub.drop(ManagedClusterSet, "default");
    await running.quiet();
    expect(hub.read(ManagedClusterSet, "default")).toBeDefined();
    await running.stop();
  });

  it("get their selector back, and keep what else people wrote on them", async () => {
    const edited = selecting("default", { matchLabels: { a: "b" } });
    const mine = { ...edited, metadata: { name: "default", labels: { team: "a" } } };
    const hub = fakeCluster([ManagedClusterSet, mine]);
    await run(hub);
    expect(hub.read(ManagedClusterSet, "default")).toMatchObject({
      metadata: { labels: { team: "a" } },
      spec: { clusterSelector: { selectorType: "ExclusiveClusterSetLabel" } },
    });
  });

  it("are left alone when an administrator says so", async () => {
    const annotations = { "cluster.open-cluster-management.io/autoupdate": "false" };
    const hub = fakeCluster([
      ManagedClusterSet,
      { ...selecting("default"), metadata: { name: "default", annotations } },
    ]);
    await run(hub);
    expect(hub.read(ManagedClusterSet, "default")?.spec.clusterSelector.selectorType).toBe("LabelSelector");
  });
});

describe("a cluster", () => {
  it("falls into the default set if it is in none", async () => {
    const hub = fakeCluster([
      ManagedCluster,
      cluster("a"),
      cluster("b", { [SET]: "mine" }),
      cluster("c", { [SET]: "" }),
    ]);
    await run(hub);
    const sets = hub.readAll(ManagedCluster).map(({ metadata }) => metadata.labels?.[SET]);
    expect(sets).toEqual(["default", "mine", "default"]);
  });
});

describe("a set", () => {
  it("counts its clusters", async () => {
    const hub = fakeCluster(
      [ManagedClusterSet, exclusive("mine"), selecting("none"), selecting("some", { matchLabels: { x: "1" } })],
      [
        ManagedCluster,
        cluster("a", { x: "1" }),
        cluster("b", { [SET]: "mine" }),
        cluster("c", { [SET]: "mine", x: "1" }),
      ],
    );
    await run(hub);
    expect(["default", "global", "mine", "none", "some"].map((name) => sizeOf(hub, name))).toEqual([
      holding(1),
      holding(3),
      holding(2),
      EMPTY,
      holding(2),
    ]);
  });

  it.each<[string, ManagedClusterSet["spec"]["clusterSelector"]["labelSelector"], string]>([
    ["no selector, which selects none", undefined, EMPTY],
    ["an empty selector, which selects all", {}, holding(3)],
    ["In", { matchExpressions: [{ key: "x", operator: "In", values: ["1", "2"] }] }, holding(2)],
    [
      "NotIn, which those without the label match too",
      { matchExpressions: [{ key: "x", operator: "NotIn", values: ["1"] }] },
      holding(2),
    ],
    ["Exists", { matchExpressions: [{ key: "x", operator: "Exists" }] }, holding(2)],
    ["DoesNotExist", { matchExpressions: [{ key: "x", operator: "DoesNotExist" }] }, holding(1)],
    [
      "labels and expressions, of which all must match",
      { matchLabels: { x: "1" }, matchExpressions: [{ key: "y", operator: "Exists" }] },
      EMPTY,
    ],
  ])("with %s", async (_, selector, size) => {
    const hub = fakeCluster(
      [ManagedClusterSet, selecting("some", selector)],
      [ManagedCluster, cluster("a", { x: "1" }), cluster("b", { x: "2", y: "1" }), cluster("c")],
    );
    await run(hub);
    expect(sizeOf(hub, "some")).toBe(size);
  });

  it("follows a cluster that moves", async () => {
    const hub = fakeCluster(
      [ManagedClusterSet, exclusive("one"), exclusive("two"), selecting("x", { matchLabels: { x: "1" } })],
      [ManagedCluster, cluster("a", { [SET]: "one", x: "1" })],
    );
    const running = startControllers(controllers(hub));
    await running.quiet();
    hub.put(ManagedCluster, cluster("a", { [SET]: "two" }));
    await running.quiet();
    expect(["one", "two", "x"].map((name) => sizeOf(hub, name))).toEqual([EMPTY, holding(1), EMPTY]);
    await running.stop();
  });

  it("with a selector that makes no sense is left as it is and disturbs no other", async () => {
    const broken = selecting("broken", { matchExpressions: [{ key: "a", operator: "In" }] });
    const hub = fakeCluster(
      [ManagedClusterSet, broken, exclusive("mine")],
      [ManagedCluster, cluster("a", { [SET]: "mine" })],
    );
    await run(hub);
    expect(sizeOf(hub, "broken")).toBeUndefined();
    expect(sizeOf(hub, "mine")).toBe(holding(1));
  });
});

describe("a binding", () => {
  it("is bound while its set exists", async () => {
    const binding = { metadata: { name: "mine", namespace: "ns" }, spec: { clusterSet: "mine" } };
    const hub = fakeCluster([ManagedClusterSetBinding, binding]);
    const state = () => {
      const [condition] = hub.read(ManagedClusterSetBinding, "ns/mine")?.status?.conditions ?? [];
      return condition && `${condition.type} ${condition.status} ${condition.reason}`;
    };
    const running = startControllers(controllers(hub));
    await running.quiet();
    expect(state()).toBe("Bound False ClusterSetNotFound");
    hub.put(ManagedClusterSet, exclusive("mine"));
    await running.quiet();
    expect(state()).toBe("Bound True ClusterSetBound");
    hub.drop(ManagedClusterSet, "mine");
    await running.quiet();
    expect(state()).toBe("Bound False ClusterSetNotFound");
    await running.stop();
  });
});

it("all of this costs no write the second time", async () => {
  const hub = fakeCluster(
    [ManagedCluster, cluster("a"), cluster("b", { [SET]: "mine" })],
    [ManagedClusterSet, exclusive("mine")],
    [ManagedClusterSetBinding, { metadata: { name: "mine", namespace: "ns" }, spec: { clusterSet: "mine" } }],
  );
  await run(hub);
  hub.writes.length = 0;
  await run(hub);
  expect(hub.writes).toEqual([]);
});
