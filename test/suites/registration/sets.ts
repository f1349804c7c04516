/** Sets count their clusters, and two of them are always there. */
import { expect, it } from "vitest";
import { ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { findCondition } from "#lib/conditions";
import { eventually } from "../../support/eventually.ts";
import type { HubStage } from "./stage.ts";

const SET = "cluster.open-cluster-management.io/clusterset";

export function setCases(at: () => HubStage): void {
  const empty = async (name: string) =>
    findCondition((await at().client.get(ManagedClusterSet, name)).status?.conditions, "ClusterSetEmpty");
  const untilHolding = (name: string, count: number) =>
    eventually(async () =>
      expect(await empty(name)).toMatchObject(
        count === 0
          ? { status: "True", reason: "NoClusterMatched", message: "No ManagedCluster selected" }
          : { status: "False", reason: "ClustersSelected", message: `${count} ManagedClusters selected` },
      ),
    );
  const cluster = (name: string, labels: Record<string, string>) =>
    at().client.create(ManagedCluster, { metadata: { name, labels } });
  const all = async () => (await at().client.list(ManagedCluster)).items.length;

  it("an empty set says so", async () => {
    await at().client.create(ManagedClusterSet, {
      metadata: { name: "exclusive" },
      spec: { clusterSelector: { selectorType: "ExclusiveClusterSetLabel" } },
    });
    await untilHolding("exclusive", 0);
  });

  it("a set with the exclusive label counts those that carry it, as they come, move and go", async () => {
    await cluster("set-a", { [SET]: "exclusive", zone: "1" });
    await untilHolding("exclusive", 1);
    await cluster("set-b", { [SET]: "exclusive", zone: "2" });
    await untilHolding("exclusive", 2);
    await at().client.patch(ManagedCluster, "set-b", { metadata: { labels: { [SET]: "default" } } });
    await untilHolding("exclusive", 1);
  });

  it("a set with a selector counts those that it selects, by labels and by expressions", async () => {
    const selecting = (name: string, labelSelector: object) =>
      at().client.create(ManagedClusterSet, {
        metadata: { name },
        spec: { clusterSelector: { selectorType: "LabelSelector", labelSelector } },
      });
    await selecting("by-label", { matchLabels: { zone: "1" } });
    await selecting("by-expression", { matchExpressions: [{ key: "zone", operator: "In", values: ["1", "2"] }] });
    await selecting("everybody", {});
    await at().client.create(ManagedClusterSet, {
      metadata: { name: "nobody" },
      spec: { clusterSelector: { selectorType: "LabelSelector" } },
    });
    await untilHolding("by-label", 1);
    await untilHolding("by-expression", 2);
    await untilHolding("everybody", await all());
    await untilHolding("nobody", 0);
    await at().client.patch(ManagedCluster, "set-b", { metadata: { labels: { zone: "1" } } });
    await untilHolding("by-label", 2);
  });

  it("the global set holds all", async () => {
    await untilHolding("global", await all());
  });

  it.each(["default", "global"])("the set %s comes back when it is deleted", async (name) => {
    const uid = async () => (await at().client.get(ManagedClusterSet, name)).metadata.uid;
    const before = await uid();
    await at().client.delete(ManagedClusterSet, name);
    await eventually(async () => expect(await uid()).not.toBe(before));
  });

  it("the selector of the global set is put back, and labels that people gave it stay", async () => {
    await at().client.patch(ManagedClusterSet, "global", {
      metadata: { labels: { team: "a" } },
      spec: { clusterSelector: { labelSelector: { matchLabels: { no: "body" } } } },
    });
    await eventually(async () => {
      const { metadata, spec } = await at().client.get(ManagedClusterSet, "global");
      expect(spec.clusterSelector).toEqual({ selectorType: "LabelSelector", labelSelector: {} });
      expect(metadata.labels).toMatchObject({ team: "a" });
    });
  });

  it("a selector that people took into their own hands is left alone", async () => {
    const annotations = { "cluster.open-cluster-management.io/autoupdate": "false" };
    const labelSelector = { matchLabels: { zone: "1" } };
    await at().client.patch(ManagedClusterSet, "global", {
      metadata: { annotations },
      spec: { clusterSelector: { labelSelector } },
    });
    // That it was counted anew shows that the hub has seen it.
    await untilHolding("global", 2);
    expect((await at().client.get(ManagedClusterSet, "global")).spec.clusterSelector.labelSelector).toEqual(
      labelSelector,
    );
    await at().client.patch(ManagedClusterSet, "global", {
      metadata: { annotations: { "cluster.open-cluster-management.io/autoupdate": null } },
    });
    await untilHolding("global", await all());
  });

  it("a binding says whether its set is there", async () => {
    await at().namespace("bound");
    await at().client.create(ManagedClusterSetBinding, {
      metadata: { name: "later", namespace: "bound" },
      spec: { clusterSet: "later" },
    });
    const bound = async () =>
      findCondition((await at().client.get(ManagedClusterSetBinding, "bound/later")).status?.conditions, "Bound");
    await eventually(async () =>
      expect(await bound()).toMatchObject({ status: "False", reason: "ClusterSetNotFound" }),
    );
    await at().client.create(ManagedClusterSet, {
      metadata: { name: "later" },
      spec: { clusterSelector: { selectorType: "ExclusiveClusterSetLabel" } },
    });
    await eventually(async () => expect(await bound()).toMatchObject({ status: "True", reason: "ClusterSetBound" }));
    await at().client.delete(ManagedClusterSet, "later");
    await eventually(async () => expect((await bound())?.status).toBe("False"));
  });
}
