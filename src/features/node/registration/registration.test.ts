import { describe, expect, it, onTestFinished } from "vitest";
import { Lease } from "#api/coordination";
import { type Event, Node } from "#api/core";
import { ManualClock, microTimestamp } from "#lib/clock";
import { silentLog as log } from "#lib/log";
import { type FakeCluster, fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { eventTeller } from "../events.ts";
import { leaseController } from "./lease.controller.ts";
import type { Machine } from "./machine.ts";
import { nodeController } from "./node.controller.ts";

const LEASE = "kube-node-lease/n1";

const machine = (name: string): [string, Machine] => [
  name,
  { name, version: "0.1.0", kubeletVersion: "v1.36.3+capstan.0.1.0", address: "127.0.0.1", port: 12345 },
];

async function registering(cluster: FakeCluster, clock: ManualClock, ...names: string[]) {
  const machines = new Map(names.map(machine));
  const registered: string[] = [];
  const events = eventTeller({ component: "kubelet", client: cluster.client, clock, log });
  const controllers = [
    nodeController({
      cluster,
      machines,
      teller: () => events,
      clock,
      registered: (name) => void registered.push(name),
    }),
    leaseController({ cluster, nodes: new Set(names), clock, random: () => 0 }),
  ];
  const running = startControllers(controllers, { clock });
  onTestFinished(() => running.stop());
  await running.quiet();
  const pass = async (ms: number) => {
    clock.advance(ms);
    await running.quiet();
  };
  return { cluster, clock, running, registered, pass };
}

function fresh(...names: string[]) {
  const clock = new ManualClock();
  return registering(fakeCluster({ clock }), clock, ...names);
}

const condition = (cluster: FakeCluster, type: string) =>
  cluster.read(Node, "n1")?.status?.conditions?.find((each) => each.type === type);

describe("a node", () => {
  it("registers with all that a kubelet says of itself", async () => {
    const { cluster, registered } = await fresh("n1");
    expect(cluster.read(Node, "n1")).toMatchObject({
      metadata: { labels: { "kubernetes.io/hostname": "n1", "kubernetes.io/os": "linux" } },
      spec: { podCIDR: expect.stringMatching(/^10\..*\/18$/) },
      status: {
        capacity: { cpu: "256", memory: "1Ti", pods: "10240", "ephemeral-storage": "10Ti" },
        allocatable: { pods: "10240" },
        addresses: [
          { type: "InternalIP", address: "127.0.0.1" },
          { type: "Hostname", address: "n1" },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port: 12345 } },
        nodeInfo: { kubeletVersion: "v1.36.3+capstan.0.1.0", containerRuntimeVersion: "capstan://0.1.0" },
      },
    });
    expect(condition(cluster, "Ready")).toMatchObject({ status: "True", reason: "KubeletReady" });
    expect(condition(cluster, "MemoryPressure")).toMatchObject({ status: "False" });
    expect(registered).toContain("n1");
    const told = cluster.writes.filter(({ kind }) => kind === "Event").map(({ body }) => (body as Event).reason);
    expect(told).toEqual(["NodeReady"]);
  });

  it("writes nothing but its lease while nothing changes", async () => {
    const { cluster, pass } = await fresh("n1");
    cluster.writes.length = 0;
    for (let beat = 0; beat < 29; beat++) await pass(10_000);
    expect(new Set(cluster.writes.map(({ verb, kind }) => `${verb} ${kind}`))).toEqual(new Set(["update Lease"]));
    expect(cluster.writes).toHaveLength(29);
  });

  it("repeats its status every five minutes", async () => {
    const { cluster, pass } = await fresh("n1");
    cluster.writes.length = 0;
    await pass(300_000);
    expect(cluster.writes.filter(({ kind }) => kind === "Node").map(({ subresource }) => subresource)).toEqual([
      "status",
    ]);
    expect(condition(cluster, "Ready")?.lastHeartbeatTime).toBe("2026-01-01T00:05:00Z");
    expect(condition(cluster, "Ready")?.lastTransitionTime).toBe("2026-01-01T00:00:00Z");
  });

  it("takes up a Node that was left by an earlier run, with its range and its labels", async () => {
    const clock = new ManualClock();
    const left = {
      metadata: { name: "n1", labels: { mine: "yes" } },
      spec: { podCIDR: "10.200.0.0/18", unschedulable: true },
      status: { conditions: [{ type: "Ready", status: "Unknown" as const, reason: "NodeStatusUnknown" }] },
    };
    const { cluster } = await registering(fakeCluster({ clock }, [Node, left]), clock, "n1");
    const node = cluster.read(Node, "n1");
    expect(node?.spec).toEqual({ podCIDR: "10.200.0.0/18", unschedulable: true });
    expect(node?.metadata.labels).toMatchObject({ mine: "yes", "kubernetes.io/os": "linux" });
    expect(condition(cluster, "Ready")).toMatchObject({ status: "True" });
  });

  it("says at once that it is ready when somebody says otherwise", async () => {
    const { cluster, running } = await fresh("n1");
    const node = cluster.read(Node, "n1");
    const conditions = (node?.status?.conditions ?? []).map((each) => ({ ...each, status: "Unknown" as const }));
    cluster.put(Node, { metadata: { name: "n1" }, ...node, status: { ...node?.status, conditions } });
    await running.quiet();
    expect(condition(cluster, "Ready")?.status).toBe("True");
  });

  it("stays away when somebody deletes it, and so does its lease", async () => {
    const { cluster, pass } = await fresh("n1");
    cluster.drop(Node, "n1");
    cluster.drop(Lease, LEASE);
    await pass(60_000);
    expect(cluster.read(Node, "n1")).toBeUndefined();
    expect(cluster.read(Lease, LEASE)).toBeUndefined();
  });

  it("has a range of addresses that no other node of the process has", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const { cluster } = await fresh(...names);
    expect(new Set(cluster.readAll(Node).map(({ spec }) => spec?.podCIDR)).size).toBe(names.length);
  });
});

describe("the lease of a node", () => {
  it("belongs to the Node and is renewed every ten seconds with one request", async () => {
    const { cluster, clock, pass } = await fresh("n1");
    const { uid } = cluster.read(Node, "n1")?.metadata ?? {};
    expect(cluster.read(Lease, LEASE)).toMatchObject({
      metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n1", uid }] },
      spec: { holderIdentity: "n1", leaseDurationSeconds: 40, renewTime: microTimestamp(clock.now()) },
    });
    cluster.writes.length = 0;
    await pass(9_999);
    expect(cluster.writes).toEqual([]);
    await pass(1);
    expect(cluster.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual(["update Lease"]);
    expect(cluster.read(Lease, LEASE)?.spec?.renewTime).toBe(microTimestamp(clock.now()));
  });

  it("is made again when it is gone, and taken as it is when somebody changed it", async () => {
    const { cluster, clock, pass } = await fresh("n1");
    cluster.drop(Lease, LEASE);
    await pass(10_000);
    expect(cluster.read(Lease, LEASE)?.spec?.renewTime).toBe(microTimestamp(clock.now()));
    const lease = cluster.read(Lease, LEASE);
    cluster.put(Lease, {
      metadata: { name: "n1", namespace: "kube-node-lease" },
      ...lease,
      spec: { ...lease?.spec, leaseTransitions: 3 },
    });
    await pass(10_000);
    expect(cluster.read(Lease, LEASE)?.spec).toMatchObject({
      leaseTransitions: 3,
      renewTime: microTimestamp(clock.now()),
    });
  });
});
