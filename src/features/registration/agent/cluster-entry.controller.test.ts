import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { type FakeCluster, fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { clusterEntryController } from "./cluster-entry.controller.ts";

const endpoints = [{ url: "https://spoke:6443", caBundle: "Q0E=" }];
const known = { url: "https://other:6443" };
const entry = (managedClusterClientConfigs: { url: string; caBundle?: string }[]) => ({
  metadata: { name: "c1" },
  spec: { managedClusterClientConfigs, hubAcceptsClient: true },
});
const options = { clusterName: "c1", endpoints };

describe("the entry of a cluster on the hub", () => {
  it("carries the annotations that agents may give it, and no others", async () => {
    const hub = fakeCluster([ManagedCluster]);
    const clusterAnnotations = { "agent.open-cluster-management.io/zone": "a", "hub.example/admin": "me" };
    await runUntilQuiet(clusterEntryController({ ...options, hub, clusterAnnotations, phase: "bootstrap" }));
    expect(hub.read(ManagedCluster, "c1")?.metadata.annotations).toEqual({
      "agent.open-cluster-management.io/zone": "a",
    });
  });

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

  it("learns a new authority of a known address, because whoever reaches the cluster goes by it", async () => {
    const hub = fakeCluster([ManagedCluster, entry([known, { url: "https://spoke:6443", caBundle: "T0xE" }])]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "joined" }));
    expect(hub.read(ManagedCluster, "c1")?.spec?.managedClusterClientConfigs).toEqual([known, ...endpoints]);
  });

  it("is not touched by an agent that the hub denies, because that one may only look", async () => {
    const condition = { type: "HubAcceptedManagedCluster", status: "False", reason: "r", message: "" } as const;
    const status = { conditions: [{ ...condition, lastTransitionTime: "" }] };
    const hub = fakeCluster([ManagedCluster, { ...entry([known]), status }]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "joined" }));
    expect(hub.writes).toEqual([]);
  });
});

describe("the word of an agent on whether it grants access", () => {
  const annotations = { "access.capstan.dev/cluster-role": "view" };
  const said = (hub: FakeCluster) => hub.read(ManagedCluster, "c1")?.metadata.annotations;
  const grantAccess = "view";

  it("comes with the entry, so that the hub has made room when the agent is let in", async () => {
    const hub = fakeCluster([ManagedCluster]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, grantAccess, phase: "bootstrap" }));
    expect(said(hub)).toEqual(annotations);
  });

  it("comes later if the agent was told later, costs one write, and leaves other annotations alone", async () => {
    const { metadata, spec } = entry(endpoints);
    const hub = fakeCluster([ManagedCluster, { metadata: { ...metadata, annotations: { a: "b" } }, spec }]);
    for (const _ of ["first", "second"]) {
      await runUntilQuiet(clusterEntryController({ ...options, hub, grantAccess, phase: "joined" }));
      expect(said(hub)).toEqual({ a: "b", ...annotations });
      expect(hub.writes).toHaveLength(1);
    }
  });

  it("is taken back by an agent that grants nothing any more", async () => {
    const { metadata, spec } = entry(endpoints);
    const hub = fakeCluster([ManagedCluster, { metadata: { ...metadata, annotations }, spec }]);
    await runUntilQuiet(clusterEntryController({ ...options, hub, phase: "joined" }));
    expect(said(hub)).toBeUndefined();
  });
});
