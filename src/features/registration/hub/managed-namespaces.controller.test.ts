import { describe, expect, it } from "vitest";
import { ManagedCluster, ManagedClusterSet } from "#api/cluster";
import { fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { managedNamespacesController, namespacesFor } from "./managed-namespaces.controller.ts";

const SET = "cluster.open-cluster-management.io/clusterset";
const available = {
  type: "NamespaceAvailable",
  status: "True",
  reason: "NamespaceApplied",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;

const set = (name: string, namespaces: string[], more: Partial<ManagedClusterSet> = {}): ManagedClusterSet => ({
  apiVersion: "cluster.open-cluster-management.io/v1beta2",
  kind: "ManagedClusterSet",
  metadata: { name },
  spec: {
    clusterSelector: { selectorType: "ExclusiveClusterSetLabel" },
    managedNamespaces: namespaces.map((each) => ({ name: each })),
  },
  ...more,
});
const everybody = (name: string, namespaces: string[]) => {
  const given = set(name, namespaces);
  return {
    ...given,
    spec: { ...given.spec, clusterSelector: { selectorType: "LabelSelector" as const, labelSelector: {} } },
  };
};
const cluster = (of: string, status: ManagedCluster["status"] = {}): ManagedCluster => ({
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  metadata: { name: "c1", labels: { [SET]: of } },
  status,
});

describe("the namespaces that a cluster's sets want on it", () => {
  it("come by set and name from all sets that hold the cluster", () => {
    const sets = [set("b", ["y", "x"]), everybody("a", ["z"]), set("other", ["w"])];
    expect(namespacesFor(cluster("b"), sets)).toEqual([
      { name: "z", clusterSet: "a" },
      { name: "x", clusterSet: "b" },
      { name: "y", clusterSet: "b" },
    ]);
  });

  it("keep what the agent says of them, other than upstream", () => {
    const known = { name: "x", clusterSet: "b", conditions: [available] };
    expect(namespacesFor(cluster("b", { managedNamespaces: [known] }), [set("b", ["x", "y"])])).toEqual([
      known,
      { name: "y", clusterSet: "b" },
    ]);
  });

  it("are none of a set that goes", () => {
    const going = set("b", ["x"], { metadata: { name: "b", deletionTimestamp: "2026-01-01T00:00:00Z" } });
    expect(namespacesFor(cluster("b"), [going])).toEqual([]);
  });

  it("stay as they are where nobody can say whether the cluster is in the set", () => {
    const known = { name: "x", clusterSet: "b" };
    const strange = set("b", ["y"]);
    const broken = {
      ...strange,
      spec: {
        ...strange.spec,
        clusterSelector: {
          selectorType: "LabelSelector" as const,
          labelSelector: { matchExpressions: [{ key: "a", operator: "Sometimes" as "In" }] },
        },
      },
    };
    expect(namespacesFor(cluster("b", { managedNamespaces: [known] }), [broken])).toEqual([known]);
  });

  it("follow sets and clusters as they change, and are written once", async () => {
    const hub = fakeCluster([ManagedCluster, cluster("b")], [ManagedClusterSet, set("b", ["x"])]);
    const running = startControllers([managedNamespacesController({ hub })]);
    await running.quiet();
    const told = () => hub.read(ManagedCluster, "c1")?.status?.managedNamespaces?.map(({ name }) => name);
    expect(told()).toEqual(["x"]);
    hub.put(ManagedClusterSet, set("b", ["x", "y"]));
    await running.quiet();
    expect(told()).toEqual(["x", "y"]);
    const current = hub.read(ManagedCluster, "c1");
    if (!current) throw new Error("no cluster");
    hub.put(ManagedCluster, { ...current, metadata: { ...current.metadata, labels: { [SET]: "other" } } });
    await running.quiet();
    expect(told()).toEqual([]);
    hub.drop(ManagedClusterSet, "b");
    hub.writes.length = 0;
    await running.quiet();
    expect(hub.writes).toEqual([]);
    await running.stop();
  });

  it("are not told to a cluster that goes, nor to one of which no set wants any", async () => {
    const going = { ...cluster("b"), metadata: { ...cluster("b").metadata, name: "going" } };
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    const hub = fakeCluster(
      [
        ManagedCluster,
        cluster("other"),
        { ...going, metadata: { ...going.metadata, deletionTimestamp, finalizers: ["x"] } },
      ],
      [ManagedClusterSet, set("b", ["x"])],
    );
    const running = startControllers([managedNamespacesController({ hub })]);
    await running.quiet();
    expect(hub.writes).toEqual([]);
    await running.stop();
  });
});
