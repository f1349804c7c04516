import { describe, expect, it } from "vitest";
import type { Node, NodeCondition, Pod, Taint, Toleration } from "#api/core";
import { microTimestamp, timestamp } from "#lib/clock";
import { type Bed, bed } from "../testing/bed.ts";
import { nodeLifecycleControllers } from "./index.ts";
import { silenced } from "./node-health.controller.ts";
import { tainted } from "./node-taints.controller.ts";

const NODES = "core/nodes";
const PODS = "core/pods";
const LEASES = "coordination.k8s.io/leases";
const NOW = new Date("2026-01-01T00:00:00Z");

async function start(): Promise<Bed> {
  const cluster = await bed((parts) => nodeLifecycleControllers(parts));
  await cluster.create("core/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "kube-node-lease" },
  });
  return cluster;
}

async function addNode(cluster: Bed, name: string, ready: "True" | "False" = "True"): Promise<void> {
  const now = timestamp(cluster.clock.now());
  const conditions = [{ type: "Ready", status: ready, lastHeartbeatTime: now, lastTransitionTime: now }];
  await cluster.create(NODES, { apiVersion: "v1", kind: "Node", metadata: { name }, status: { conditions } });
  await cluster.settle();
}

async function beat(cluster: Bed, name: string): Promise<void> {
  const renewTime = microTimestamp(cluster.clock.now());
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: "kube-node-lease" },
  };
  if (!cluster.get(LEASES, `kube-node-lease/${name}`)) await cluster.create(LEASES, { ...lease, spec: { renewTime } });
  else await cluster.change(LEASES, `kube-node-lease/${name}`, (draft) => ({ ...draft, spec: { renewTime } }));
  await cluster.settle();
}

async function addPod(cluster: Bed, name: string, node: string, tolerations: Toleration[] = []): Promise<void> {
  await cluster.create(PODS, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { nodeName: node, containers: [{ name: "web", image: "nginx" }], tolerations },
  });
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: timestamp(cluster.clock.now()) }];
  await cluster.change(
    PODS,
    `default/${name}`,
    (draft) => ({ ...draft, status: { phase: "Running", conditions } }),
    "status",
  );
  await cluster.settle();
}

const nodeOf = (cluster: Bed, name: string) => cluster.get(NODES, name) as unknown as Node;
const podOf = (cluster: Bed, name: string) => cluster.get(PODS, `default/${name}`) as unknown as Pod | undefined;
const ready = (cluster: Bed, name: string) =>
  nodeOf(cluster, name).status?.conditions?.find(({ type }) => type === "Ready");
const taintsOf = (cluster: Bed, name: string) =>
  (nodeOf(cluster, name).spec?.taints ?? []).map(
    ({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`,
  );
const told = (cluster: Bed) => cluster.list("core/events").map(({ reason }) => reason);

describe("a node that falls silent", () => {
  it("is given up after fifty seconds without a renewal, and its Pods are not ready then", async () => {
    const cluster = await start();
    await addNode(cluster, "n1");
    await addNode(cluster, "n2");
    await addPod(cluster, "p", "n1");
    for (let beats = 0; beats < 10; beats++) {
      await beat(cluster, "n1");
      await beat(cluster, "n2");
      await cluster.pass(10_000);
    }
    expect(ready(cluster, "n1")?.status).toBe("True");
    for (let beats = 0; beats < 4; beats++) {
      await beat(cluster, "n2");
      await cluster.pass(9_999);
    }
    expect(ready(cluster, "n1")?.status).toBe("True");
    await cluster.pass(10);
    expect(ready(cluster, "n1")).toMatchObject({ status: "Unknown", reason: "NodeStatusUnknown" });
    expect(taintsOf(cluster, "n1")).toEqual(["unreachable:NoSchedule", "unreachable:NoExecute"]);
    expect(taintsOf(cluster, "n2")).toEqual([]);
    expect(podOf(cluster, "p")?.status?.conditions?.[0]).toMatchObject({ type: "Ready", status: "False" });
    expect(told(cluster)).toEqual(expect.arrayContaining(["NodeNotReady", "NodeNotReady"]));
  });

  it("loses its taints when it says that it is well", async () => {
    const cluster = await start();
    await addNode(cluster, "n1");
    await addNode(cluster, "n2");
    await cluster.pass(49_000);
    await beat(cluster, "n2");
    await cluster.pass(1_000);
    expect(taintsOf(cluster, "n1")).toEqual(["unreachable:NoSchedule", "unreachable:NoExecute"]);
    const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: timestamp(cluster.clock.now()) }];
    await cluster.change(NODES, "n1", (draft) => ({ ...draft, status: { conditions } }), "status");
    await cluster.settle();
    expect(taintsOf(cluster, "n1")).toEqual([]);
  });

  it("drives nothing away where no node is ready, because something else must be wrong", async () => {
    const cluster = await start();
    await addNode(cluster, "n1");
    await addPod(cluster, "p", "n1");
    await cluster.pass(50_000);
    expect(taintsOf(cluster, "n1")).toEqual(["unreachable:NoSchedule"]);
    await cluster.pass(3_600_000);
    expect(podOf(cluster, "p")).toBeDefined();
  });

  it("has a minute for its first word", async () => {
    const cluster = await start();
    await cluster.create(NODES, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
    await cluster.settle();
    await cluster.pass(59_000);
    expect(ready(cluster, "n1")).toBeUndefined();
    await cluster.pass(1_000);
    expect(ready(cluster, "n1")).toMatchObject({ status: "Unknown", reason: "NodeStatusNeverUpdated" });
  });

  it("is written to once", async () => {
    const cluster = await start();
    await addNode(cluster, "n1");
    await cluster.pass(50_000);
    const before = cluster.store.revision;
    await cluster.pass(3_600_000);
    expect(cluster.store.revision).toBe(before);
  });
});

describe("a Pod on a node that drives Pods away", () => {
  const taint = (cluster: Bed, taints: Taint[]) =>
    cluster.change(NODES, "n1", (draft) => ({ ...draft, spec: { ...(draft.spec as object), taints } }));
  const driving: Taint = { key: "maintenance", effect: "NoExecute" };
  const patient = (tolerationSeconds?: number): Toleration => ({
    key: "maintenance",
    operator: "Exists",
    effect: "NoExecute",
    ...(tolerationSeconds !== undefined && { tolerationSeconds }),
  });

  async function driven(tolerations: Toleration[]): Promise<Bed> {
    const cluster = await start();
    await addNode(cluster, "n1");
    await addPod(cluster, "p", "n1", tolerations);
    await taint(cluster, [driving]);
    await cluster.settle();
    return cluster;
  }
  const isLeaving = (cluster: Bed) => podOf(cluster, "p")?.metadata.deletionTimestamp !== undefined;

  it("is deleted at once if it does not tolerate that, and says why", async () => {
    const cluster = await driven([]);
    expect(isLeaving(cluster)).toBe(true);
    expect(podOf(cluster, "p")?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "DisruptionTarget", status: "True", reason: "DeletionByTaintManager" }),
    );
    expect(told(cluster)).toContain("TaintManagerEviction");
  });

  it("is deleted when it has tolerated it for as long as it would", async () => {
    const cluster = await driven([patient(30)]);
    await cluster.pass(29_999);
    expect(isLeaving(cluster)).toBe(false);
    await cluster.pass(1);
    expect(isLeaving(cluster)).toBe(true);
  });

  it("stays if it tolerates it for ever", async () => {
    const cluster = await driven([patient()]);
    await cluster.pass(3_600_000);
    expect(isLeaving(cluster)).toBe(false);
  });

  it("stays if the taint is taken away in time", async () => {
    const cluster = await driven([patient(30)]);
    await cluster.pass(20_000);
    await taint(cluster, []);
    await cluster.pass(60_000);
    expect(isLeaving(cluster)).toBe(false);
  });

  it("is deleted five minutes after its node fell silent, as every Pod is unless it says otherwise", async () => {
    const cluster = await start();
    await addNode(cluster, "n1");
    await addNode(cluster, "n2");
    await addPod(cluster, "p", "n1");
    await cluster.pass(49_000);
    await beat(cluster, "n2");
    await cluster.pass(1_000);
    for (let beats = 0; beats < 29; beats++) {
      await cluster.pass(10_000);
      await beat(cluster, "n2");
    }
    expect(isLeaving(cluster)).toBe(false);
    await cluster.pass(10_000);
    expect(isLeaving(cluster)).toBe(true);
  });
});

describe("taints", () => {
  const node = (spec: Node["spec"], ...conditions: [type: string, status: NodeCondition["status"]][]): Node => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n" },
    ...(spec && { spec }),
    status: { conditions: conditions.map(([type, status]) => ({ type, status })) },
  });
  const shown = ({ spec }: Node) => (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  const own = (key: string) => `node.kubernetes.io/${key}`;

  it.each<[why: string, Node, drivesAway: boolean, expected: string[]]>([
    ["a node that is well has none", node({}, ["Ready", "True"]), true, []],
    ["not ready", node({}, ["Ready", "False"]), true, [own("not-ready:NoSchedule"), own("not-ready:NoExecute")]],
    ["not ready like all others", node({}, ["Ready", "False"]), false, [own("not-ready:NoSchedule")]],
    [
      "unreachable",
      node({}, ["Ready", "Unknown"]),
      true,
      [own("unreachable:NoSchedule"), own("unreachable:NoExecute")],
    ],
    ["short of disk", node({}, ["Ready", "True"], ["DiskPressure", "True"]), true, [own("disk-pressure:NoSchedule")]],
    ["cordoned", node({ unschedulable: true }, ["Ready", "True"]), true, [own("unschedulable:NoSchedule")]],
    [
      "those of others stay, and ours go when they are over",
      node(
        {
          taints: [
            { key: "mine", effect: "NoExecute" },
            { key: own("not-ready"), effect: "NoSchedule" },
          ],
        },
        ["Ready", "True"],
      ),
      true,
      ["mine:NoExecute"],
    ],
  ])("%s", (_, given, drivesAway, expected) => {
    expect(shown(tainted(given, drivesAway, NOW))).toEqual(expected);
  });

  it("are dated when they come, and left alone afterwards", () => {
    const once = tainted(node({}, ["Ready", "Unknown"]), true, NOW);
    expect(once.spec?.taints?.[0]?.timeAdded).toBe("2026-01-01T00:00:00Z");
    expect(tainted(once, true, new Date("2026-01-02T00:00:00Z"))).toBe(once);
  });

  it("are on every new node until it was seen to be ready", async () => {
    const cluster = await bed(() => []);
    await cluster.create(NODES, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
    expect(taintsOf(cluster, "n1")).toEqual(["not-ready:NoSchedule"]);
  });
});

describe("a silent node's conditions", () => {
  it("that others keep are left alone", () => {
    const network = { type: "NetworkUnavailable", status: "False" as const };
    const node: Node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, status: { conditions: [network] } };
    const silent = silenced(node, NOW);
    expect(silent.status?.conditions).toContainEqual(network);
    expect(silent.status?.conditions).toHaveLength(5);
    expect(silenced(silent, NOW)).toBe(silent);
  });
});
