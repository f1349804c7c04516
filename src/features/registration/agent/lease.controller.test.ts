import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { KubeError } from "#kube";
import { ManualClock, microTimestamp } from "#lib/clock";
import { fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { agentLeaseController } from "./lease.controller.ts";

const KEY = "c1/managed-cluster-lease";
const lease = (renewTime = "2025-01-01T00:00:00.000000Z") => ({
  metadata: { name: "managed-cluster-lease", namespace: "c1" },
  spec: { holderIdentity: "managed-cluster-lease", renewTime },
});

function cluster(accepted: "True" | "False", leaseDurationSeconds = 3) {
  const condition = { type: "HubAcceptedManagedCluster", reason: "r", message: "", lastTransitionTime: "" };
  return {
    metadata: { name: "c1" },
    spec: { leaseDurationSeconds },
    status: { conditions: [{ ...condition, status: accepted }] },
  };
}

function beating(accepted: "True" | "False" = "True", random = 0) {
  const clock = new ManualClock();
  const hub = fakeCluster({ clock }, [ManagedCluster, cluster(accepted)], [Lease, lease()]);
  const controller = agentLeaseController({ hub, clusterName: "c1", clock, random: () => random });
  return { clock, hub, running: startControllers([controller], { clock }) };
}

describe("the heart of a cluster", () => {
  it("beats once per lease duration, with one request", async () => {
    const { clock, hub, running } = beating();
    await running.quiet();
    expect(hub.read(Lease, KEY)?.spec).toEqual({
      holderIdentity: "managed-cluster-lease",
      renewTime: microTimestamp(clock.now()),
    });
    hub.writes.length = 0;
    clock.advance(2_999);
    await running.quiet();
    expect(hub.writes).toEqual([]);
    clock.advance(1);
    await running.quiet();
    expect(hub.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual(["update Lease"]);
    expect(hub.read(Lease, KEY)?.spec?.renewTime).toBe(microTimestamp(clock.now()));
    await running.stop();
  });

  it("beats up to a quarter late, so that not all agents beat at once", async () => {
    const { clock, hub, running } = beating("True", 0.999);
    await running.quiet();
    hub.writes.length = 0;
    clock.advance(3_740);
    await running.quiet();
    expect(hub.writes).toEqual([]);
    clock.advance(20);
    await running.quiet();
    expect(hub.writes).toHaveLength(1);
    await running.stop();
  });

  it("beats ever more seldom while the hub refuses it, without a failure, and as ever when it does not", async () => {
    const { clock, hub, running } = beating();
    await running.quiet();
    hub.beforeWrite(() => {
      throw new KubeError("status", "forbidden (403 Forbidden)", { code: 403, reason: "Forbidden" });
    });
    hub.writes.length = 0;
    for (let second = 0; second < 600; second++) {
      clock.advance(1_000);
      await running.quiet();
    }
    expect(hub.writes.length).toBeGreaterThan(8);
    expect(hub.writes.length).toBeLessThan(20);
    hub.beforeWrite(() => {});
    clock.advance(60_000);
    await running.quiet();
    expect(hub.read(Lease, KEY)?.spec?.renewTime).toBe(microTimestamp(clock.now()));
    hub.writes.length = 0;
    clock.advance(3_000);
    await running.quiet();
    expect(hub.writes).toHaveLength(1);
    await running.stop();
  });

  it("does not beat faster because the cluster changes", async () => {
    const { hub, running } = beating();
    await running.quiet();
    hub.writes.length = 0;
    hub.put(ManagedCluster, { ...cluster("True"), metadata: { name: "c1", labels: { a: "b" } } });
    await running.quiet();
    expect(hub.writes).toEqual([]);
    await running.stop();
  });

  it("beats at the new pace when the duration is shortened", async () => {
    const { clock, hub, running } = beating();
    hub.put(ManagedCluster, cluster("True", 60));
    await running.quiet();
    hub.writes.length = 0;
    clock.advance(5_000);
    await running.quiet();
    expect(hub.writes).toEqual([]);
    hub.put(ManagedCluster, cluster("True", 3));
    await running.quiet();
    expect(hub.writes).toHaveLength(1);
    await running.stop();
  });

  it("stands still while the cluster is not accepted", async () => {
    const { hub, running } = beating("False");
    await running.quiet();
    expect(hub.writes).toEqual([]);
    await running.stop();
  });

  it("waits for a Lease that is not there yet, and takes a new one as it comes", async () => {
    const { clock, hub, running } = beating();
    hub.drop(Lease, KEY);
    await running.quiet();
    hub.put(Lease, lease());
    clock.advance(500);
    await running.quiet();
    expect(hub.read(Lease, KEY)?.spec?.renewTime).toBe(microTimestamp(clock.now()));

    hub.drop(Lease, KEY);
    hub.put(Lease, lease());
    clock.advance(3_000);
    await running.quiet();
    expect(hub.read(Lease, KEY)?.spec?.renewTime).toBe(microTimestamp(clock.now()));
    await running.stop();
  });
});
