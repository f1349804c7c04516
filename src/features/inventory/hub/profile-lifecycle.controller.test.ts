import { describe, expect, it } from "vitest";
import { ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { Namespace } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { type FakeCluster, fakeCluster, runUntilQuiet, startControllers } from "../../../../test/support/index.ts";
import { profileLifecycleController } from "./profile-lifecycle.controller.ts";

const SET = "cluster.open-cluster-management.io/clusterset";
type Selector = ManagedClusterSet["spec"]["clusterSelector"];

const cluster = (name: string, set: string, more: Partial<ManagedCluster["metadata"]> = {}) => ({
  metadata: { name, labels: { [SET]: set }, ...more },
});
const set = (name: string, clusterSelector: Selector = { selectorType: "ExclusiveClusterSetLabel" }) => ({
  metadata: { name },
  spec: { clusterSelector },
});
const all: Selector = { selectorType: "LabelSelector", labelSelector: {} };
const namespace = (name: string, more: Partial<Namespace["metadata"]> = {}) => ({ metadata: { name, ...more } });
const binding = (namespace: string, clusterSet: string, status: "True" | "False" = "True") => ({
  metadata: { name: clusterSet, namespace },
  spec: { clusterSet },
  status: { conditions: [{ type: "Bound", status, reason: "r", message: "", lastTransitionTime: "" }] },
});
const profile = (namespace: string, name: string, manager = "open-cluster-management") => ({
  metadata: { name, namespace, labels: { "x-k8s.io/cluster-manager": manager } },
  spec: { clusterManager: { name: manager } },
});

const run = (hub: FakeCluster) => runUntilQuiet(profileLifecycleController({ hub }));
const profiles = (hub: FakeCluster) =>
  hub
    .readAll(ClusterProfile)
    .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
    .sort();

describe("profiles", () => {
  it("are made for the clusters of a bound set", async () => {
    const hub = fakeCluster(
      [Namespace, namespace("ns")],
      [ManagedClusterSet, set("one"), set("two")],
      [ManagedClusterSetBinding, binding("ns", "one")],
      [ManagedCluster, cluster("a", "one"), cluster("b", "two")],
    );
    await run(hub);
    expect(hub.readAll(ClusterProfile)).toMatchObject([
      {
        metadata: {
          name: "a",
          namespace: "ns",
          labels: {
            "x-k8s.io/cluster-manager": "open-cluster-management",
            "open-cluster-management.io/cluster-name": "a",
          },
        },
        spec: { displayName: "a", clusterManager: { name: "open-cluster-management" } },
      },
    ]);
    hub.writes.length = 0;
    await run(hub);
    expect(hub.writes).toEqual([]);
  });

  it("are one per namespace, however many sets hold the cluster", async () => {
    const hub = fakeCluster(
      [Namespace, namespace("n1"), namespace("n2")],
      [ManagedClusterSet, set("one"), set("global", all)],
      [ManagedClusterSetBinding, binding("n1", "one"), binding("n1", "global"), binding("n2", "global")],
      [ManagedCluster, cluster("a", "one"), cluster("b", "two")],
    );
    await run(hub);
    expect(profiles(hub)).toEqual(["n1/a", "n1/b", "n2/a", "n2/b"]);
  });

  it("are made by expressions too", async () => {
    const selector: Selector = {
      selectorType: "LabelSelector",
      labelSelector: { matchExpressions: [{ key: SET, operator: "NotIn", values: ["two"] }] },
    };
    const hub = fakeCluster(
      [Namespace, namespace("ns")],
      [ManagedClusterSet, set("some", selector)],
      [ManagedClusterSetBinding, binding("ns", "some")],
      [ManagedCluster, cluster("a", "one"), cluster("b", "two")],
    );
    await run(hub);
    expect(profiles(hub)).toEqual(["ns/a"]);
  });

  it.each([
    ["the binding is not bound", [binding("ns", "one", "False")], [namespace("ns")], cluster("a", "one")],
    [
      "the namespace is going",
      [binding("ns", "one")],
      [namespace("ns", { finalizers: ["kubernetes"], deletionTimestamp: "2026-01-01T00:00:00Z" })],
      cluster("a", "one"),
    ],
    ["the namespace is gone", [binding("ns", "one")], [], cluster("a", "one")],
    [
      "the cluster is going",
      [binding("ns", "one")],
      [namespace("ns")],
      cluster("a", "one", { finalizers: ["example.com/x"], deletionTimestamp: "2026-01-01T00:00:00Z" }),
    ],
    ["the set selects nothing", [binding("ns", "none")], [namespace("ns")], cluster("a", "one")],
  ])("are not made when %s", async (_, bindings, namespaces, member) => {
    const hub = fakeCluster(
      [Namespace, ...namespaces],
      [ManagedClusterSet, set("one"), set("none", { selectorType: "LabelSelector" })],
      [ManagedClusterSetBinding, ...bindings],
      [ManagedCluster, member],
    );
    await run(hub);
    expect(profiles(hub)).toEqual([]);
  });

  it("follow clusters, bindings and sets", async () => {
    const hub = fakeCluster(
      [Namespace, namespace("ns")],
      [ManagedClusterSet, set("one")],
      [ManagedClusterSetBinding, binding("ns", "one")],
      [ManagedCluster, cluster("a", "one"), cluster("b", "two")],
    );
    const running = startControllers([profileLifecycleController({ hub })]);
    await running.quiet();
    expect(profiles(hub)).toEqual(["ns/a"]);

    // They change places: the count of the set stays the same, so only the clusters tell.
    hub.put(ManagedCluster, cluster("a", "two"));
    hub.put(ManagedCluster, cluster("b", "one"));
    await running.quiet();
    expect(profiles(hub)).toEqual(["ns/b"]);

    hub.drop(ManagedCluster, "b");
    await running.quiet();
    expect(profiles(hub)).toEqual([]);

    hub.put(ManagedCluster, cluster("c", "one"));
    await running.quiet();
    hub.drop(ManagedClusterSetBinding, "ns/one");
    await running.quiet();
    expect(profiles(hub)).toEqual([]);
    await running.stop();
  });

  it("come back when somebody deletes them", async () => {
    const hub = fakeCluster(
      [Namespace, namespace("ns")],
      [ManagedClusterSet, set("one")],
      [ManagedClusterSetBinding, binding("ns", "one")],
      [ManagedCluster, cluster("a", "one")],
    );
    const running = startControllers([profileLifecycleController({ hub })]);
    await running.quiet();
    hub.drop(ClusterProfile, "ns/a");
    await running.quiet();
    expect(profiles(hub)).toEqual(["ns/a"]);
    await running.stop();
  });

  it("of other managers stay, even where one of ours would have the same name", async () => {
    const hub = fakeCluster(
      [Namespace, namespace("ns")],
      [ManagedClusterSet, set("one")],
      [ManagedClusterSetBinding, binding("ns", "one")],
      [ManagedCluster, cluster("a", "one")],
      [ClusterProfile, profile("ns", "a", "other"), profile("ns", "z", "other"), profile("ns", "old")],
    );
    await run(hub);
    expect(profiles(hub)).toEqual(["ns/a", "ns/z"]);
    expect(hub.read(ClusterProfile, "ns/a")?.spec.clusterManager.name).toBe("other");
  });

  it("stay as they are while a set's selector makes no sense, because nobody knows whom it means", async () => {
    const broken: Selector = {
      selectorType: "LabelSelector",
      labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] },
    };
    const hub = fakeCluster(
      [Namespace, namespace("ns"), namespace("other")],
      [ManagedClusterSet, set("broken", broken), set("one")],
      [ManagedClusterSetBinding, binding("ns", "broken"), binding("other", "one")],
      [ManagedCluster, cluster("a", "one")],
      [ClusterProfile, profile("ns", "a")],
    );
    await run(hub);
    expect(profiles(hub)).toEqual(["ns/a", "other/a"]);
  });
});
