import { describe, expect, it } from "vitest";
import { ClusterProperty } from "#api/about";
import { ClusterClaim, ManagedCluster } from "#api/cluster";
import { Node } from "#api/core";
import { Event } from "#api/events";
import { KubeError } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { agentStatusController, type ReportedClaims } from "./status.controller.ts";

const condition = (type: string, status: "True" | "False") => ({
  type,
  status,
  reason: "r",
  message: "",
  lastTransitionTime: "2025-01-01T00:00:00Z",
});
const accepted = condition("HubAcceptedManagedCluster", "True");

function reporting(conditions = [accepted], claims: ReportedClaims = {}) {
  const clock = new ManualClock();
  const hub = fakeCluster({ clock }, [ManagedCluster, { metadata: { name: "c1" }, status: { conditions } }]);
  const fake = fakeCluster(
    { clock, name: "c1" },
    [ClusterClaim, { metadata: { name: "claim" }, spec: { value: "1" } }],
    [ClusterProperty, { metadata: { name: "property" }, spec: { value: "2" } }],
    [Node, { metadata: { name: "n" }, status: { capacity: { cpu: "4" }, allocatable: { cpu: "3" } } }],
  );
  const answers = new Map([
    ["/livez", "ok"],
    ["/version", '{"gitVersion":"v1.34.0"}'],
  ]);
  const raw = async (path: string) => {
    const answer = answers.get(path);
    if (answer === undefined) throw new KubeError("status", `${path} is not there`, { code: 404 });
    if (answer === "") throw new KubeError("status", "etcd is not well", { code: 500 });
    return answer;
  };
  const spoke = { ...fake, client: { ...fake.client, raw } };
  const controller = agentStatusController({ hub, spoke, clusterName: "c1", claims, clock, log: silentLog });
  const state = () =>
    Object.fromEntries(
      (hub.read(ManagedCluster, "c1")?.status?.conditions ?? []).map(({ type, status }) => [type, status]),
    );
  return { clock, hub, spoke: fake, answers, state, running: startControllers([controller], { clock }) };
}

describe("the agent", () => {
  it.each([
    [{ properties: false }, ["claim"]],
    [{ claims: false }, ["property"]],
    [{ claims: false, properties: false }, []],
    [{ most: 1 }, ["claim"]],
  ])("told %j reports the claims %j, and does not even look at the others", async (claims, names) => {
    const { hub, running } = reporting([accepted], claims);
    await running.quiet();
    expect(hub.read(ManagedCluster, "c1")?.status?.clusterClaims?.map(({ name }) => name)).toEqual(names);
    await running.stop();
  });

  it("reports an accepted cluster, and then only changes", async () => {
    const { clock, hub, spoke, state, running } = reporting();
    await running.quiet();
    expect(state()).toMatchObject({ ManagedClusterJoined: "True", ManagedClusterConditionAvailable: "True" });
    expect(hub.read(ManagedCluster, "c1")?.status).toMatchObject({
      version: { kubernetes: "v1.34.0" },
      capacity: { cpu: "4" },
      allocatable: { cpu: "3" },
      clusterClaims: [
        { name: "claim", value: "1" },
        { name: "property", value: "2" },
      ],
    });
    expect(hub.readAll(Event)).toMatchObject([{ type: "Normal", reason: "Available" }]);

    hub.writes.length = 0;
    clock.advance(60_000);
    await running.quiet();
    expect(hub.writes).toEqual([]);

    spoke.put(ClusterClaim, { metadata: { name: "claim" }, spec: { value: "new" } });
    await running.quiet();
    expect(hub.read(ManagedCluster, "c1")?.status?.clusterClaims?.[0]).toEqual({ name: "claim", value: "new" });
    await running.stop();
  });

  it.each([
    ["that was not accepted", []],
    ["that was denied", [condition("HubAcceptedManagedCluster", "False")]],
    ["whose clock is wrong", [accepted, condition("ManagedClusterConditionClockSynced", "False")]],
  ])("says nothing about a cluster %s", async (_, conditions) => {
    const { hub, running } = reporting(conditions);
    await running.quiet();
    expect(hub.writes).toEqual([]);
    await running.stop();
  });

  it("calls the cluster unavailable after twenty seconds of failure, and available as soon as it is", async () => {
    const { clock, hub, answers, state, running } = reporting();
    await running.quiet();
    answers.set("/livez", "");
    clock.advance(60_000);
    await running.quiet();
    for (let i = 0; i < 3; i++) {
      clock.advance(5_000);
      await running.quiet();
    }
    expect(state()).toMatchObject({ ManagedClusterConditionAvailable: "True" });

    clock.advance(5_000);
    await running.quiet();
    expect(state()).toMatchObject({ ManagedClusterConditionAvailable: "False" });
    expect(hub.readAll(Event).map(({ reason }) => reason)).toEqual(["Available", "Unavailable"]);

    answers.set("/livez", "ok");
    clock.advance(5_000);
    await running.quiet();
    expect(state()).toMatchObject({ ManagedClusterConditionAvailable: "True" });
    await running.stop();
  });

  it("asks /healthz where there is no /livez", async () => {
    const { answers, state, running } = reporting();
    answers.delete("/livez");
    answers.set("/healthz", "ok");
    await running.quiet();
    expect(state()).toMatchObject({ ManagedClusterConditionAvailable: "True" });
    await running.stop();
  });

  it("says that a cluster which the hub had lost is available again", async () => {
    const { hub, state, running } = reporting([accepted]);
    await running.quiet();
    const seen = hub.read(ManagedCluster, "c1");
    if (!seen) throw new Error("gone");
    const conditions = (seen.status?.conditions ?? []).map((each) =>
      each.type === "ManagedClusterConditionAvailable" ? { ...each, status: "Unknown" as const } : each,
    );
    hub.put(ManagedCluster, { ...seen, status: { ...seen.status, conditions } });
    await running.quiet();
    expect(state()).toMatchObject({ ManagedClusterConditionAvailable: "True" });
    await running.stop();
  });
});
