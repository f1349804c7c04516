import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Event } from "#api/events";
import { ManualClock, microTimestamp } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type FakeCluster, fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { leaseController, listened, noteBeat } from "./lease.controller.ts";

const LEASE = "c1/managed-cluster-lease";
const LABELS = { "open-cluster-management.io/cluster-name": "c1" };
const at = "2025-12-31T00:00:00Z";
const accepted = {
  type: "HubAcceptedManagedCluster",
  status: "True",
  reason: "r",
  message: "",
  lastTransitionTime: at,
} as const;
const available = { ...accepted, type: "ManagedClusterConditionAvailable" } as const;

function cluster(more: Partial<ManagedCluster> = {}): ManagedCluster {
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "c1" },
    spec: { leaseDurationSeconds: 3 },
    status: { conditions: [accepted, available] },
    ...more,
  };
}

function started(more: Partial<ManagedCluster> = {}) {
  const clock = new ManualClock();
  const hub = fakeCluster({ clock }, [ManagedCluster, cluster(more)]);
  return { clock, hub, running: startControllers([leaseController({ hub, clock, log: silentLog })], { clock }) };
}

function beat(hub: FakeCluster, now: Date): void {
  hub.put(Lease, {
    metadata: { name: "managed-cluster-lease", namespace: "c1", labels: LABELS },
    spec: { renewTime: microTimestamp(now) },
  });
}

const conditionOf = (hub: FakeCluster, type: string) =>
  hub.read(ManagedCluster, "c1")?.status?.conditions?.find((condition) => condition.type === type);
const availability = (hub: FakeCluster) => conditionOf(hub, "ManagedClusterConditionAvailable");
const clockSynced = (hub: FakeCluster) => conditionOf(hub, "ManagedClusterConditionClockSynced");

describe("the Lease of a cluster", () => {
  it("is made once the cluster has been judged", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    expect(hub.read(Lease, LEASE)).toMatchObject({
      metadata: { labels: LABELS },
      spec: { holderIdentity: "managed-cluster-lease", renewTime: microTimestamp(clock.now()) },
    });
    await running.stop();
  });

  it("is not made before", async () => {
    const { hub, running } = started({ status: {} });
    await running.quiet();
    expect(hub.readAll(Lease)).toEqual([]);
    await running.stop();
  });
});

describe("a cluster whose heart stops", () => {
  it("becomes unknown exactly after five missed beats, and an event says so once", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    clock.advance(14_999);
    await running.quiet();
    expect(availability(hub)?.status).toBe("True");

    clock.advance(1);
    await running.quiet();
    expect(availability(hub)).toMatchObject({ status: "Unknown", reason: "ManagedClusterLeaseUpdateStopped" });

    clock.advance(60_000);
    await running.quiet();
    expect(hub.readAll(Event)).toMatchObject([
      {
        metadata: { namespace: "c1" },
        type: "Warning",
        reason: "AvailableUnknown",
        regarding: { kind: "ManagedCluster", name: "c1", namespace: "c1" },
      },
    ]);
    await running.stop();
  });

  it("becomes so exactly then also after many beats, which nobody had to look at one by one", async () => {
    const clock = new ManualClock();
    const hub = fakeCluster({ clock }, [ManagedCluster, cluster()]);
    const controller = leaseController({ hub, clock, log: silentLog });
    let looks = 0;
    const counted: typeof controller = {
      ...controller,
      reconcile(...args) {
        looks++;
        return controller.reconcile(...args);
      },
    };
    const running = startControllers([counted], { clock });
    await running.quiet();
    looks = 0;
    for (let count = 0; count < 20; count++) {
      clock.advance(3_000);
      beat(hub, clock.now());
      await running.quiet();
    }
    expect(looks, "a look for every five beats").toBeLessThanOrEqual(5);
    clock.advance(14_999);
    await running.quiet();
    expect(availability(hub)?.status).toBe("True");
    clock.advance(1);
    await running.quiet();
    expect(availability(hub)?.status).toBe("Unknown");
    await running.stop();
  });

  it("becomes so earlier when its last beat came from earlier than the one before", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    beat(hub, new Date(clock.now().getTime() - 10_000));
    await running.quiet();
    clock.advance(5_000);
    await running.quiet();
    expect(availability(hub)?.status).toBe("Unknown");
    await running.stop();
  });

  it("does so even if the event cannot be written", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    hub.beforeWrite(({ kind }) => {
      if (kind === "Event") throw new Error("no room for events");
    });
    clock.advance(15_000);
    await running.quiet();
    expect(availability(hub)?.status).toBe("Unknown");
    await running.stop();
  });

  it("has a minute between beats when nothing is said", async () => {
    const { hub, clock, running } = started({ spec: {} });
    await running.quiet();
    clock.advance(299_999);
    await running.quiet();
    expect(availability(hub)?.status).toBe("True");
    clock.advance(1);
    await running.quiet();
    expect(availability(hub)?.status).toBe("Unknown");
    await running.stop();
  });
});

describe("a cluster whose heart beats", () => {
  it("stays as it is, without a write", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    hub.writes.length = 0;
    for (let i = 0; i < 10; i++) {
      clock.advance(10_000);
      beat(hub, clock.now());
      await running.quiet();
    }
    expect(availability(hub)?.status).toBe("True");
    expect(hub.writes).toEqual([]);
    await running.stop();
  });

  it("is not called available again by the hub, because only its agent can know", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    clock.advance(15_000);
    await running.quiet();
    beat(hub, clock.now());
    await running.quiet();
    expect(availability(hub)?.status).toBe("Unknown");
    await running.stop();
  });
});

describe("an agent that says available without a beat", () => {
  it("is contradicted once per grace period, because the two would argue without end otherwise", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    clock.advance(15_000);
    await running.quiet();
    const insist = async () => {
      const seen = hub.read(ManagedCluster, "c1");
      hub.put(ManagedCluster, { ...cluster(), status: { ...seen?.status, conditions: [accepted, available] } });
      await running.quiet();
    };
    await insist();
    expect(availability(hub)?.status).toBe("True");
    clock.advance(15_000);
    await running.quiet();
    expect(availability(hub)?.status).toBe("Unknown");
    await running.stop();
  });
});

describe("a cluster that is deleted", () => {
  it("is unknown at once when its Lease is gone", async () => {
    const { hub, running } = started({
      metadata: { name: "c1", finalizers: ["example.com/x"], deletionTimestamp: at },
    });
    await running.quiet();
    expect(availability(hub)?.status).toBe("Unknown");
    expect(hub.readAll(Lease)).toEqual([]);
    await running.stop();
  });
});

describe("the clock of a cluster", () => {
  it("is called wrong when a beat comes from far off, and right again when it is", async () => {
    const { hub, clock, running } = started();
    await running.quiet();
    expect(clockSynced(hub)?.status).toBe("True");
    beat(hub, new Date(clock.now().getTime() + 15_000));
    await running.quiet();
    expect(clockSynced(hub)).toMatchObject({ status: "False", reason: "ManagedClusterClockOutOfSync" });
    beat(hub, new Date(clock.now().getTime() + 14_999));
    await running.quiet();
    expect(clockSynced(hub)).toMatchObject({ status: "True", reason: "ManagedClusterClockSynced" });
    await running.stop();
  });

  it("is not judged by an old beat that was found at the start, because the agent may just have stopped", () => {
    const now = new Date("2026-01-01T00:00:00Z");
    const old: Lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "managed-cluster-lease", namespace: "c1" },
      spec: { renewTime: "2025-01-01T00:00:00.000000Z" },
    };
    const types = listened(cluster(), noteBeat(undefined, old, now), now).status?.conditions?.map(({ type }) => type);
    expect(types).not.toContain("ManagedClusterConditionClockSynced");
  });

  it("is taken to be right when somebody says that it need not be checked", async () => {
    const annotations = { "registration.open-cluster-management.io/skip-clock-sync-check": "true" };
    const { hub, clock, running } = started({ metadata: { name: "c1", annotations } });
    await running.quiet();
    beat(hub, new Date(clock.now().getTime() + 3_600_000));
    await running.quiet();
    expect(clockSynced(hub)?.status).toBe("True");
    await running.stop();
  });
});
