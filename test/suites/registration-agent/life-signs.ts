/** What an agent tells of its cluster, and what it makes there because the hub wishes it. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClusterProperty } from "#api/about";
import { ClusterClaim, ManagedCluster, ManagedClusterSet } from "#api/cluster";
import { Namespace, Node } from "#api/core";
import { Event } from "#api/events";
import { kind } from "#api/meta";
import { connectionOf, createClient } from "#kube";
import { systemClock } from "#lib/clock";
import { connectedCluster } from "#runtime";
import { eventually } from "../../support/eventually.ts";
import { Relay } from "../../support/relay.ts";
import type { FaultStage, RunningAgent } from "../registration-faults/stage.ts";

/** As the authors of the API have it. */
const NewestProperty = kind<ClusterProperty>({ ...ClusterProperty, version: "v1beta1" });

export function lifeSignCases(stageOf: () => FaultStage): void {
  const name = "lively";
  let agent: RunningAgent;
  beforeAll(async () => {
    const stage = stageOf();
    const claims = { most: 3, reservedSuffixes: ["reserved.example"] };
    agent = await stage.start(name, { clusterName: name, claims });
    await stage.admit(name);
    await stage.untilWorking(name);
  });
  afterAll(() => agent?.stop());

  const claimed = async () =>
    Object.fromEntries(
      ((await stageOf().cluster(name)).status?.clusterClaims ?? []).map((claim) => [claim.name, claim.value]),
    );
  const claim = (claimName: string, value: string, labels = {}) =>
    stageOf().spoke.client.create(ClusterClaim, { metadata: { name: claimName, labels }, spec: { value } });

  describe("claims", () => {
    it("all claims of the cluster are told, but those that are for the cluster only", async () => {
      await claim("id.k8s.io", "the-id");
      await claim("b.example", "claimed");
      await claim("hidden.example", "x", { "open-cluster-management.io/spoke-only": "" });
      await eventually(async () => expect(await claimed()).toEqual({ "id.k8s.io": "the-id", "b.example": "claimed" }));
    });

    it("properties are told too, as they come, change and go, and count more than claims of the same name", async () => {
      const { client } = stageOf().spoke;
      await client.create(NewestProperty, { metadata: { name: "b.example" }, spec: { value: "property" } });
      await eventually(async () => expect((await claimed())["b.example"]).toBe("property"));
      await client.patch(NewestProperty, "b.example", { spec: { value: "changed" } });
      await eventually(async () => expect((await claimed())["b.example"]).toBe("changed"));
      await client.delete(NewestProperty, "b.example");
      await eventually(async () => expect((await claimed())["b.example"]).toBe("claimed"));
    });

    it("a property that is longer than a hub takes is left out, and the rest is told", async () => {
      const { client } = stageOf().spoke;
      await client.create(NewestProperty, { metadata: { name: "long.example" }, spec: { value: "x".repeat(1025) } });
      await client.create(NewestProperty, { metadata: { name: "c.example" }, spec: { value: "short" } });
      await eventually(async () =>
        expect(await claimed()).toEqual({ "id.k8s.io": "the-id", "b.example": "claimed", "c.example": "short" }),
      );
    });

    it("more than the hub wants are cut, which an event tells; reserved names are never cut", async () => {
      for (const each of ["d.example", "e.example", "a.reserved.example"]) await claim(each, "x");
      const kept = ["id.k8s.io", "a.reserved.example", "b.example", "c.example", "d.example"];
      await eventually(async () => expect(Object.keys(await claimed()).sort()).toEqual(kept.sort()));
      await eventually(async () => {
        const { items } = await stageOf().hub.client.list(Event, { namespace: name });
        const [told] = items.filter(({ reason }) => reason === "CustomClusterClaimsTruncated");
        expect(told).toMatchObject({ type: "Warning", note: expect.stringContaining("e.example") });
      });
    });
  });

  it("the nodes of the cluster are added up, and those that take no Pods count for nothing that can be used", async () => {
    const { client } = stageOf().spoke;
    const node = async (nodeName: string, cpu: string, unschedulable: boolean) => {
      await client.create(Node, { metadata: { name: nodeName }, spec: { unschedulable } });
      const status = { capacity: { cpu, memory: "1Gi" }, allocatable: { cpu, memory: "1Gi" } };
      await client.patch(Node, nodeName, { status }, { subresource: "status" });
    };
    await node("n1", "4", false);
    await node("n2", "2", true);
    await eventually(async () => {
      const { status } = await stageOf().cluster(name);
      expect(status?.capacity).toMatchObject({ cpu: "6", memory: "2Gi" });
      expect(status?.allocatable).toMatchObject({ cpu: "4", memory: "1Gi" });
    });
  });

  it("a shorter lease makes it beat more often", async () => {
    await stageOf().hub.client.patch(ManagedCluster, name, { spec: { leaseDurationSeconds: 1 } });
    await stageOf().untilNextBeat(name);
    await stageOf().untilNextBeat(name);
  });

  describe("namespaces that sets ask for", () => {
    const label = () => {
      const digest = createHash("sha256").update(stageOf().hub.url).digest("hex");
      return `clusterset.open-cluster-management.io/${digest.slice(0, 63)}`;
    };
    const want = (names: readonly string[]) =>
      stageOf().hub.client.patch(ManagedClusterSet, "wanting", {
        spec: { managedNamespaces: names.map((each) => ({ name: each })) },
      });
    const told = async () =>
      Object.fromEntries(
        ((await stageOf().cluster(name)).status?.managedNamespaces ?? []).map((each) => [
          each.name,
          each.conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`).join(),
        ]),
      );
    const labelOf = async (each: string) =>
      (await stageOf().spoke.client.get(Namespace, each)).metadata.labels?.[label()];

    it("are made and labelled, and the hub is told so", async () => {
      await stageOf().hub.client.create(ManagedClusterSet, {
        metadata: { name: "wanting" },
        spec: {
          clusterSelector: { selectorType: "ExclusiveClusterSetLabel" },
          managedNamespaces: [{ name: "team-one" }, { name: "team-two" }],
        },
      });
      await stageOf().hub.client.patch(ManagedCluster, name, {
        metadata: { labels: { "cluster.open-cluster-management.io/clusterset": "wanting" } },
      });
      const fine = "NamespaceAvailable True NamespaceApplied";
      await eventually(async () => expect(await told()).toEqual({ "team-one": fine, "team-two": fine }));
      expect(await labelOf("team-one")).toBe("true");
    });

    it("that are there already are labelled, and keep what they have", async () => {
      await stageOf().spoke.client.create(Namespace, { metadata: { name: "old-one", labels: { mine: "yes" } } });
      await want(["team-one", "team-two", "old-one"]);
      await eventually(async () => expect(await labelOf("old-one")).toBe("true"));
      expect((await stageOf().spoke.client.get(Namespace, "old-one")).metadata.labels).toMatchObject({ mine: "yes" });
    });

    it("that lose their label get it again", async () => {
      await stageOf().spoke.client.patch(Namespace, "team-one", { metadata: { labels: { [label()]: null } } });
      await eventually(async () => expect(await labelOf("team-one")).toBe("true"));
    });

    it("are let go of and not deleted when no set asks for them", async () => {
      await want(["team-one"]);
      await eventually(async () => expect(await labelOf("team-two")).toBe("false"));
      expect(Object.keys(await told())).toEqual(["team-one"]);
    });

    it("are let go of when the cluster leaves the set", async () => {
      await stageOf().hub.client.patch(ManagedCluster, name, {
        metadata: { labels: { "cluster.open-cluster-management.io/clusterset": "default" } },
      });
      await eventually(async () => expect(await labelOf("team-one")).toBe("false"));
    });
  });

  it("a cluster whose API server is lost is called unavailable by its agent, and available when it is back", async () => {
    const stage = stageOf();
    const relay = await Relay.to(stage.spoke.url);
    const connection = await connectionOf({
      ...stage.spoke.kubeconfig,
      clusters: stage.spoke.kubeconfig.clusters.map((cluster) => ({ ...cluster, server: relay.url })),
    });
    const client = createClient({ connection });
    const log = stage.canary.log("the agent of lost-and-found");
    // Its identity lies elsewhere, as with agents that are hosted.
    const running = await stage.start("lost-and-found", {
      clusterName: "lost-and-found",
      spoke: connectedCluster({ name: "spoke", client, clock: systemClock, log }),
      home: connectedCluster({ name: "home", client: stage.spoke.client, clock: systemClock, log }),
    });
    await stage.admit("lost-and-found");
    await stage.untilWorking("lost-and-found");
    await relay.cut();
    // Somebody touches the cluster on the hub, or the agent would look only once a minute.
    await stage.hub.client.patch(ManagedCluster, "lost-and-found", { metadata: { labels: { touched: "yes" } } });
    await eventually(async () =>
      expect(await stage.condition("lost-and-found", "ManagedClusterConditionAvailable")).toMatchObject({
        status: "False",
        reason: "ManagedClusterKubeAPIServerUnavailable",
      }),
    );
    await relay.mend();
    await eventually(async () =>
      expect((await stage.condition("lost-and-found", "ManagedClusterConditionAvailable"))?.status).toBe("True"),
    );
    await running.stop();
    client.close();
    await relay.cut();
  });
}
