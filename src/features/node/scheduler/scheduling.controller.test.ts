import { describe, expect, it, onTestFinished } from "vitest";
import { type Binding, type Event, Node, Pod, type PodSpec } from "#api/core";
import { type Client, statusError } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog as log } from "#lib/log";
import { type FakeCluster, fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { eventTeller } from "../events.ts";
import { schedulingController } from "./scheduling.controller.ts";

function node(name: string, { ready = "True", spec = {} }: { ready?: "True" | "Unknown"; spec?: Node["spec"] } = {}) {
  return {
    metadata: { name },
    spec,
    status: {
      allocatable: { pods: "100" },
      conditions: [{ type: "Ready", status: ready }],
      nodeInfo: { containerRuntimeVersion: "capstan://0.1.0" },
    },
  };
}

function pod(name: string, spec: Partial<PodSpec> = {}) {
  return { metadata: { name, namespace: "ns", uid: `uid-${name}` }, spec: { containers: [], ...spec } };
}

/** A cluster that binds Pods as an API server does. */
function bindingCluster(
  clock: ManualClock,
  nodes: ReturnType<typeof node>[],
  pods: ReturnType<typeof pod>[],
): FakeCluster {
  const bind = async (_kind: unknown, key: string, subresource: string, body: unknown) => {
    const current = cluster.read(Pod, key);
    if (!current || subresource !== "binding") throw failure(404, "NotFound");
    if (current.spec.nodeName) throw failure(409, "Conflict");
    cluster.put(Pod, { ...current, spec: { ...current.spec, nodeName: (body as Binding).target.name } });
    return body;
  };
  const cluster: FakeCluster = fakeCluster(
    { clock, createSub: bind as Client["createSub"] },
    [Node, ...nodes],
    [Pod, ...pods],
  );
  return cluster;
}

function failure(code: number, reason: string): Error {
  return statusError({
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    code,
    reason,
    message: reason,
  });
}

function scheduler(cluster: FakeCluster, clock: ManualClock, ...ours: string[]) {
  const teller = eventTeller({ component: "default-scheduler", client: cluster.client, clock, log });
  const running = startControllers([schedulingController({ cluster, nodes: new Set(ours), teller, clock })], { clock });
  onTestFinished(() => running.stop());
  return running;
}

async function scheduled(nodes: ReturnType<typeof node>[], pods: ReturnType<typeof pod>[], ...ours: string[]) {
  const clock = new ManualClock();
  const cluster = bindingCluster(clock, nodes, pods);
  const running = scheduler(cluster, clock, ...ours);
  await running.quiet();
  const told = () =>
    cluster.writes
      .filter(({ kind }) => kind === "Event")
      .map(({ body }) => body as Event)
      .map(({ reason, message }) => `${reason}: ${message}`);
  const placeOf = (name: string) => cluster.read(Pod, `ns/${name}`)?.spec.nodeName;
  return { clock, cluster, running, told, placeOf };
}

describe("a Pod that waits for a node", () => {
  it("is put on one, and that is told", async () => {
    const { placeOf, told } = await scheduled([node("n1")], [pod("a")], "n1");
    expect(placeOf("a")).toBe("n1");
    expect(told()).toEqual(["Scheduled: Successfully assigned ns/a to n1"]);
  });

  it("is spread with the others over all nodes, however fast they come", async () => {
    const pods = Array.from({ length: 20 }, (_, index) => pod(`p${index}`));
    const { placeOf } = await scheduled([node("n1"), node("n2")], pods, "n1", "n2");
    const places = pods.map(({ metadata }) => placeOf(metadata.name));
    expect(["n1", "n2"].map((name) => places.filter((place) => place === name).length)).toEqual([10, 10]);
  });

  it("is left to the process that has the chosen node, and to exactly one", async () => {
    const clock = new ManualClock();
    const pods = Array.from({ length: 20 }, (_, index) => pod(`p${index}`));
    const cluster = bindingCluster(clock, [node("n1"), node("n2")], pods);
    const [one, two] = [scheduler(cluster, clock, "n1"), scheduler(cluster, clock, "n2")];
    await Promise.all([one.quiet(), two.quiet()]);
    await Promise.all([one.quiet(), two.quiet()]);
    const places = pods.map(({ metadata }) => cluster.read(Pod, `ns/${metadata.name}`)?.spec.nodeName);
    expect(places.filter((place) => place === undefined)).toEqual([]);
    expect(new Set(places)).toEqual(new Set(["n1", "n2"]));
  });

  it.each<[why: string, Partial<PodSpec>]>([
    ["another scheduler is meant", { schedulerName: "other" }],
    ["it is not to be scheduled yet", { schedulingGates: [{ name: "example.com/wait" }] }],
  ])("is left alone when %s", async (_, spec) => {
    const { cluster } = await scheduled([node("n1")], [pod("a", spec)], "n1");
    expect(cluster.writes).toEqual([]);
  });

  it("is not put on nodes that others run", async () => {
    const theirs = {
      ...node("n2"),
      status: { ...node("n2").status, nodeInfo: { containerRuntimeVersion: "containerd://2" } },
    };
    const { placeOf } = await scheduled([node("n1"), theirs], [pod("a"), pod("b"), pod("c")], "n1");
    expect(["a", "b", "c"].map(placeOf)).toEqual(["n1", "n1", "n1"]);
  });

  it("takes the place of one that has ended", async () => {
    const full = { ...node("n1"), status: { ...node("n1").status, allocatable: { pods: "1" } } };
    const first = { ...pod("a", { nodeName: "n1" }), status: { phase: "Running" as const } };
    const { cluster, running, placeOf } = await scheduled([full], [first, pod("b")], "n1");
    expect(placeOf("b")).toBeUndefined();
    cluster.put(Pod, { ...first, status: { phase: "Succeeded" } });
    await running.quiet();
    expect(placeOf("b")).toBe("n1");
  });

  it("can have the name of one that was bound a moment ago", async () => {
    const { cluster, running, placeOf } = await scheduled([node("n1")], [pod("a")], "n1");
    cluster.drop(Pod, "ns/a");
    cluster.put(Pod, { ...pod("a"), metadata: { ...pod("a").metadata, uid: "uid-other" } });
    await running.quiet();
    expect(placeOf("a")).toBe("n1");
  });
});

describe("a Pod that no node can take", () => {
  const picky = pod("a", { nodeSelector: { disk: "ssd" } });
  const message = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";

  it("says why, once", async () => {
    const { cluster, running, told } = await scheduled([node("n1")], [picky], "n1");
    expect(cluster.read(Pod, "ns/a")?.status?.conditions).toEqual([
      {
        type: "PodScheduled",
        observedGeneration: 1,
        status: "False",
        reason: "Unschedulable",
        message,
        lastProbeTime: null,
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ]);
    expect(told()).toEqual([`FailedScheduling: ${message}`]);
    cluster.writes.length = 0;
    cluster.put(Node, { ...node("n1"), metadata: { name: "n1", annotations: { a: "b" } } });
    await running.quiet();
    expect(cluster.writes).toEqual([]);
  });

  it("is put on one as soon as there is one", async () => {
    const { cluster, running, placeOf } = await scheduled([node("n1")], [picky], "n1");
    cluster.put(Node, { ...node("n1"), metadata: { name: "n1", labels: { disk: "ssd" } } });
    await running.quiet();
    expect(placeOf("a")).toBe("n1");
  });

  it("is spoken of by one process only: the one that has the first node that answers", async () => {
    const nodes = [node("n1", { ready: "Unknown" }), node("n2"), node("n3")];
    expect((await scheduled(nodes, [picky], "n3")).cluster.writes).toEqual([]);
    expect((await scheduled(nodes, [picky], "n2")).cluster.writes).not.toEqual([]);
  });
});
