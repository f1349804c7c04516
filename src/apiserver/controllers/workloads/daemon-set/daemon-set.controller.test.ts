import { describe, expect, it } from "vitest";
import type { ControllerRevision, DaemonSet } from "#api/apps";
import type { Node, Pod, Taint } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { type Bed, bed as makeBed } from "../../testing/bed.ts";
import { PODS } from "../pods.ts";
import { REVISIONS } from "../revisions/revisions.ts";
import type { Stored } from "../stored.ts";
import { eagerNode, labels, podsIn, setReady, template } from "../testing/pods.ts";
import { targetNode } from "./daemon-pod.ts";
import { daemonSetController } from "./daemon-set.controller.ts";

const SETS = "apps/daemonsets";
const NODES = "core/nodes";

const bed = () => makeBed((parts) => [daemonSetController(parts)]);
const bedWithNode = () => makeBed((parts) => [daemonSetController(parts), eagerNode(parts)]);

type Spec = Partial<DaemonSet["spec"]>;

/** A node that is ready: a new one is tainted until it says so. */
async function addNode(cluster: Bed, name: string, more: { labels?: object; taints?: Taint[] } = {}): Promise<void> {
  const { labels: on = {}, taints = [] } = more;
  await cluster.create(NODES, { apiVersion: "v1", kind: "Node", metadata: { name, labels: { ...on } } });
  await editNode(cluster, name, ({ spec }) => ({ spec: { ...spec, taints } }));
}

async function addNodes(cluster: Bed, ...names: string[]): Promise<void> {
  for (const name of names) await addNode(cluster, name);
}

async function started(cluster: Bed, spec: Spec = {}): Promise<void> {
  await cluster.create(SETS, {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", namespace: "default" },
    spec: { selector: { matchLabels: labels }, template: template(), ...spec },
  });
  await cluster.settle();
}

async function edit(cluster: Bed, spec: Spec): Promise<void> {
  await cluster.change(SETS, "default/agent", (draft) => ({ ...draft, spec: { ...(draft.spec as object), ...spec } }));
  await cluster.settle();
}

async function editNode(cluster: Bed, name: string, change: (node: Node) => object): Promise<void> {
  await cluster.change(NODES, name, (draft) => ({ ...draft, ...change(draft as unknown as Node) }));
  await cluster.settle();
}

async function end(cluster: Bed, pod: Pod | undefined, phase: "Failed" | "Succeeded"): Promise<void> {
  const status = (draft: DynamicObject) => ({ ...draft, status: { ...(draft.status as object), phase } });
  await cluster.change(PODS, `default/${pod?.metadata.name}`, status, "status");
  await cluster.settle();
}

const setIn = (cluster: Bed) => cluster.get(SETS, "default/agent") as Stored<DaemonSet>;
const statusIn = (cluster: Bed) => setIn(cluster).status;
const places = (cluster: Bed) => podsIn(cluster).map(targetNode).sort();
const images = (cluster: Bed) =>
  podsIn(cluster)
    .map((pod) => `${targetNode(pod)} ${pod.spec.containers[0]?.image}`)
    .sort();
const podOn = (cluster: Bed, node: string) => podsIn(cluster).find((pod) => targetNode(pod) === node);
const revisions = (cluster: Bed) => cluster.list(REVISIONS) as Stored<ControllerRevision>[];
const told = (cluster: Bed, reason: string) =>
  cluster.list("core/events").flatMap((event) => (event.reason === reason ? [event.message] : []));

describe("a DaemonSet", () => {
  it("has a Pod for every node, also for those that come later", async () => {
    const cluster = await bed();
    await addNodes(cluster, "n1", "n2");
    await started(cluster);
    expect(places(cluster)).toEqual(["n1", "n2"]);
    await addNode(cluster, "n3");
    expect(places(cluster)).toEqual(["n1", "n2", "n3"]);
    expect(told(cluster, "SuccessfulCreate")).toContain(`Created pod: ${podOn(cluster, "n1")?.metadata.name}`);
  });

  it("pins its Pods by name, and lets them stay through the troubles of a node", async () => {
    const cluster = await bed();
    await addNode(cluster, "n1");
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "gpu", operator: "DoesNotExist" as const }] }],
        },
      },
    };
    await started(cluster, { template: template("web:1", { affinity, hostNetwork: true }) });
    const [revision] = revisions(cluster);
    const [pod] = podsIn(cluster);
    expect(pod?.metadata).toMatchObject({
      generateName: "agent-",
      labels: {
        ...labels,
        "controller-revision-hash": revision?.metadata.labels?.["controller-revision-hash"],
        "pod-template-generation": "1",
      },
      ownerReferences: [{ kind: "DaemonSet", name: "agent", controller: true }],
    });
    expect(pod?.spec.affinity).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] }],
        },
      },
    });
    expect(pod?.spec.tolerations?.map(({ key, effect }) => `${key?.split("/")[1]}:${effect}`)).toEqual([
      "not-ready:NoExecute",
      "unreachable:NoExecute",
      "disk-pressure:NoSchedule",
      "memory-pressure:NoSchedule",
      "pid-pressure:NoSchedule",
      "unschedulable:NoSchedule",
      "network-unavailable:NoSchedule",
    ]);
    expect(pod?.spec.tolerations?.some(({ tolerationSeconds }) => tolerationSeconds !== undefined)).toBe(false);
  });

  it("reports its nodes", async () => {
    const cluster = await bedWithNode();
    await addNodes(cluster, "n1", "n2");
    await started(cluster);
    expect(statusIn(cluster)).toEqual({
      currentNumberScheduled: 2,
      numberMisscheduled: 0,
      desiredNumberScheduled: 2,
      numberReady: 2,
      observedGeneration: 1,
      updatedNumberScheduled: 2,
      numberAvailable: 2,
    });
  });

  it("writes nothing the second time", async () => {
    const cluster = await bedWithNode();
    await addNodes(cluster, "n1", "n2");
    await started(cluster);
    const { revision } = cluster.store;
    await daemonSetController(cluster).reconcile("default/agent");
    await cluster.settle();
    expect(cluster.store.revision).toBe(revision);
  });

  it("runs only on the nodes that it selects", async () => {
    const cluster = await bed();
    await addNode(cluster, "n1", { labels: { disk: "ssd" } });
    await addNode(cluster, "n2");
    await started(cluster, { template: template("web:1", { nodeSelector: { disk: "ssd" } }) });
    expect(places(cluster)).toEqual(["n1"]);
    await editNode(cluster, "n2", ({ metadata }) => ({ metadata: { ...metadata, labels: { disk: "ssd" } } }));
    expect(places(cluster)).toEqual(["n1", "n2"]);
    await editNode(cluster, "n1", ({ metadata }) => ({ metadata: { ...metadata, labels: {} } }));
    expect(places(cluster)).toEqual(["n2"]);
    expect(statusIn(cluster)).toMatchObject({ desiredNumberScheduled: 1, currentNumberScheduled: 1 });
  });

  it("comes to no node that repels it, stays where only newcomers are repelled, and leaves where it is driven out", async () => {
    const cluster = await bed();
    const taint = (effect: Taint["effect"]): Taint => ({ key: "own", effect });
    await addNode(cluster, "n1", { taints: [taint("NoSchedule")] });
    await addNode(cluster, "n2");
    await started(cluster);
    expect(places(cluster)).toEqual(["n2"]);
    await editNode(cluster, "n2", ({ spec }) => ({ spec: { ...spec, taints: [taint("NoSchedule")] } }));
    expect(places(cluster)).toEqual(["n2"]);
    expect(statusIn(cluster)).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 });
    await editNode(cluster, "n2", ({ spec }) => ({ spec: { ...spec, taints: [taint("NoExecute")] } }));
    expect(places(cluster)).toEqual([]);
    await edit(cluster, { template: template("web:1", { tolerations: [{ operator: "Exists" }] }) });
    expect(places(cluster)).toEqual(["n1", "n2"]);
  });

  it("runs on nodes that take no other Pods", async () => {
    const cluster = await bed();
    await addNode(cluster, "n1", { taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }] });
    await started(cluster);
    expect(places(cluster)).toEqual(["n1"]);
  });

  it("deletes Pods that waited for a node which is gone", async () => {
    const cluster = await bed();
    await addNodes(cluster, "n1", "n2");
    await started(cluster);
    await cluster.writer.remove(NODES, cluster.get(NODES, "n1") as DynamicObject);
    await cluster.settle();
    expect(places(cluster)).toEqual(["n2"]);
    expect(statusIn(cluster)).toMatchObject({ desiredNumberScheduled: 1 });
  });

  it("keeps the oldest of two Pods on a node", async () => {
    const cluster = await bed();
    await addNode(cluster, "n1");
    await started(cluster);
    const [first] = podsIn(cluster);
    await cluster.pass(1000);
    const { uid, resourceVersion, ...metadata } = first?.metadata ?? { name: "" };
    await cluster.create(PODS, { ...(first as Stored<Pod>), metadata: { ...metadata, name: "agent-other" } });
    await cluster.settle();
    expect(podsIn(cluster).map(({ metadata: { name } }) => name)).toEqual([first?.metadata.name]);
    expect([uid, resourceVersion]).not.toContain(undefined);
  });

  it("replaces a Pod that failed, at first at once and then ever later", async () => {
    const cluster = await bed();
    await addNode(cluster, "n1");
    await started(cluster);
    const first = podOn(cluster, "n1")?.metadata.name;
    await end(cluster, podOn(cluster, "n1"), "Failed");
    const second = podOn(cluster, "n1")?.metadata.name;
    expect(second).not.toBe(first);
    expect(told(cluster, "FailedDaemonPod")).toEqual([
      `Found failed daemon pod default/${first} on node n1, will try to kill it`,
    ]);

    await end(cluster, podOn(cluster, "n1"), "Failed");
    expect(podOn(cluster, "n1")?.metadata.name).toBe(second);
    await cluster.pass(1000);
    const third = podOn(cluster, "n1")?.metadata.name;
    expect(third).not.toBe(second);

    await end(cluster, podOn(cluster, "n1"), "Failed");
    await cluster.pass(1500);
    expect(podOn(cluster, "n1")?.metadata.name).toBe(third);
    await cluster.pass(500);
    expect(podOn(cluster, "n1")?.metadata.name).not.toBe(third);
  });

  it("replaces a Pod that succeeded, because daemons have no end", async () => {
    const cluster = await bed();
    await addNode(cluster, "n1");
    await started(cluster);
    const [first] = podsIn(cluster);
    await end(cluster, first, "Succeeded");
    expect(podOn(cluster, "n1")?.metadata.name).not.toBe(first?.metadata.name);
    expect(told(cluster, "SucceededDaemonPod")).toHaveLength(1);
  });

  it("does nothing while it is being deleted", async () => {
    const cluster = await bed();
    await addNode(cluster, "n1");
    await started(cluster);
    await cluster.writer.remove(SETS, setIn(cluster), { propagationPolicy: "Foreground" });
    for (const revision of revisions(cluster)) await cluster.writer.remove(REVISIONS, revision);
    for (const pod of podsIn(cluster)) await cluster.writer.remove(PODS, pod);
    await addNode(cluster, "n2");
    expect([places(cluster), revisions(cluster)]).toEqual([[], []]);
  });
});

describe("an update of a DaemonSet", () => {
  it("replaces one Pod at a time", async () => {
    const cluster = await bed();
    await addNodes(cluster, "n1", "n2", "n3");
    await started(cluster);
    await setReady(cluster, podsIn(cluster));
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["n1 web:2", "n2 web:1", "n3 web:1"]);
    expect(statusIn(cluster)).toMatchObject({ updatedNumberScheduled: 1, numberUnavailable: 1 });
    await setReady(cluster, podsIn(cluster));
    expect(images(cluster)).toEqual(["n1 web:2", "n2 web:2", "n3 web:1"]);
    await setReady(cluster, podsIn(cluster));
    await setReady(cluster, podsIn(cluster));
    expect(images(cluster)).toEqual(["n1 web:2", "n2 web:2", "n3 web:2"]);
    expect(statusIn(cluster)).toMatchObject({ updatedNumberScheduled: 3, numberAvailable: 3, observedGeneration: 2 });
  });

  it("replaces as many as may be missing, and all that are missing anyway", async () => {
    const cluster = await bed();
    await addNodes(cluster, "n1", "n2", "n3", "n4");
    await started(cluster, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "50%" } } });
    await setReady(cluster, podsIn(cluster));
    const lame = podOn(cluster, "n4");
    if (lame) await setReady(cluster, [lame], false);
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["n1 web:2", "n2 web:1", "n3 web:1", "n4 web:2"]);
  });

  it("starts the new Pod beside the old one where Pods may surge", async () => {
    const cluster = await bed();
    await addNodes(cluster, "n1", "n2");
    const rollingUpdate = { maxUnavailable: 0, maxSurge: 1 };
    await started(cluster, { updateStrategy: { type: "RollingUpdate", rollingUpdate } });
    await setReady(cluster, podsIn(cluster));
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["n1 web:1", "n1 web:2", "n2 web:1"]);
    await setReady(cluster, podsIn(cluster));
    expect(images(cluster)).toEqual(["n1 web:2", "n2 web:1", "n2 web:2"]);
    await setReady(cluster, podsIn(cluster));
    expect(images(cluster)).toEqual(["n1 web:2", "n2 web:2"]);
  });

  it("waits for somebody to delete Pods where that is wished", async () => {
    const cluster = await bed();
    await addNodes(cluster, "n1", "n2");
    await started(cluster, { updateStrategy: { type: "OnDelete" } });
    await setReady(cluster, podsIn(cluster));
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["n1 web:1", "n2 web:1"]);
    await cluster.writer.remove(PODS, podOn(cluster, "n1") as DynamicObject);
    await cluster.settle();
    expect(images(cluster)).toEqual(["n1 web:2", "n2 web:1"]);
  });

  it("remembers its templates, goes back to one, and forgets those beyond the limit", async () => {
    const cluster = await bedWithNode();
    await addNode(cluster, "n1");
    await started(cluster, { revisionHistoryLimit: 1 });
    await edit(cluster, { template: template("web:2") });
    await edit(cluster, { template: template("web:1") });
    expect(
      revisions(cluster)
        .map(({ revision }) => revision)
        .sort(),
    ).toEqual([2, 3]);
    await edit(cluster, { template: template("web:3") });
    expect(
      revisions(cluster)
        .map(({ revision }) => revision)
        .sort(),
    ).toEqual([3, 4]);
    expect(images(cluster)).toEqual(["n1 web:3"]);
    expect(podsIn(cluster)[0]?.metadata.labels).toMatchObject({ "pod-template-generation": "4" });
  });

  it("makes one of two revisions that say the same", async () => {
    const cluster = await bedWithNode();
    await addNode(cluster, "n1");
    await started(cluster);
    const [first] = revisions(cluster);
    const { uid: _, resourceVersion: __, ...metadata } = first?.metadata ?? { name: "" };
    const twin = {
      ...(first as Stored<ControllerRevision>),
      revision: 7,
      metadata: { ...metadata, name: "agent-twin", labels: { ...labels, "controller-revision-hash": "twin" } },
    };
    await cluster.create(REVISIONS, twin);
    await cluster.change(SETS, "default/agent", (draft) => ({
      ...draft,
      metadata: { ...draft.metadata, annotations: { ...draft.metadata.annotations, touched: "yes" } },
    }));
    await cluster.settle();
    expect(revisions(cluster).map(({ metadata: { name } }) => name)).toEqual(["agent-twin"]);
    expect(podsIn(cluster).map(({ metadata: { labels: on } }) => on?.["controller-revision-hash"])).toEqual(["twin"]);
  });
});
