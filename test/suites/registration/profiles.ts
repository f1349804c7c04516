/** The inventory: one profile for every cluster of every set that a namespace is bound to. */
import { describe, expect, it } from "vitest";
import { ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { ClusterProfile } from "#api/inventory";
import type { LabelSelector } from "#api/meta";
import { isInvalid } from "#kube";
import { findCondition } from "#lib/conditions";
import { eventually } from "../../support/eventually.ts";
import type { HubStage } from "./stage.ts";

const SET = "cluster.open-cluster-management.io/clusterset";
const SET_ON_PROFILE = "multicluster.x-k8s.io/clusterset";

export function profileCases(at: () => HubStage): void {
  const profilesIn = async (namespace: string) =>
    (await at().client.list(ClusterProfile, { namespace })).items.map(({ metadata }) => metadata.name).sort();
  const untilShown = (namespace: string, ...names: string[]) =>
    eventually(async () => expect(await profilesIn(namespace)).toEqual(names));
  const bind = (namespace: string, clusterSet: string) =>
    at().client.create(ManagedClusterSetBinding, { metadata: { name: clusterSet, namespace }, spec: { clusterSet } });
  const exclusive = (name: string) =>
    at().client.create(ManagedClusterSet, {
      metadata: { name },
      spec: { clusterSelector: { selectorType: "ExclusiveClusterSetLabel" } },
    });
  const selecting = (name: string, labelSelector: LabelSelector) =>
    at().client.create(ManagedClusterSet, {
      metadata: { name },
      spec: { clusterSelector: { selectorType: "LabelSelector", labelSelector } },
    });
  const cluster = (name: string, labels: Record<string, string>, finalizers: string[] = []) =>
    at().client.create(ManagedCluster, { metadata: { name, labels, finalizers } });
  const profile = (key: string) => at().client.get(ClusterProfile, key);

  it("a binding creates them", async () => {
    await exclusive("fleet-a");
    await cluster("p1", { [SET]: "fleet-a", tier: "gold" });
    await at().namespace("inventory-a");
    await bind("inventory-a", "fleet-a");
    await untilShown("inventory-a", "p1");
    const { metadata, spec } = await profile("inventory-a/p1");
    expect(metadata.labels).toMatchObject({
      "x-k8s.io/cluster-manager": "open-cluster-management",
      "open-cluster-management.io/cluster-name": "p1",
    });
    expect(metadata.ownerReferences ?? []).toEqual([]);
    expect(metadata.finalizers ?? []).toEqual([]);
    expect(spec).toEqual({ displayName: "p1", clusterManager: { name: "open-cluster-management" } });
  });

  it("several namespaces have one each", async () => {
    await at().namespace("inventory-b");
    await bind("inventory-b", "fleet-a");
    await untilShown("inventory-b", "p1");
    expect(await profilesIn("inventory-a")).toEqual(["p1"]);
  });

  it("they come and go with clusters of the set", async () => {
    await cluster("p2", { [SET]: "fleet-a", tier: "silver" });
    await untilShown("inventory-a", "p1", "p2");
    await untilShown("inventory-b", "p1", "p2");
    await cluster("p3", { [SET]: "fleet-a" });
    await untilShown("inventory-a", "p1", "p2", "p3");
    await at().client.delete(ManagedCluster, "p3");
    await untilShown("inventory-a", "p1", "p2");
  });

  it("they go with the binding, in that namespace only", async () => {
    await at().client.delete(ManagedClusterSetBinding, "inventory-b/fleet-a");
    await untilShown("inventory-b");
    expect(await profilesIn("inventory-a")).toEqual(["p1", "p2"]);
  });

  it("a cluster of two sets has one profile, as long as one of them is bound", async () => {
    await selecting("gold", { matchLabels: { tier: "gold" } });
    await bind("inventory-a", "gold");
    await bind("inventory-b", "gold");
    await untilShown("inventory-b", "p1");
    const { uid } = (await profile("inventory-a/p1")).metadata;
    await at().client.delete(ManagedClusterSetBinding, "inventory-a/fleet-a");
    await untilShown("inventory-a", "p1");
    expect((await profile("inventory-a/p1")).metadata.uid).toBe(uid);
    await bind("inventory-a", "fleet-a");
    await untilShown("inventory-a", "p1", "p2");
  });

  it("selectors may overlap", async () => {
    await selecting("metals", { matchExpressions: [{ key: "tier", operator: "In", values: ["gold", "silver"] }] });
    await selecting("not-gold", { matchExpressions: [{ key: "tier", operator: "In", values: ["silver", "bronze"] }] });
    await at().namespace("inventory-c");
    await bind("inventory-c", "metals");
    await bind("inventory-c", "not-gold");
    await untilShown("inventory-c", "p1", "p2");
    await at().client.delete(ManagedClusterSetBinding, "inventory-c/metals");
    await untilShown("inventory-c", "p2");
  });

  it("a set that selects by expressions shows those that match, also when labels change", async () => {
    await at().namespace("inventory-d");
    await bind("inventory-d", "metals");
    await untilShown("inventory-d", "p1", "p2");
    await at().client.patch(ManagedCluster, "p2", { metadata: { labels: { tier: "wood" } } });
    await untilShown("inventory-d", "p1");
    await at().client.patch(ManagedCluster, "p2", { metadata: { labels: { tier: "silver" } } });
    await untilShown("inventory-d", "p1", "p2");
  });

  it("the global set shows all clusters", async () => {
    await at().namespace("inventory-all");
    await bind("inventory-all", "global");
    await eventually(async () => {
      const all = (await at().client.list(ManagedCluster)).items.filter(({ metadata }) => !metadata.deletionTimestamp);
      expect(await profilesIn("inventory-all")).toEqual(all.map(({ metadata }) => metadata.name).sort());
    });
  });

  it("they say what the cluster says: version, claims, health and that it joined", async () => {
    const clusterClaims = [
      { name: "id.k8s.io", value: "1" },
      { name: "example.com/zone", value: "z" },
    ];
    await at().report(
      "p1",
      { ManagedClusterConditionAvailable: "True", ManagedClusterJoined: "True" },
      { version: { kubernetes: "v1.36.0" }, clusterClaims },
    );
    await eventually(async () => {
      const { status } = await profile("inventory-a/p1");
      expect(status?.version).toEqual({ kubernetes: "v1.36.0" });
      expect(status?.properties?.map(({ name, value }) => ({ name, value }))).toEqual(clusterClaims);
      for (const type of ["ControlPlaneHealthy", "Joined"]) {
        expect(findCondition(status?.conditions, type), type).toMatchObject({ status: "True", reason: "Test" });
      }
    });
    await at().report("p1", { ManagedClusterConditionAvailable: "Unknown" });
    await eventually(async () => {
      const { status } = await profile("inventory-d/p1");
      expect(findCondition(status?.conditions, "ControlPlaneHealthy")?.status).toBe("Unknown");
    });
  });

  it("the set of the cluster is repeated on them as a label", async () => {
    await eventually(async () =>
      expect((await profile("inventory-d/p1")).metadata.labels).toHaveProperty([SET_ON_PROFILE], "fleet-a"),
    );
    await exclusive("fleet-z");
    await at().client.patch(ManagedCluster, "p1", { metadata: { labels: { [SET]: "fleet-z" } } });
    await eventually(async () =>
      expect((await profile("inventory-d/p1")).metadata.labels).toHaveProperty([SET_ON_PROFILE], "fleet-z"),
    );
    await at().client.patch(ManagedCluster, "p1", { metadata: { labels: { [SET]: "fleet-a" } } });
    await untilShown("inventory-a", "p1", "p2");
  });

  it("a cluster that goes has none, although something holds it back", async () => {
    await cluster("p4", { [SET]: "fleet-a" }, ["example.com/held"]);
    await untilShown("inventory-a", "p1", "p2", "p4");
    await at().client.delete(ManagedCluster, "p4");
    await untilShown("inventory-a", "p1", "p2");
    expect(await at().isThere(ManagedCluster, "p4")).toBe(true);
    await at().client.patch(ManagedCluster, "p4", { metadata: { finalizers: null } });
    await at().untilGone(ManagedCluster, "p4");
  });

  it("a binding to a set that there is not yet shows none", async () => {
    await at().namespace("inventory-e");
    await bind("inventory-e", "fleet-later");
    await eventually(async () => {
      const { status } = await at().client.get(ManagedClusterSetBinding, "inventory-e/fleet-later");
      expect(findCondition(status?.conditions, "Bound")?.status).toBe("False");
    });
    await cluster("p5", { [SET]: "fleet-later" });
    await untilShown("inventory-all", ...(await expectedInAll()));
    expect(await profilesIn("inventory-e")).toEqual([]);
    await exclusive("fleet-later");
    await untilShown("inventory-e", "p5");
  });

  const expectedInAll = async () =>
    (await at().client.list(ManagedCluster)).items
      .filter(({ metadata }) => !metadata.deletionTimestamp)
      .map(({ metadata }) => metadata.name)
      .sort();

  it("those of other managers are left alone", async () => {
    await at().client.create(ClusterProfile, {
      metadata: { name: "theirs", namespace: "inventory-a", labels: { "x-k8s.io/cluster-manager": "other" } },
      spec: { clusterManager: { name: "other" } },
    });
    await cluster("p6", { [SET]: "fleet-a" });
    await untilShown("inventory-a", "p1", "p2", "p6", "theirs");
    await at().client.delete(ManagedCluster, "p6");
    await untilShown("inventory-a", "p1", "p2", "theirs");
    expect((await profile("inventory-a/theirs")).status ?? {}).toEqual({});
  });

  describe("every writer owns its part", () => {
    const key = "inventory-a/p1";
    const apply = (fieldManager: string, status: ClusterProfile["status"]) => {
      const [namespace = "", name = ""] = key.split("/");
      const object = {
        apiVersion: "multicluster.x-k8s.io/v1alpha1",
        kind: "ClusterProfile",
        metadata: { name, namespace },
      };
      const options = { type: "apply", subresource: "status", fieldManager } as const;
      return at().client.patch(ClusterProfile, key, { ...object, status }, options);
    };

    it("and what others say of a cluster survives what the cluster says", async () => {
      await apply("proxy", { accessProviders: [{ name: "proxy", cluster: { server: "https://proxy/p1" } }] });
      await apply("cost", { properties: [{ name: "cost.example.com/hour", value: "3" }] });
      await at().report(
        "p1",
        { ManagedClusterConditionAvailable: "True" },
        { clusterClaims: [{ name: "id.k8s.io", value: "2" }] },
      );
      await eventually(async () => {
        const { status } = await profile(key);
        expect(status?.properties?.map(({ name, value }) => `${name}=${value}`).sort()).toEqual([
          "cost.example.com/hour=3",
          "id.k8s.io=2",
        ]);
        expect(findCondition(status?.conditions, "ControlPlaneHealthy")?.status).toBe("True");
        expect(status?.accessProviders?.map(({ name }) => name)).toEqual(["proxy"]);
      });
      const { managedFields = [] } = (await profile(key)).metadata;
      const appliers = managedFields.filter(({ operation }) => operation === "Apply").map(({ manager }) => manager);
      expect(appliers.sort()).toEqual(["capstan-cluster-health", "capstan-cluster-properties", "cost", "proxy"]);
    });

    it("and nobody can say what a profile cannot hold", async () => {
      const said = (reason: string) => ({
        type: "X",
        status: "True" as const,
        reason,
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      });
      const wrong: [string, object][] = [
        ["an empty value", { properties: [{ name: "a", value: "" }] }],
        ["a value that is too long", { properties: [{ name: "a", value: "x".repeat(1025) }] }],
        ["a name that is too long", { properties: [{ name: "x".repeat(254), value: "1" }] }],
        [
          "a name twice",
          {
            properties: [
              { name: "a", value: "1" },
              { name: "a", value: "2" },
            ],
          },
        ],
        ["a provider twice", { accessProviders: [{ name: "a" }, { name: "a" }] }],
        ["a condition without a reason", { conditions: [said("")] }],
        ["a reason that is no word", { conditions: [said("not a word")] }],
      ];
      for (const [what, status] of wrong) {
        const refused = at().client.patch(ClusterProfile, key, { status }, { subresource: "status" });
        await expect(refused, what).rejects.toSatisfy(isInvalid);
      }
      const another = at().client.patch(ClusterProfile, key, { spec: { clusterManager: { name: "other" } } });
      await expect(another).rejects.toThrow("ClusterManager is immutable");
    });

    it("and nulls are as good as nothing, because programs in Go write them", async () => {
      const zero = { name: "go", value: "1", lastObservedTime: null };
      const theirs = (await profile("inventory-a/theirs")).metadata;
      await at().client.update(
        ClusterProfile,
        {
          apiVersion: "multicluster.x-k8s.io/v1alpha1",
          kind: "ClusterProfile",
          metadata: theirs,
          spec: { clusterManager: { name: "other" } },
          status: { conditions: null, properties: [zero] } as never,
        },
        { subresource: "status" },
      );
      expect((await profile("inventory-a/theirs")).status).toEqual({ properties: [{ name: "go", value: "1" }] });
    });
  });
}
