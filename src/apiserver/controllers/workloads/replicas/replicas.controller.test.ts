import { describe, expect, it } from "vitest";
import type { ReplicaSet } from "#api/apps";
import type { Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { type Bed, bed as makeBed } from "../../testing/bed.ts";
import { isActive, PODS } from "../pods.ts";
import type { Stored } from "../stored.ts";
import { eagerNode, labels, podsIn, setReady, template } from "../testing/pods.ts";
import { REPLICA_SETS, replicaSetController, replicationController } from "./replicas.controller.ts";

const CONTROLLERS = "core/replicationcontrollers";

const bed = () => makeBed((parts) => [replicaSetController(parts), replicationController(parts)]);

function replicaSet(replicas: number, more: { metadata?: object; spec?: object } = {}) {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web", namespace: "default", ...more.metadata },
    spec: { replicas, selector: { matchLabels: labels }, template: template(), ...more.spec },
  };
}

function pod(name: string, more: { metadata?: object; spec?: object } = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels, ...more.metadata },
    spec: { containers: [{ name: "main", image: "web:1" }], ...more.spec },
  };
}

async function started(cluster: Bed, replicas: number, more = {}): Promise<void> {
  await cluster.create(REPLICA_SETS, replicaSet(replicas, more));
  await cluster.settle();
}

const setIn = (cluster: Bed) => cluster.get(REPLICA_SETS, "default/web") as Stored<ReplicaSet>;
const statusIn = (cluster: Bed) => setIn(cluster).status;
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);
const scale = (cluster: Bed, replicas: number) =>
  cluster
    .change(REPLICA_SETS, "default/web", (draft) => ({ ...draft, spec: { ...(draft.spec as object), replicas } }))
    .then(() => cluster.settle());
const events = (cluster: Bed, reason: string) => cluster.list("core/events").filter((event) => event.reason === reason);

describe("a ReplicaSet", () => {
  it("creates its Pods and reports them", async () => {
    const cluster = await bed();
    await started(cluster, 3);

    expect(podsIn(cluster)).toHaveLength(3);
    const { uid } = setIn(cluster).metadata;
    for (const { metadata } of podsIn(cluster)) {
      expect(metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
      expect(metadata).toMatchObject({ generateName: "web-", labels });
      expect(metadata.ownerReferences).toEqual([
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid, controller: true, blockOwnerDeletion: true },
      ]);
    }
    expect(statusIn(cluster)).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 3,
      terminatingReplicas: 0,
      observedGeneration: 1,
    });
    expect(events(cluster, "SuccessfulCreate").map(({ message }) => message)).toEqual(
      expect.arrayContaining(names(podsIn(cluster)).map((name) => `Created pod: ${name}`)),
    );
    expect(events(cluster, "SuccessfulCreate")[0]).toMatchObject({ source: { component: "replicaset-controller" } });
  });

  it("writes nothing the second time", async () => {
    const cluster = await bed();
    await started(cluster, 2);
    const { revision } = cluster.store;
    await replicaSetController(cluster).reconcile("default/web");
    expect(cluster.store.revision).toBe(revision);
  });

  it("creates all of its Pods in one commit, and writes its status once", async () => {
    const cluster = await bed();
    const commits = new Set<number>();
    let statuses = 0;
    let batch = 0;
    cluster.store.onRevision(() => batch++);
    cluster.store.subscribe(({ resource, type }) => {
      if (resource === PODS) commits.add(batch);
      if (resource === REPLICA_SETS && type === "MODIFIED") statuses++;
    });
    await started(cluster, 50);
    expect(podsIn(cluster)).toHaveLength(50);
    expect(commits.size).toBe(1);
    expect(statuses).toBe(1);
  });

  it("replaces a Pod that was deleted or has ended", async () => {
    const cluster = await bed();
    await started(cluster, 2);
    const [first, second] = podsIn(cluster);
    await cluster.writer.remove(PODS, first as DynamicObject);
    await cluster.change(
      PODS,
      `default/${second?.metadata.name}`,
      (draft) => ({ ...draft, status: { ...(draft.status as object), phase: "Failed" } }),
      "status",
    );
    await cluster.settle();
    expect(podsIn(cluster).filter(isActive)).toHaveLength(2);
    expect(names(podsIn(cluster))).toContain(second?.metadata.name);
    expect(statusIn(cluster)?.replicas).toBe(2);
  });

  it("counts what is ready, and what has been ready for long enough", async () => {
    const cluster = await bed();
    await started(cluster, 2, { spec: { minReadySeconds: 10 } });
    await setReady(cluster, podsIn(cluster).slice(0, 1));
    await cluster.pass(4_000);
    await setReady(cluster, podsIn(cluster).slice(1));
    expect(statusIn(cluster)).toMatchObject({ readyReplicas: 2 });
    expect(statusIn(cluster)?.availableReplicas).toBeUndefined();
    await cluster.pass(6_000);
    expect(statusIn(cluster)).toMatchObject({ readyReplicas: 2, availableReplicas: 1 });
    await cluster.pass(4_000);
    expect(statusIn(cluster)).toMatchObject({ readyReplicas: 2, availableReplicas: 2 });
  });

  it("deletes the Pods whose loss is felt least", async () => {
    const cluster = await bed();
    await started(cluster, 3);
    const [first, second, third] = podsIn(cluster) as [Stored<Pod>, Stored<Pod>, Stored<Pod>];
    await setReady(cluster, [first, third]);
    await scale(cluster, 2);
    expect(names(podsIn(cluster))).toEqual(names([first, third]));
    expect(events(cluster, "SuccessfulDelete")).toMatchObject([{ message: `Deleted pod: ${second.metadata.name}` }]);
    expect(statusIn(cluster)).toMatchObject({ replicas: 2, readyReplicas: 2, observedGeneration: 2 });
  });

  it("counts Pods on their way out until they are gone", async () => {
    const cluster = await bed();
    await started(cluster, 2, { spec: { template: template("web:1", { nodeName: "n1" }) } });
    await scale(cluster, 1);
    expect(podsIn(cluster)).toHaveLength(2);
    expect(statusIn(cluster)).toMatchObject({ replicas: 1, terminatingReplicas: 1 });
    const leaving = podsIn(cluster).find(({ metadata }) => metadata.deletionTimestamp);
    await cluster.writer.remove(PODS, leaving as DynamicObject, { gracePeriodSeconds: 0 });
    await cluster.settle();
    expect(statusIn(cluster)).toMatchObject({ replicas: 1, terminatingReplicas: 0 });
  });

  it("adopts Pods that fit, and deletes those that are too many", async () => {
    const cluster = await bed();
    await cluster.create(PODS, pod("lonely"));
    await cluster.create(PODS, pod("other", { metadata: { labels: { app: "db" } } }));
    await started(cluster, 1);
    expect(names(podsIn(cluster))).toEqual(["lonely", "other"]);
    const { uid } = setIn(cluster).metadata;
    expect(cluster.get(PODS, "default/lonely")?.metadata.ownerReferences).toMatchObject([{ uid, controller: true }]);
    expect(cluster.get(PODS, "default/other")?.metadata.ownerReferences).toBeUndefined();

    await cluster.create(PODS, pod("late"));
    await cluster.settle();
    expect(podsIn(cluster).filter(({ metadata }) => metadata.labels?.app === "web")).toHaveLength(1);
  });

  it("lets go of a Pod that no longer fits, and replaces it", async () => {
    const cluster = await bed();
    await started(cluster, 1);
    const [first] = podsIn(cluster) as [Stored<Pod>];
    const key = `default/${first.metadata.name}`;
    await cluster.change(PODS, key, (draft) => ({
      ...draft,
      metadata: { ...draft.metadata, labels: { app: "odd" } },
    }));
    await cluster.settle();
    expect(cluster.get(PODS, key)?.metadata.ownerReferences ?? []).toEqual([]);
    expect(podsIn(cluster)).toHaveLength(2);
    expect(statusIn(cluster)?.replicas).toBe(1);
  });

  it("leaves the Pods of another ReplicaSet alone, though both would fit", async () => {
    const cluster = await bed();
    await started(cluster, 1);
    await cluster.create(REPLICA_SETS, replicaSet(1, { metadata: { name: "twin" } }));
    await cluster.settle();
    expect(podsIn(cluster).map(({ metadata }) => metadata.ownerReferences?.[0]?.name)).toEqual(["twin", "web"]);
  });

  it("creates nothing once it is being deleted, and says that it has seen it", async () => {
    const cluster = await bed();
    await started(cluster, 1, { metadata: { finalizers: ["example.com/held"] } });
    await cluster.writer.remove(REPLICA_SETS, setIn(cluster));
    await cluster.writer.remove(PODS, podsIn(cluster)[0] as DynamicObject);
    await cluster.settle();
    expect(podsIn(cluster)).toHaveLength(0);
    expect(statusIn(cluster)).toMatchObject({ replicas: 0, observedGeneration: 2 });
  });

  it("keeps conditions that others wrote, and mends counts that others wrote", async () => {
    const cluster = await bed();
    await started(cluster, 1);
    const foreign = { type: "Checked", status: "True", lastTransitionTime: null };
    await cluster.change(
      REPLICA_SETS,
      "default/web",
      (draft) => ({ ...draft, status: { replicas: 7, conditions: [foreign] } }),
      "status",
    );
    await cluster.settle();
    expect(statusIn(cluster)).toMatchObject({ replicas: 1, conditions: [foreign] });
  });
});

describe("a refusal to create Pods", () => {
  const orphaned = { spec: { template: template("web:1", { priorityClassName: "missing" }) } };

  it("is reported with its cause, told once for each attempt, and tried again", async () => {
    const cluster = await bed();
    await started(cluster, 3, orphaned);
    const because = /^pods "web-[a-z0-9]*" is forbidden: no PriorityClass with name missing was found$/;
    expect(statusIn(cluster)).toMatchObject({
      replicas: 0,
      observedGeneration: 1,
      conditions: [
        { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: expect.stringMatching(because) },
      ],
    });
    // Once for all three Pods, and once more with a single Pod, because its own status made it look again.
    const told = events(cluster, "FailedCreate");
    expect(told.map(({ count }) => Number(count)).reduce((sum, count) => sum + count)).toBe(2);
    expect(told[0]).toMatchObject({ type: "Warning", message: expect.stringMatching(/^Error creating: pods "web-/) });

    const { resourceVersion } = setIn(cluster).metadata;
    await cluster.pass(10);
    expect(setIn(cluster).metadata.resourceVersion).toBe(resourceVersion);

    await cluster.create("scheduling.k8s.io/priorityclasses", {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: "missing" },
      value: 1,
    });
    await cluster.pass(1_000);
    expect(podsIn(cluster)).toHaveLength(3);
    expect(statusIn(cluster)?.conditions).toBeUndefined();
  });

  it("is no failure in a namespace that is being deleted", async () => {
    const cluster = await bed();
    await cluster.create("core/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "ending" },
    });
    await cluster.create(REPLICA_SETS, replicaSet(1, { metadata: { namespace: "ending" } }));
    await cluster.settle();
    await cluster.writer.remove("core/namespaces", cluster.get("core/namespaces", "ending") as DynamicObject);
    await cluster.writer.remove(PODS, podsIn(cluster)[0] as DynamicObject);
    await cluster.settle();
    expect(podsIn(cluster)).toHaveLength(0);
    expect((cluster.get(REPLICA_SETS, "ending/web") as Stored<ReplicaSet>).status?.conditions).toBeUndefined();
  });
});

describe("a ReplicationController", () => {
  const controller = {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "old", namespace: "default" },
    spec: { replicas: 2, template: template() },
  };

  it("does the same with a plain selector, and says nothing of Pods on their way out", async () => {
    const cluster = await makeBed((parts) => [replicationController(parts), eagerNode(parts)]);
    await cluster.create(CONTROLLERS, controller);
    await cluster.settle();
    expect(podsIn(cluster).map(({ metadata }) => metadata.ownerReferences?.[0])).toMatchObject([
      { apiVersion: "v1", kind: "ReplicationController", name: "old", controller: true },
      { apiVersion: "v1", kind: "ReplicationController", name: "old", controller: true },
    ]);
    expect(cluster.get(CONTROLLERS, "default/old")?.status).toEqual({
      replicas: 2,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      observedGeneration: 1,
    });
    expect(events(cluster, "SuccessfulCreate")[0]).toMatchObject({ source: { component: "replication-controller" } });
  });

  it("shares no Pods with a ReplicaSet of the same selector", async () => {
    const cluster = await bed();
    await cluster.create(CONTROLLERS, controller);
    await started(cluster, 1);
    expect(podsIn(cluster).map(({ metadata }) => metadata.ownerReferences?.[0]?.kind)).toEqual([
      "ReplicationController",
      "ReplicationController",
      "ReplicaSet",
    ]);
  });
});
