import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster, managedClusterCrd } from "#api/cluster";
import { Namespace } from "#api/core";
import { ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { ManualClock, systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";
import { untilEstablished } from "../../../../test/support/definitions.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { fakeCluster, runUntilQuiet, startControllers } from "../../../../test/support/index.ts";
import { startEmbedded, type TestServer } from "../../../../test/support/servers.ts";
import { profileStatusController } from "./profile-status.controller.ts";

const clock = new ManualClock();
const said = (type: string, status: "True" | "False" | "Unknown") => ({
  type,
  status,
  reason: `${type}Reason`,
  message: `${type} message`,
  lastTransitionTime: "2025-01-01T00:00:00Z",
});

function cluster(status: ManagedCluster["status"] = {}, labels: Record<string, string> = {}): ManagedCluster {
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "spoke-1", labels },
    status,
  };
}

function profile({ manager = "open-cluster-management", name = "spoke-1", ...more } = {}): ClusterProfile {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { name, namespace: "fleet-system" },
    spec: { clusterManager: { name: manager } },
    ...more,
  };
}

const KEY = "fleet-system/spoke-1";

describe("a profile", () => {
  it("repeats what the cluster reports", async () => {
    const reporting = cluster(
      {
        version: { kubernetes: "v1.34.0" },
        clusterClaims: [
          { name: "id.k8s.io", value: "1" },
          { name: "a", value: "2" },
        ],
        conditions: [said("ManagedClusterJoined", "True"), said("ManagedClusterConditionAvailable", "False")],
      },
      { "cluster.open-cluster-management.io/clusterset": "default" },
    );
    const hub = fakeCluster([ManagedCluster, reporting], [ClusterProfile, profile()]);

    await runUntilQuiet(profileStatusController({ hub, clock }));

    expect(hub.read(ClusterProfile, KEY)).toMatchObject({
      metadata: {
        labels: {
          "x-k8s.io/cluster-manager": "open-cluster-management",
          "multicluster.x-k8s.io/clusterset": "default",
          "open-cluster-management.io/cluster-name": "spoke-1",
        },
      },
      status: {
        version: { kubernetes: "v1.34.0" },
        properties: [
          { name: "id.k8s.io", value: "1", lastObservedTime: "2026-01-01T00:00:00Z" },
          { name: "a", value: "2", lastObservedTime: "2026-01-01T00:00:00Z" },
        ],
        conditions: [
          { type: "ControlPlaneHealthy", status: "False", reason: "ManagedClusterConditionAvailableReason" },
          { type: "Joined", status: "True", message: "ManagedClusterJoined message" },
        ],
      },
    });
  });

  it("says nothing that the cluster has not said", async () => {
    const hub = fakeCluster([ManagedCluster, cluster()], [ClusterProfile, profile()]);
    await runUntilQuiet(profileStatusController({ hub, clock }));
    expect(hub.read(ClusterProfile, KEY)?.status).toEqual({ version: {}, properties: [], conditions: [] });
    expect(hub.read(ClusterProfile, KEY)?.metadata.labels?.["multicluster.x-k8s.io/clusterset"]).toBe("");
  });

  it("leaves the access providers alone, because whoever gives access owns them", async () => {
    const owned = profile({ status: { accessProviders: [{ name: "cluster-proxy" }] } } as object);
    const hub = fakeCluster([ManagedCluster, cluster()], [ClusterProfile, owned]);
    await runUntilQuiet(profileStatusController({ hub, clock }));
    expect(hub.read(ClusterProfile, KEY)?.status?.accessProviders).toEqual([{ name: "cluster-proxy" }]);
  });

  it("of another manager is left alone", async () => {
    const hub = fakeCluster([ManagedCluster, cluster()], [ClusterProfile, profile({ manager: "other" })]);
    await runUntilQuiet(profileStatusController({ hub, clock }));
    expect(hub.writes).toEqual([]);
  });

  it("leaves out claims that it cannot hold, because one of them would void the whole status, and says so once", async () => {
    const clusterClaims = [
      { name: "a" },
      { name: "b", value: "1" },
      { name: "b", value: "2" },
      { value: "3" },
      { name: "long", value: "x".repeat(1025) },
      { name: "x".repeat(254), value: "1" },
      { name: "wide", value: "😀".repeat(1024) },
    ];
    const hub = fakeCluster([ManagedCluster, cluster({ clusterClaims })], [ClusterProfile, profile()]);
    const notes: string[] = [];
    const recorder = { tell: (_: unknown, { note }: { note: string }) => void notes.push(note) };
    const running = startControllers([profileStatusController({ hub, clock, recorder })]);
    await running.quiet();
    expect(hub.read(ClusterProfile, KEY)?.status?.properties?.map(({ name }) => name)).toEqual(["b", "wide"]);
    hub.put(ManagedCluster, cluster({ clusterClaims, version: { kubernetes: "v1" } }));
    await running.quiet();
    expect(notes).toHaveLength(1);
    expect(notes[0]).toContain("a, b, long, xxxxxxxxxxxxxxxxxxxx…");
    await running.stop();
  });

  it("says when a value was first seen, and keeps the time as long as the value", async () => {
    const moving = new ManualClock();
    const hub = fakeCluster(
      [
        ManagedCluster,
        cluster({
          clusterClaims: [
            { name: "a", value: "1" },
            { name: "b", value: "1" },
          ],
        }),
      ],
      [ClusterProfile, profile()],
    );
    const running = startControllers([profileStatusController({ hub, clock: moving })]);
    await running.quiet();
    moving.advance(60_000);
    hub.put(
      ManagedCluster,
      cluster({
        clusterClaims: [
          { name: "a", value: "1" },
          { name: "b", value: "2" },
        ],
      }),
    );
    await running.quiet();
    expect(hub.read(ClusterProfile, KEY)?.status?.properties).toEqual([
      { name: "a", value: "1", lastObservedTime: "2026-01-01T00:00:00Z" },
      { name: "b", value: "2", lastObservedTime: "2026-01-01T00:01:00Z" },
    ]);
    await running.stop();
  });

  it("does not know how the cluster is when its agent is silent", async () => {
    const silent = cluster({ conditions: [said("ManagedClusterConditionAvailable", "Unknown")] });
    const hub = fakeCluster([ManagedCluster, silent], [ClusterProfile, profile()]);
    await runUntilQuiet(profileStatusController({ hub, clock }));
    expect(hub.read(ClusterProfile, KEY)?.status?.conditions).toMatchObject([
      { type: "ControlPlaneHealthy", status: "Unknown" },
    ]);
  });

  it("costs no write the second time", async () => {
    const status = { conditions: [said("ManagedClusterJoined", "True")], clusterClaims: [{ name: "a", value: "b" }] };
    const hub = fakeCluster([ManagedCluster, cluster(status)], [ClusterProfile, profile()]);
    await runUntilQuiet(profileStatusController({ hub, clock }));
    hub.writes.length = 0;
    await runUntilQuiet(profileStatusController({ hub, clock }));
    expect(hub.writes).toEqual([]);
  });
});

describe.each([
  ["by entry", true],
  ["as one value, as other hubs define them", false],
])("a profile whose lists the server keeps %s", (_, areMaps) => {
  let server: TestServer;
  const stop = new AbortController();
  let stopped: Promise<void> = Promise.resolve();
  const key = "fleet/spoke-1";

  beforeAll(async () => {
    server = await startEmbedded("hub");
    const definition = areMaps ? clusterProfileCrd : withoutListTypes(clusterProfileCrd);
    for (const each of [managedClusterCrd, definition]) await server.client.create(CustomResourceDefinition, each);
    await untilEstablished(server.client, [managedClusterCrd, clusterProfileCrd]);
    await server.client.create(Namespace, { metadata: { name: "fleet" } });
    await server.client.create(ManagedCluster, { metadata: { name: "spoke-1" } });
    await server.client.create(ClusterProfile, {
      metadata: { name: "spoke-1", namespace: "fleet" },
      spec: { clusterManager: { name: "open-cluster-management" } },
    });
    const hub = connectedCluster({ name: "hub", client: server.client, clock: systemClock, log: silentLog });
    const controllers = [profileStatusController({ hub, clock: systemClock })];
    stopped = runControllers({ controllers, clock: systemClock, log: silentLog, signal: stop.signal });
  }, 60_000);
  afterAll(async () => {
    stop.abort();
    await stopped;
    await server.close();
  });

  const report = (clusterClaims: { name: string; value: string }[], status: "True" | "False") =>
    server.client.patch(
      ManagedCluster,
      "spoke-1",
      { status: { clusterClaims, conditions: [said("ManagedClusterConditionAvailable", status)] } },
      { subresource: "status" },
    );
  const current = async () => (await server.client.get(ClusterProfile, key)).status ?? {};
  const names = async () => ((await current()).properties ?? []).map(({ name }) => name).sort();

  it("says what the cluster does, and takes back what it does not say any more", async () => {
    await report(
      [
        { name: "a", value: "1" },
        { name: "b", value: "1" },
      ],
      "True",
    );
    await eventually(async () => expect(await names()).toEqual(["a", "b"]));
    await report([{ name: "b", value: "2" }], "False");
    await eventually(async () => {
      expect(await current()).toMatchObject({
        properties: [{ name: "b", value: "2" }],
        conditions: [{ type: "ControlPlaneHealthy", status: "False" }],
      });
    });
  });

  it("keeps what others say of their own", async () => {
    const theirs = {
      properties: [{ name: "example.com/zone", value: "z" }],
      conditions: [said("AllNodesHealthy", "True")],
      accessProviders: [{ name: "theirs", cluster: { server: "https://x" } }],
    };
    const object = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
    const metadata = { name: "spoke-1", namespace: "fleet" };
    if (areMaps) {
      await server.client.patch(
        ClusterProfile,
        key,
        { ...object, metadata, status: theirs },
        { type: "apply", subresource: "status", fieldManager: "them" },
      );
    } else {
      const { conditions = [] } = await current();
      const status = { conditions: [...conditions, ...theirs.conditions], accessProviders: theirs.accessProviders };
      await server.client.patch(ClusterProfile, key, { status }, { subresource: "status" });
    }
    await report([{ name: "c", value: "1" }], "True");
    const own = areMaps ? ["c", "example.com/zone"] : ["c"];
    await eventually(async () => expect(await names()).toEqual(own));
    const { conditions, accessProviders } = await current();
    expect(conditions?.map(({ type, status }) => `${type} ${status}`).sort()).toEqual([
      "AllNodesHealthy True",
      "ControlPlaneHealthy True",
    ]);
    expect(accessProviders?.map(({ name }) => name)).toEqual(["theirs"]);
  });

  it("names the writers of its parts", async () => {
    const { managedFields = [] } = (await server.client.get(ClusterProfile, key)).metadata;
    const appliers = managedFields.filter(({ operation }) => operation === "Apply").map(({ manager }) => manager);
    expect(appliers.sort()).toEqual(areMaps ? ["capstan-cluster-health", "capstan-cluster-properties", "them"] : []);
  });
});

/** The definition as hubs of other makes bring it. */
function withoutListTypes(definition: CustomResourceDefinition): CustomResourceDefinition {
  return JSON.parse(
    JSON.stringify(definition, (field, value) => (field.startsWith("x-kubernetes-list-") ? undefined : value)),
  );
}
