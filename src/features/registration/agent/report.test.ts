import { describe, expect, it } from "vitest";
import type { ManagedCluster } from "#api/cluster";
import type { Node } from "#api/core";
import { reported } from "./report.ts";

const now = new Date("2026-01-01T00:00:00Z");
const later = new Date("2026-01-01T01:00:00Z");
const cluster = (status: ManagedCluster["status"] = {}): ManagedCluster => ({
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  metadata: { name: "c1" },
  status,
});
const node = (cpu: string, unschedulable = false): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n" },
  spec: { unschedulable },
  status: { capacity: { cpu }, allocatable: { cpu } },
});
const healthy = { health: "ok", version: "v1.34.0", nodes: [], claims: [], left: [] } as const;
const statusOf = (object: ManagedCluster) =>
  Object.fromEntries(
    (object.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );

describe("the agent's report", () => {
  it("says joined, available, the version and the claims", () => {
    const after = reported(cluster(), { ...healthy, claims: [{ name: "a", value: "b" }] }, now);
    expect(statusOf(after)).toEqual({
      ManagedClusterJoined: "True ManagedClusterJoined",
      ManagedClusterConditionAvailable: "True ManagedClusterAvailable",
    });
    expect(after.status).toMatchObject({
      version: { kubernetes: "v1.34.0" },
      clusterClaims: [{ name: "a", value: "b" }],
      capacity: {},
      allocatable: {},
    });
  });

  it("adds up all nodes for the capacity and the schedulable ones for what can be used", () => {
    const after = reported(cluster(), { ...healthy, nodes: [node("4"), node("2", true)] }, now);
    expect(after.status?.capacity).toEqual({ cpu: "6" });
    expect(after.status?.allocatable).toEqual({ cpu: "4" });
  });

  it("keeps capacities that are not of nodes, because others report them", () => {
    const after = reported(cluster({ capacity: { licences: "7", cpu: "1" } }), { ...healthy, nodes: [node("4")] }, now);
    expect(after.status?.capacity).toEqual({ licences: "7", cpu: "4" });
  });

  it("says only that it joined while it doubts the spoke's health", () => {
    expect(statusOf(reported(cluster(), { health: "doubtful" }, now))).toEqual({
      ManagedClusterJoined: "True ManagedClusterJoined",
    });
  });

  it("leaves the rest as it was when the spoke fails", () => {
    const before = reported(cluster(), { ...healthy, claims: [{ name: "a", value: "b" }] }, now);
    const after = reported(before, { health: "failing", why: "no answer" }, later);
    expect(statusOf(after).ManagedClusterConditionAvailable).toBe("False ManagedClusterKubeAPIServerUnavailable");
    expect(after.status?.clusterClaims).toEqual([{ name: "a", value: "b" }]);
  });

  it("is the same when nothing changed", () => {
    const once = reported(cluster(), { ...healthy, nodes: [node("4")] }, now);
    expect(reported(once, { ...healthy, nodes: [node("4")] }, later)).toEqual(once);
  });
});
