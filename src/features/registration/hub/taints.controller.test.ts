import { describe, expect, it } from "vitest";
import { ManagedCluster, type Taint } from "#api/cluster";
import { fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { tainted, taintsController } from "./taints.controller.ts";

const unreachable: Taint = { key: "cluster.open-cluster-management.io/unreachable", effect: "NoSelect" };
const unavailable: Taint = { key: "cluster.open-cluster-management.io/unavailable", effect: "NoSelect" };
const own: Taint = { key: "example.com/own", effect: "PreferNoSelect" };
const since = (taint: Taint): Taint => ({ ...taint, timeAdded: "2026-01-01T00:00:00Z" });

function cluster(available: "True" | "False" | "Unknown" | undefined, taints?: Taint[]): ManagedCluster {
  const condition = { type: "ManagedClusterConditionAvailable", reason: "r", message: "", lastTransitionTime: "" };
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "c1" },
    spec: { ...(taints && { taints }) },
    status: { conditions: available ? [{ ...condition, status: available }] : [] },
  };
}

describe("taints", () => {
  it.each<[string, "True" | "False" | "Unknown" | undefined, Taint[] | undefined, Taint[] | undefined]>([
    ["of a new cluster, of which nothing is known", undefined, undefined, [unreachable]],
    ["of a lost cluster", "Unknown", [own], [own, unreachable]],
    ["of an ill cluster", "False", [unreachable], [unavailable]],
    ["of an ill cluster that is lost then", "Unknown", [since(unavailable), own], [own, unreachable]],
    ["of a healthy cluster", "True", [unavailable, own, unreachable], [own]],
    ["of a healthy cluster without others", "True", [unreachable], undefined],
    ["that came at some time, which is kept", "Unknown", [since(unreachable)], [since(unreachable)]],
    ["that somebody weakened", "Unknown", [{ ...unreachable, effect: "PreferNoSelect" }], [unreachable]],
    ["of a healthy cluster that has none", "True", undefined, undefined],
  ])("%s", (_, available, before, after) => {
    expect(tainted(cluster(available, before)).spec?.taints).toEqual(after);
  });

  it("are written once", async () => {
    const hub = fakeCluster([ManagedCluster, cluster("Unknown")]);
    await runUntilQuiet(taintsController({ hub }));
    expect(hub.read(ManagedCluster, "c1")?.spec?.taints).toEqual([unreachable]);
    hub.writes.length = 0;
    await runUntilQuiet(taintsController({ hub }));
    expect(hub.writes).toEqual([]);
  });

  it("are left alone while the cluster is deleted", async () => {
    const going = { name: "c1", finalizers: ["example.com/x"], deletionTimestamp: "2026-01-01T00:00:00Z" };
    const hub = fakeCluster([ManagedCluster, { ...cluster("Unknown"), metadata: going }]);
    await runUntilQuiet(taintsController({ hub }));
    expect(hub.writes).toEqual([]);
  });
});
