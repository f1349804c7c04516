import { describe, expect, it } from "vitest";
import type { ControllerRevision, StatefulSet } from "#api/apps";
import type { Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { type Bed, bed as makeBed } from "../../testing/bed.ts";
import { PODS } from "../pods.ts";
import { REVISIONS } from "../revisions/revisions.ts";
import type { Stored } from "../stored.ts";
import { eagerNode, labels, podsIn, setReady, template } from "../testing/pods.ts";
import { statefulSetController } from "./stateful-set.controller.ts";

const SETS = "apps/statefulsets";
const CLAIMS = "core/persistentvolumeclaims";

const bed = () => makeBed((parts) => [statefulSetController(parts)]);
const bedWithNode = () => makeBed((parts) => [statefulSetController(parts), eagerNode(parts)]);

type Spec = Partial<StatefulSet["spec"]>;

async function started(cluster: Bed, replicas: number, spec: Spec = {}): Promise<void> {
  await cluster.create(SETS, {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "default", annotations: { note: "x" } },
    spec: { replicas, serviceName: "dbs", selector: { matchLabels: labels }, template: template(), ...spec },
  });
  await cluster.settle();
}

async function edit(cluster: Bed, spec: Spec): Promise<void> {
  await cluster.change(SETS, "default/db", (draft) => ({ ...draft, spec: { ...(draft.spec as object), ...spec } }));
  await cluster.settle();
}

const setIn = (cluster: Bed) => cluster.get(SETS, "default/db") as Stored<StatefulSet>;
const statusIn = (cluster: Bed) => setIn(cluster).status;
const names = (objects: readonly DynamicObject[]) => objects.map(({ metadata }) => metadata.name);
const podNames = (cluster: Bed) => names(podsIn(cluster));
const images = (cluster: Bed) => podsIn(cluster).map(({ spec }) => spec.containers[0]?.image);
const revisions = (cluster: Bed) => cluster.list(REVISIONS) as Stored<ControllerRevision>[];
const told = (cluster: Bed, reason: string) =>
  cluster.list("core/events").flatMap((event) => (event.reason === reason ? [event.message] : []));

async function end(cluster: Bed, name: string, phase: "Failed" | "Succeeded"): Promise<void> {
  await cluster.change(
    PODS,
    `default/${name}`,
    (draft) => ({ ...draft, status: { ...(draft.status as object), phase } }),
    "status",
  );
  await cluster.settle();
}

/** What a node does when the grace period of a deleted Pod is over. */
async function finish(cluster: Bed, name: string): Promise<void> {
  const pod = cluster.get(PODS, `default/${name}`);
  if (pod) await cluster.writer.remove(PODS, pod, { gracePeriodSeconds: 0 });
  await cluster.settle();
}

const claimTemplate = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", labels: { tier: "disk" } },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

describe("a StatefulSet", () => {
  it("creates its Pods one after the other, each when the one before is ready", async () => {
    const cluster = await bed();
    await started(cluster, 3);
    expect(podNames(cluster)).toEqual(["db-0"]);
    await setReady(cluster, podsIn(cluster));
    expect(podNames(cluster)).toEqual(["db-0", "db-1"]);
    await setReady(cluster, podsIn(cluster));
    expect(podNames(cluster)).toEqual(["db-0", "db-1", "db-2"]);
  });

  it("gives each Pod its identity", async () => {
    const cluster = await bed();
    await started(cluster, 1);
    const [revision] = revisions(cluster);
    expect(podsIn(cluster)[0]).toMatchObject({
      metadata: {
        name: "db-0",
        generateName: "db-",
        labels: {
          ...labels,
          "statefulset.kubernetes.io/pod-name": "db-0",
          "apps.kubernetes.io/pod-index": "0",
          "controller-revision-hash": revision?.metadata.name,
        },
        ownerReferences: [{ kind: "StatefulSet", name: "db", controller: true }],
      },
      spec: { hostname: "db-0", subdomain: "dbs" },
    });
    expect(told(cluster, "SuccessfulCreate")).toEqual(["Create Pod db-0 in StatefulSet db successful"]);
  });

  it("reports what it has", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2);
    const [revision] = revisions(cluster);
    expect(statusIn(cluster)).toEqual({
      observedGeneration: 1,
      replicas: 2,
      readyReplicas: 2,
      currentReplicas: 2,
      updatedReplicas: 2,
      availableReplicas: 2,
      currentRevision: revision?.metadata.name,
      updateRevision: revision?.metadata.name,
      collisionCount: 0,
    });
  });

  it("writes nothing the second time", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2, { volumeClaimTemplates: [claimTemplate] });
    const { revision } = cluster.store;
    await statefulSetController(cluster).reconcile("default/db");
    await cluster.settle();
    expect(cluster.store.revision).toBe(revision);
  });

  it("counts from where it is told", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2, { ordinals: { start: 5 } });
    expect(podNames(cluster)).toEqual(["db-5", "db-6"]);
    await edit(cluster, { ordinals: { start: 6 } });
    expect(podNames(cluster)).toEqual(["db-6", "db-7"]);
  });

  it("creates all of them at once when order does not matter", async () => {
    const cluster = await bed();
    await started(cluster, 3, { podManagementPolicy: "Parallel" });
    expect(podNames(cluster)).toEqual(["db-0", "db-1", "db-2"]);
    await edit(cluster, { replicas: 1 });
    expect(podNames(cluster)).toEqual(["db-0"]);
  });

  it("shrinks from the last, one at a time", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 3, { template: template("web:1", { nodeName: "n" }) });
    await edit(cluster, { replicas: 1 });
    const going = () => names(podsIn(cluster).filter(({ metadata }) => metadata.deletionTimestamp));
    expect(going()).toEqual(["db-2"]);
    expect(told(cluster, "SuccessfulDelete")).toEqual(["Delete Pod db-2 in StatefulSet db successful"]);
    await finish(cluster, "db-2");
    expect(going()).toEqual(["db-1"]);
    await finish(cluster, "db-1");
    expect([podNames(cluster), going()]).toEqual([["db-0"], []]);
    expect(statusIn(cluster)).toMatchObject({ replicas: 1, readyReplicas: 1 });
  });

  it("does not shrink while a Pod that stays is not ready", async () => {
    const cluster = await bed();
    await started(cluster, 2);
    await setReady(cluster, podsIn(cluster));
    await setReady(cluster, podsIn(cluster));
    await setReady(cluster, podsIn(cluster).slice(0, 1), false);
    await edit(cluster, { replicas: 1 });
    expect(podNames(cluster)).toEqual(["db-0", "db-1"]);
    await setReady(cluster, podsIn(cluster).slice(0, 1));
    expect(podNames(cluster)).toEqual(["db-0"]);
  });

  it.each(["Failed", "Succeeded"] as const)("replaces a Pod that has %s", async (phase) => {
    const cluster = await bedWithNode();
    await started(cluster, 1);
    const [before] = podsIn(cluster);
    await end(cluster, "db-0", phase);
    const [after] = podsIn(cluster);
    expect(after?.metadata.name).toBe("db-0");
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    expect(after?.status?.phase).toBe("Running");
  });

  it("waits until a Pod has been ready for long enough", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2, { minReadySeconds: 10 });
    expect(podNames(cluster)).toEqual(["db-0"]);
    expect(statusIn(cluster)).toMatchObject({ readyReplicas: 1, availableReplicas: 0 });
    await cluster.pass(10_000);
    expect(podNames(cluster)).toEqual(["db-0", "db-1"]);
    expect(statusIn(cluster)).toMatchObject({ readyReplicas: 2, availableReplicas: 1 });
    await cluster.pass(10_000);
    expect(statusIn(cluster)).toMatchObject({ availableReplicas: 2 });
  });

  it("adopts Pods with its labels and a name that is its own, and no others", async () => {
    const cluster = await bed();
    const pod = (name: string) => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", labels },
      spec: template().spec,
    });
    await cluster.create(PODS, pod("db-0"));
    await cluster.create(PODS, pod("db-x"));
    await cluster.create(PODS, pod("db-00"));
    await started(cluster, 1);
    const owned = podsIn(cluster).filter(({ metadata }) => metadata.ownerReferences?.length);
    expect(names(owned)).toEqual(["db-0"]);
    expect(owned[0]?.metadata.labels).toMatchObject({ "apps.kubernetes.io/pod-index": "0" });
  });

  it("says why a Pod cannot be created, and reports what there is", async () => {
    const cluster = await bed();
    const metadata = { name: "db-0", namespace: "default", labels: { app: "another" } };
    await cluster.create(PODS, { apiVersion: "v1", kind: "Pod", metadata, spec: template().spec });
    await started(cluster, 1);
    expect(told(cluster, "FailedCreate")[0]).toBe(
      'Create Pod db-0 in StatefulSet db failed error: pods "db-0" already exists',
    );
    expect(statusIn(cluster)).toMatchObject({ observedGeneration: 1, replicas: 0 });
  });

  it("gives up quietly when its namespace is being deleted", async () => {
    const cluster = await bed();
    await started(cluster, 1);
    await cluster.writer.remove("core/namespaces", cluster.get("core/namespaces", "default") as DynamicObject);
    await cluster.writer.remove(PODS, podsIn(cluster)[0] as DynamicObject);
    await expect(statefulSetController(cluster).reconcile("default/db")).resolves.toBeUndefined();
    expect(podNames(cluster)).toEqual([]);
  });

  it("only reports while it is being deleted", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2);
    await cluster.writer.remove(SETS, setIn(cluster), { propagationPolicy: "Foreground" });
    for (const revision of revisions(cluster)) await cluster.writer.remove(REVISIONS, revision);
    await cluster.writer.remove(PODS, podsIn(cluster)[1] as DynamicObject);
    await cluster.settle();
    expect([podNames(cluster), revisions(cluster)]).toEqual([["db-0"], []]);
    expect(statusIn(cluster)).toMatchObject({ replicas: 1 });
  });
});

describe("an update of a StatefulSet", () => {
  it("replaces Pods from the last, each when the one after it is ready", async () => {
    const cluster = await bed();
    await started(cluster, 3, { podManagementPolicy: "Parallel" });
    await setReady(cluster, podsIn(cluster));
    const old = statusIn(cluster)?.currentRevision;
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["web:1", "web:1", "web:2"]);
    expect(statusIn(cluster)).toMatchObject({ currentReplicas: 2, updatedReplicas: 1, currentRevision: old });
    await setReady(cluster, podsIn(cluster));
    expect(images(cluster)).toEqual(["web:1", "web:2", "web:2"]);
    await setReady(cluster, podsIn(cluster));
    await setReady(cluster, podsIn(cluster));
    expect(images(cluster)).toEqual(["web:2", "web:2", "web:2"]);
    const { currentRevision, updateRevision, currentReplicas } = statusIn(cluster) ?? {};
    expect([currentRevision === updateRevision, currentRevision === old, currentReplicas]).toEqual([true, false, 3]);
  });

  it("stops at the partition, and gives Pods below it the old template when they come again", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 3, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 2 } } });
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["web:1", "web:1", "web:2"]);
    await finish(cluster, "db-0");
    expect(images(cluster)).toEqual(["web:1", "web:1", "web:2"]);
    await edit(cluster, { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } } });
    expect(images(cluster)).toEqual(["web:2", "web:2", "web:2"]);
  });

  it("replaces several at a time where that is allowed", async () => {
    const cluster = await bed();
    const rollingUpdate = { maxUnavailable: "50%" };
    await started(cluster, 4, {
      podManagementPolicy: "Parallel",
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
    });
    await setReady(cluster, podsIn(cluster));
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["web:1", "web:1", "web:2", "web:2"]);
  });

  it("waits for somebody to delete them where that is wished", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2, { updateStrategy: { type: "OnDelete" } });
    await edit(cluster, { template: template("web:2") });
    expect(images(cluster)).toEqual(["web:1", "web:1"]);
    await finish(cluster, "db-0");
    expect(images(cluster)).toEqual(["web:2", "web:1"]);
  });

  it("remembers its templates, and goes back to one without making it anew", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 1);
    await edit(cluster, { template: template("web:2") });
    await edit(cluster, { template: template("web:1") });
    const known = revisions(cluster);
    expect(known.map(({ revision }) => revision).sort()).toEqual([2, 3]);
    const newest = known.find(({ revision }) => revision === 3);
    expect(newest).toMatchObject({
      metadata: {
        labels: { ...labels, "controller.kubernetes.io/hash": newest?.metadata.name.replace("db-", "") },
        annotations: { note: "x" },
        ownerReferences: [{ kind: "StatefulSet", controller: true }],
      },
      data: { spec: { template: { $patch: "replace", spec: { containers: [{ image: "web:1" }] } } } },
    });
    expect(statusIn(cluster)?.currentRevision).toBe(newest?.metadata.name);
  });

  it("forgets templates beyond the limit", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 1, { revisionHistoryLimit: 1 });
    for (const image of ["web:2", "web:3", "web:4"]) await edit(cluster, { template: template(image) });
    expect(
      revisions(cluster)
        .map(({ revision }) => revision)
        .sort(),
    ).toEqual([3, 4]);
  });

  it("makes way for a Pod that never got ready", async () => {
    const cluster = await makeBed((parts) => [
      statefulSetController(parts),
      eagerNode(parts, ({ spec }) => spec.containers[0]?.image !== "broken"),
    ]);
    await started(cluster, 2);
    await edit(cluster, { template: template("broken") });
    expect(images(cluster)).toEqual(["web:1", "broken"]);
    await edit(cluster, { template: template("web:2") });
    // In order nothing goes on beyond a Pod that is not ready; somebody has to delete it, as on any cluster.
    expect(images(cluster)).toEqual(["web:1", "broken"]);
    await finish(cluster, "db-1");
    expect(images(cluster)).toEqual(["web:2", "web:2"]);
  });
});

describe("the volume claims of a StatefulSet", () => {
  const spec = { volumeClaimTemplates: [claimTemplate] };
  const claims = (cluster: Bed) => cluster.list(CLAIMS);
  const owners = (cluster: Bed) =>
    claims(cluster).map(({ metadata }) => metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`) ?? []);

  it("are created before the Pods that use them, and kept", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2, spec);
    expect(names(claims(cluster))).toEqual(["data-db-0", "data-db-1"]);
    expect(claims(cluster)[0]).toMatchObject({
      metadata: { labels: { ...labels, tier: "disk" } },
      spec: { accessModes: ["ReadWriteOnce"] },
    });
    expect((podsIn(cluster)[0] as Pod).spec.volumes?.[0]).toEqual({
      name: "data",
      persistentVolumeClaim: { claimName: "data-db-0" },
    });
    expect(told(cluster, "SuccessfulCreate")).toContain("Create Claim data-db-0 Pod db-0 in StatefulSet db success");
    expect(owners(cluster)).toEqual([[], []]);
    await edit(cluster, { replicas: 1 });
    expect(names(claims(cluster))).toEqual(["data-db-0", "data-db-1"]);
  });

  it("go with the set where that is wished, and stay when the wish is taken back", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 1, {
      ...spec,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
    });
    expect(owners(cluster)).toEqual([["StatefulSet db"]]);
    await edit(cluster, { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" } });
    expect(owners(cluster)).toEqual([[]]);
  });

  it("go with a Pod that is not wished for, where claims go when a set shrinks", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2, {
      ...spec,
      template: template("web:1", { nodeName: "n" }),
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
    });
    await edit(cluster, { replicas: 1 });
    expect(owners(cluster)).toEqual([["StatefulSet db"], ["Pod db-1"]]);
  });

  it("of an earlier Pod must be gone before a new one comes", async () => {
    const cluster = await bedWithNode();
    await started(cluster, 2, {
      ...spec,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
    });
    await edit(cluster, { replicas: 1 });
    await edit(cluster, { replicas: 2 });
    expect(podNames(cluster)).toEqual(["db-0"]);
    await cluster.writer.remove(CLAIMS, cluster.get(CLAIMS, "default/data-db-1") as DynamicObject);
    await cluster.settle();
    expect(podNames(cluster)).toEqual(["db-0", "db-1"]);
    expect(owners(cluster)).toEqual([[], []]);
  });

  it("are left alone when somebody else controls them", async () => {
    const cluster = await bed();
    const owner = await cluster.create("core/configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "other", namespace: "default" },
    });
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: owner.metadata.uid, controller: true };
    await cluster.create(CLAIMS, {
      ...claimTemplate,
      metadata: { name: "data-db-0", namespace: "default", ownerReferences: [reference] },
    } as DynamicObject);
    await started(cluster, 1, {
      ...spec,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
    });
    expect(owners(cluster)).toEqual([["ConfigMap other"]]);
  });
});
