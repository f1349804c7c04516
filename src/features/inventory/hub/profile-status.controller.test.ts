import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { ClusterProfile } from "#api/inventory";
import { ManualClock } from "#lib/clock";
import { fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { profileStatusController } from "./profile-status.controller.ts";

const clock = new ManualClock();
const said = (type: string, status: "True" | "False") => ({
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
          { name: "id.k8s.io", value: "1" },
          { name: "a", value: "2" },
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

  it("leaves out claims that it cannot hold, because one of them would void the whole status", async () => {
    const clusterClaims = [{ name: "a" }, { name: "b", value: "1" }, { name: "b", value: "2" }, { value: "3" }];
    const hub = fakeCluster([ManagedCluster, cluster({ clusterClaims })], [ClusterProfile, profile()]);
    await runUntilQuiet(profileStatusController({ hub, clock }));
    expect(hub.read(ClusterProfile, KEY)?.status?.properties).toEqual([{ name: "b", value: "1" }]);
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
