import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { clusterEntryController } from "./cluster-entry.controller.ts";

const endpoints = [{ url: "https://spoke:6443", caBundle: "Q0E=" }];
const known = { url: "https://other:6443" };
const entry = (managedClusterClientConfigs: { url: string }[]) => ({
  metadata: { name: "c1" },
  spec: { managedClusterClientConfigs, hubAcceptsClient: true },
});
const options = { clusterName: "c1", endpoints };

describe("the entry of a cluster on the hub", () => {
  it("is made with what the cluster knows about itself, and nothing is accepted by that", async () => {
    const hub = fakeCluster([ManagedCluster]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "bootstrap" }));
    expect(hub.read(ManagedCluster, "c1")?.spec).toEqual({ managedClusterClientConfigs: endpoints });
    hub.writes.length = 0;
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "bootstrap" }));
    expect(hub.writes).toEqual([]);
  });

  it("is left alone during bootstrap if it is there, because that identity may not change it", async () => {
    const hub = fakeCluster([ManagedCluster, entry([known])]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "bootstrap" }));
    expect(hub.writes).toEqual([]);
  });

  it("learns a missing address afterwards, by PUT, because agents may not patch it", async () => {
    const hub = fakeCluster([ManagedCluster, entry([known])]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "joined" }));
    expect(hub.read(ManagedCluster, "c1")?.spec).toEqual({
      managedClusterClientConfigs: [known, ...endpoints],
      hubAcceptsClient: true,
    });
    expect(hub.writes.map(({ verb }) => verb)).toEqual(["update"]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "joined" }));
    expect(hub.writes).toHaveLength(1);
  });

  it("is not made by an agent whose cluster was removed, because only an administrator's token invites", async () => {
    const hub = fakeCluster([ManagedCluster]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "joined" }));
    expect(hub.writes).toEqual([]);
  });
});
