import { describe, expect, it } from "vitest";
import type { DeploymentCondition, ReplicaSet } from "#api/apps";
import type { Pod } from "#api/core";
import { type Bed, bed as makeBed } from "../../testing/bed.ts";
import { isActive, PODS, templateHash } from "../pods.ts";
import { REPLICA_SETS, replicaSetController } from "../replicas/replicas.controller.ts";
import type { Stored } from "../stored.ts";
import {
  changed,
  created,
  DEPLOYMENTS,
  deployment,
  deploymentIn,
  KEY,
  setsIn,
  sizesIn,
} from "../testing/deployments.ts";
import { eagerNode, labels, podsIn, setReady, template } from "../testing/pods.ts";
import { deploymentController } from "./deployment.controller.ts";

/** Pods are ready as soon as they exist, but those of an image called broken. */
const healthy = () =>
  makeBed((parts) => [deploymentController(parts), replicaSetController(parts), eagerNode(parts, isSound)]);
/** Nobody makes Pods ready but the test. */
const idle = () => makeBed((parts) => [deploymentController(parts), replicaSetController(parts)]);

function isSound({ spec }: Pod): boolean {
  return !spec.containers[0]?.image?.includes("broken");
}

const REVISION = "deployment.kubernetes.io/revision";
const revisionOf = ({ metadata }: { metadata: { annotations?: Record<string, string> } }) =>
  metadata.annotations?.[REVISION];
const statusIn = (bed: Bed) => deploymentIn(bed).status;
const condition = (bed: Bed, type: string): DeploymentCondition | undefined =>
  statusIn(bed)?.conditions?.find((each) => each.type === type);
const progress = (bed: Bed) => condition(bed, "Progressing");
const told = (bed: Bed) =>
  bed
    .list("core/events")
    .filter(({ involvedObject }) => (involvedObject as { kind: string }).kind === "Deployment")
    .map(({ reason, message }) => `${reason}: ${message}`)
    .toSorted();

describe("a new Deployment", () => {
  it("gets a ReplicaSet for its template", async () => {
    const bed = await idle();
    await created(bed, { minReadySeconds: 5 }, { annotations: { note: "x", [LAST_APPLIED]: "{}" } });
    const [set] = setsIn(bed) as [Stored<ReplicaSet>];
    const hash = templateHash(deploymentIn(bed).spec.template);
    const { uid } = deploymentIn(bed).metadata;
    expect(set.metadata).toMatchObject({
      name: `web-${hash}`,
      labels: { ...labels, "pod-template-hash": hash },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid, controller: true, blockOwnerDeletion: true },
      ],
    });
    expect(set.metadata.annotations).toEqual({
      note: "x",
      [REVISION]: "1",
      "deployment.kubernetes.io/desired-replicas": "3",
      "deployment.kubernetes.io/max-replicas": "4",
    });
    expect(set.spec).toMatchObject({
      replicas: 3,
      minReadySeconds: 5,
      selector: { matchLabels: { ...labels, "pod-template-hash": hash } },
    });
    expect(set.spec.template.metadata?.labels).toEqual({ ...labels, "pod-template-hash": hash });
    expect(revisionOf(deploymentIn(bed))).toBe("1");
    expect(told(bed)).toEqual([`ScalingReplicaSet: Scaled up replica set web-${hash} from 0 to 3`]);
  });

  it("reports that it progresses, and then that it is complete", async () => {
    const bed = await idle();
    await created(bed);
    const [set] = setsIn(bed) as [Stored<ReplicaSet>];
    expect(statusIn(bed)).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      unavailableReplicas: 3,
      terminatingReplicas: 0,
      conditions: [
        {
          type: "Available",
          status: "False",
          reason: "MinimumReplicasUnavailable",
          message: "Deployment does not have minimum availability.",
        },
        {
          type: "Progressing",
          status: "True",
          reason: "ReplicaSetUpdated",
          message: `ReplicaSet "${set.metadata.name}" is progressing.`,
        },
      ],
    });

    await setReady(bed, podsIn(bed));
    const { conditions, ...counts } = statusIn(bed) ?? {};
    expect(counts).toEqual({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      terminatingReplicas: 0,
    });
    expect(conditions).toMatchObject([
      {
        type: "Available",
        status: "True",
        reason: "MinimumReplicasAvailable",
        message: "Deployment has minimum availability.",
      },
      {
        type: "Progressing",
        status: "True",
        reason: "NewReplicaSetAvailable",
        message: `ReplicaSet "${set.metadata.name}" has successfully progressed.`,
      },
    ]);
  });

  it("says that its ReplicaSet was created until something comes of it", async () => {
    const bed = await makeBed((parts) => [deploymentController(parts)]);
    await created(bed);
    expect(statusIn(bed)).toMatchObject({ observedGeneration: 1, unavailableReplicas: 3 });
    expect(progress(bed)).toMatchObject({
      reason: "NewReplicaSetCreated",
      message: `Created new replica set "${setsIn(bed)[0]?.metadata.name}"`,
    });
  });

  it("writes nothing the second time, and its status no more often than it looks", async () => {
    const bed = await healthy();
    let writes = 0;
    bed.store.subscribe(({ resource }) => {
      if (resource === DEPLOYMENTS) writes++;
    });
    await created(bed);
    expect(progress(bed)?.reason).toBe("NewReplicaSetAvailable");
    // Created; ReplicaSet made; Pods made; Pods ready, in at most three steps.
    expect(writes).toBeLessThanOrEqual(6);
    const { revision } = bed.store;
    await deploymentController(bed).reconcile(KEY);
    expect(bed.store.revision).toBe(revision);
  });

  it("does not write over what somebody else wrote meanwhile", async () => {
    const bed = await makeBed(() => []);
    await created(bed);
    const interrupted = deploymentController({
      ...bed,
      writer: {
        ...bed.writer,
        async create(storage, object) {
          const made = await bed.writer.create(storage, object);
          await bed.change(DEPLOYMENTS, KEY, (draft) => ({ ...draft, status: { collisionCount: 4 } }), "status");
          return made;
        },
      },
    });
    await interrupted.reconcile(KEY);
    expect(statusIn(bed)).toMatchObject({ collisionCount: 4, observedGeneration: 1 });
    expect(progress(bed)?.reason).toBe("NewReplicaSetCreated");
  });

  it("takes another name when its own is taken", async () => {
    const bed = await healthy();
    const taken = `web-${templateHash((await stored(deployment())).spec.template)}`;
    await bed.create(REPLICA_SETS, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: taken, namespace: "default" },
      spec: { replicas: 0, selector: { matchLabels: { app: "other" } }, template: otherTemplate },
    });
    await created(bed);
    expect(statusIn(bed)).toMatchObject({ collisionCount: 1, availableReplicas: 3 });
    const own = setsIn(bed).find(({ metadata }) => metadata.name !== taken);
    expect(own?.metadata.name).toBe(`web-${templateHash(deploymentIn(bed).spec.template, 1)}`);
  });

  const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
  const otherTemplate = { ...template(), metadata: { labels: { app: "other" } } };
  const stored = async (object: ReturnType<typeof deployment>) =>
    (await (await makeBed(() => [])).create(DEPLOYMENTS, object)) as ReturnType<typeof deploymentIn>;
});

describe("a rolling update", () => {
  it("replaces the Pods and keeps the old ReplicaSet for its history", async () => {
    const bed = await healthy();
    await created(bed);
    await changed(bed, { template: template("web:2") });
    expect(sizesIn(bed)).toEqual({ "web:1": 0, "web:2": 3 });
    expect(setsIn(bed).map(revisionOf)).toEqual(["1", "2"]);
    expect(revisionOf(deploymentIn(bed))).toBe("2");
    expect(podsIn(bed).map(({ spec }) => spec.containers[0]?.image)).toEqual(["web:2", "web:2", "web:2"]);
    expect(progress(bed)?.reason).toBe("NewReplicaSetAvailable");
    expect(statusIn(bed)).toMatchObject({ observedGeneration: 2, updatedReplicas: 3, availableReplicas: 3 });
  });

  it("stops within its limits when the new Pods do not work", async () => {
    const bed = await healthy();
    await created(bed, { replicas: 10, strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } });
    await changed(bed, { template: template("broken") });
    expect(sizesIn(bed)).toEqual({ "web:1": 8, broken: 5 });
    expect(statusIn(bed)).toMatchObject({ replicas: 13, updatedReplicas: 5, readyReplicas: 8, unavailableReplicas: 5 });
    expect(condition(bed, "Available")?.status).toBe("True");
  });

  it("is scaled in proportion, so that the broken template gains no ground", async () => {
    const bed = await healthy();
    await created(bed, { replicas: 10, strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } });
    await changed(bed, { template: template("broken") });
    await changed(bed, { replicas: 30 });
    expect(sizesIn(bed)).toEqual({ "web:1": 20, broken: 13 });
  });

  it("turns to a newer template in the middle", async () => {
    const bed = await healthy();
    await created(bed, { replicas: 4 });
    await changed(bed, { template: template("broken") });
    await changed(bed, { template: template("web:3") });
    expect(sizesIn(bed)).toEqual({ "web:1": 0, broken: 0, "web:3": 4 });
    expect(revisionOf(deploymentIn(bed))).toBe("3");
  });

  it("goes back to an earlier ReplicaSet, which remembers the revision it was", async () => {
    const bed = await healthy();
    await created(bed);
    await changed(bed, { template: template("web:2") });
    await changed(bed, { template: template("web:1") });
    expect(sizesIn(bed)).toEqual({ "web:2": 0, "web:1": 3 });
    expect(setsIn(bed).at(-1)?.metadata.annotations).toMatchObject({
      [REVISION]: "3",
      "deployment.kubernetes.io/revision-history": "1",
    });
    expect(revisionOf(deploymentIn(bed))).toBe("3");
  });

  it("waits with the old Pods until the new ones have been ready for long enough", async () => {
    const bed = await healthy();
    await created(bed, { replicas: 1 });
    await changed(bed, { template: template("web:2"), minReadySeconds: 10 });
    expect(sizesIn(bed)).toEqual({ "web:1": 1, "web:2": 1 });
    expect(setsIn(bed)[1]?.spec.minReadySeconds).toBe(10);
    await bed.pass(10_000);
    expect(sizesIn(bed)).toEqual({ "web:1": 0, "web:2": 1 });
  });

  it("keeps no more old ReplicaSets than its history is long", async () => {
    const bed = await healthy();
    await created(bed, { revisionHistoryLimit: 1 });
    for (const image of ["web:2", "web:3", "web:4"]) await changed(bed, { template: template(image) });
    expect(sizesIn(bed)).toEqual({ "web:3": 0, "web:4": 3 });
  });

  it("hands changed annotations on to the newest ReplicaSet alone, and counts that as seen", async () => {
    const bed = await healthy();
    await created(bed);
    await changed(bed, { template: template("web:2") });
    await changed(bed, {}, { note: "hello" });
    expect(setsIn(bed).map(({ metadata }) => metadata.annotations?.note)).toEqual([undefined, "hello"]);
    expect(statusIn(bed)?.observedGeneration).toBe(deploymentIn(bed).metadata.generation);
  });

  it("counts revisions beyond what a number holds", async () => {
    const bed = await healthy();
    await bed.create(REPLICA_SETS, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "before", namespace: "default", labels, annotations: { [REVISION]: "3546343826724305832" } },
      spec: { replicas: 1, selector: { matchLabels: labels }, template: template("web:0") },
    });
    await created(bed);
    expect(revisionOf(deploymentIn(bed))).toBe("3546343826724305833");
    expect(sizesIn(bed)).toEqual({ "web:0": 0, "web:1": 3 });
  });
});

describe("a replacement at once", () => {
  const recreate = { strategy: { type: "Recreate", rollingUpdate: null } };
  const onNode = (image: string) => template(image, { nodeName: "n1" });

  it("creates nothing new before the last of the old Pods is gone", async () => {
    const bed = await healthy();
    await created(bed, { ...recreate, replicas: 2, template: onNode("web:1") });
    await changed(bed, { template: onNode("web:2") });
    expect(sizesIn(bed)).toEqual({ "web:1": 0 });
    expect(statusIn(bed)).toMatchObject({ terminatingReplicas: 2, observedGeneration: 2 });

    const [first, second] = podsIn(bed) as [Stored<Pod>, Stored<Pod>];
    await bed.writer.remove(PODS, first, { gracePeriodSeconds: 0 });
    await bed.settle();
    expect(setsIn(bed)).toHaveLength(1);
    await bed.writer.remove(PODS, second, { gracePeriodSeconds: 0 });
    await bed.settle();
    expect(sizesIn(bed)).toEqual({ "web:1": 0, "web:2": 2 });
    expect(progress(bed)?.reason).toBe("NewReplicaSetAvailable");
  });

  it("is scaled like any other", async () => {
    const bed = await healthy();
    await created(bed, { ...recreate, replicas: 2 });
    await changed(bed, { replicas: 4 });
    expect(sizesIn(bed)).toEqual({ "web:1": 4 });
    expect(statusIn(bed)).toMatchObject({ availableReplicas: 4 });
  });

  it("goes on after a change of strategy and size in the middle of a rolling update", async () => {
    const bed = await healthy();
    await created(bed, { replicas: 4 });
    await changed(bed, { template: template("broken") });
    await changed(bed, { ...recreate, replicas: 6 });
    expect(sizesIn(bed)).toEqual({ "web:1": 0, broken: 6 });
  });
});

describe("scaling", () => {
  it("leaves a complete Deployment complete, and tells the size", async () => {
    const bed = await healthy();
    await created(bed);
    const { name } = setsIn(bed)[0]?.metadata ?? {};
    await changed(bed, { replicas: 5 });
    expect(statusIn(bed)).toMatchObject({ replicas: 5, availableReplicas: 5, observedGeneration: 2 });
    expect(progress(bed)?.reason).toBe("NewReplicaSetAvailable");
    expect(setsIn(bed)[0]?.metadata.annotations).toMatchObject({
      "deployment.kubernetes.io/desired-replicas": "5",
      "deployment.kubernetes.io/max-replicas": "7",
    });
    await changed(bed, { replicas: 0 });
    expect(statusIn(bed)).toMatchObject({ observedGeneration: 3 });
    expect(statusIn(bed)?.replicas).toBeUndefined();
    expect(told(bed)).toEqual([
      `ScalingReplicaSet: Scaled down replica set ${name} from 5 to 0`,
      `ScalingReplicaSet: Scaled up replica set ${name} from 0 to 3`,
      `ScalingReplicaSet: Scaled up replica set ${name} from 3 to 5`,
    ]);
  });

  it("comes together with a new template", async () => {
    const bed = await healthy();
    await created(bed);
    await changed(bed, { replicas: 1, template: template("web:2") });
    expect(sizesIn(bed)).toEqual({ "web:1": 0, "web:2": 1 });
    expect(statusIn(bed)).toMatchObject({ readyReplicas: 1, updatedReplicas: 1 });
    expect(statusIn(bed)?.unavailableReplicas).toBeUndefined();
  });

  it("does not get stuck when somebody sized the ReplicaSet by hand", async () => {
    const bed = await healthy();
    await created(bed);
    const [set] = setsIn(bed) as [Stored<ReplicaSet>];
    await changed(bed, { paused: true });
    await bed.change(REPLICA_SETS, `default/${set.metadata.name}`, (draft) => ({
      ...draft,
      spec: { ...(draft.spec as object), replicas: 5 },
    }));
    await changed(bed, { paused: false, replicas: 5 });
    await changed(bed, { template: template("web:2") });
    expect(sizesIn(bed)).toEqual({ "web:1": 0, "web:2": 5 });
  });
});

describe("pausing", () => {
  it("holds a rollout, but not its size, and goes on when resumed", async () => {
    const bed = await healthy();
    await created(bed);
    await changed(bed, { paused: true });
    expect(progress(bed)).toMatchObject({
      status: "Unknown",
      reason: "DeploymentPaused",
      message: "Deployment is paused",
    });
    await changed(bed, { template: template("web:2"), replicas: 4 });
    expect(sizesIn(bed)).toEqual({ "web:1": 4 });
    expect(statusIn(bed)).toMatchObject({ replicas: 4, observedGeneration: 3 });
    expect(statusIn(bed)?.updatedReplicas).toBeUndefined();

    await changed(bed, { paused: false });
    expect(sizesIn(bed)).toEqual({ "web:1": 0, "web:2": 4 });
    expect(progress(bed)?.reason).toBe("NewReplicaSetAvailable");
  });

  it("creates no ReplicaSet for a Deployment that is born paused", async () => {
    const bed = await healthy();
    await created(bed, { paused: true });
    expect(setsIn(bed)).toEqual([]);
    expect(statusIn(bed)).toMatchObject({ observedGeneration: 1, terminatingReplicas: 0 });
    expect(progress(bed)?.reason).toBe("DeploymentPaused");
  });

  it("starts the clock of the deadline anew", async () => {
    const bed = await healthy();
    await created(bed, { progressDeadlineSeconds: 60 });
    await changed(bed, { template: template("broken") });
    await changed(bed, { paused: true });
    await bed.pass(120_000);
    expect(progress(bed)?.reason).toBe("DeploymentPaused");
    await changed(bed, { paused: false });
    expect(progress(bed)).toMatchObject({
      status: "Unknown",
      reason: "DeploymentResumed",
      message: "Deployment is resumed",
    });
    await bed.pass(59_000);
    expect(progress(bed)?.reason).toBe("DeploymentResumed");
    await bed.pass(1_000);
    expect(progress(bed)?.reason).toBe("ProgressDeadlineExceeded");
  });
});

describe("the deadline", () => {
  it("is missed when nothing moves, and forgiven when something does", async () => {
    const bed = await idle();
    await created(bed, { replicas: 2, progressDeadlineSeconds: 60 });
    await bed.pass(30_000);
    await setReady(bed, podsIn(bed).slice(0, 1));
    await bed.pass(59_000);
    expect(progress(bed)).toMatchObject({ status: "True", reason: "ReplicaSetUpdated" });
    await bed.pass(1_000);
    expect(progress(bed)).toMatchObject({
      status: "False",
      reason: "ProgressDeadlineExceeded",
      message: `ReplicaSet "${setsIn(bed)[0]?.metadata.name}" has timed out progressing.`,
    });

    const { revision } = bed.store;
    await bed.pass(3_600_000);
    expect(bed.store.revision).toBe(revision);

    await setReady(bed, podsIn(bed));
    expect(progress(bed)).toMatchObject({ status: "True", reason: "NewReplicaSetAvailable" });
  });

  it("is none at its greatest, and then nothing is said of progress", async () => {
    const bed = await healthy();
    await created(bed, { progressDeadlineSeconds: 2 ** 31 - 1 });
    expect(statusIn(bed)?.conditions?.map(({ type }) => type)).toEqual(["Available"]);
  });
});

describe("a failure below", () => {
  it("shows on the Deployment and goes when it is over", async () => {
    const bed = await healthy();
    await created(bed, { template: template("web:1", { priorityClassName: "missing" }) });
    expect(condition(bed, "ReplicaFailure")).toMatchObject({
      status: "True",
      reason: "FailedCreate",
      message: expect.stringContaining("no PriorityClass with name missing was found"),
    });
    expect(progress(bed)?.reason).toBe("NewReplicaSetCreated");
    await changed(bed, { template: template("web:2") });
    expect(condition(bed, "ReplicaFailure")).toBeUndefined();
    expect(progress(bed)?.reason).toBe("NewReplicaSetAvailable");
  });
});

describe("ReplicaSets", () => {
  const loose = (name: string, image: string) => ({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name, namespace: "default", labels },
    spec: { replicas: 3, selector: { matchLabels: labels }, template: template(image) },
  });

  it("of the same template are adopted and used", async () => {
    const bed = await healthy();
    await bed.create(REPLICA_SETS, loose("mine", "web:1"));
    await bed.settle();
    await created(bed);
    expect(setsIn(bed).map(({ metadata }) => metadata.name)).toEqual(["mine"]);
    expect(setsIn(bed)[0]?.metadata.ownerReferences).toMatchObject([{ kind: "Deployment", name: "web" }]);
    expect(revisionOf(deploymentIn(bed))).toBe("1");
    expect(progress(bed)?.reason).toBe("NewReplicaSetAvailable");
  });

  it("that are found without Pods are told as found", async () => {
    const bed = await makeBed((parts) => [deploymentController(parts)]);
    await bed.create(REPLICA_SETS, loose("mine", "web:1"));
    await created(bed);
    expect(progress(bed)).toMatchObject({
      status: "True",
      reason: "FoundNewReplicaSet",
      message: 'Found new replica set "mine"',
    });
  });

  it("are let go when their labels no longer fit, and come back when they do", async () => {
    const bed = await healthy();
    await created(bed);
    const [set] = setsIn(bed) as [Stored<ReplicaSet>];
    const relabel = async (app: string) => {
      await bed.change(REPLICA_SETS, `default/${set.metadata.name}`, (draft) => ({
        ...draft,
        metadata: { ...draft.metadata, labels: { ...draft.metadata.labels, app } },
      }));
      await bed.settle();
    };
    await relabel("odd");
    expect(bed.get(REPLICA_SETS, `default/${set.metadata.name}`)?.metadata.ownerReferences ?? []).toEqual([]);
    expect(statusIn(bed)?.collisionCount).toBe(1);
    expect(setsIn(bed)).toHaveLength(2);
    await relabel("web");
    expect(setsIn(bed).map(({ metadata }) => metadata.ownerReferences?.[0]?.name)).toEqual(["web", "web"]);
    expect(podsIn(bed).filter(isActive)).toHaveLength(3);
  });

  it("of another Deployment are left alone, though both selectors fit", async () => {
    const bed = await healthy();
    await created(bed);
    await bed.create(DEPLOYMENTS, deployment({ replicas: 1 }, { name: "twin" }));
    await bed.settle();
    expect(
      setsIn(bed)
        .map(({ metadata }) => metadata.ownerReferences?.[0]?.name)
        .toSorted(),
    ).toEqual(["twin", "web"]);
    expect(podsIn(bed)).toHaveLength(4);
  });

  it("are not touched any longer by a Deployment that is being deleted", async () => {
    const bed = await healthy();
    await created(bed, {}, { finalizers: ["example.com/held"] });
    await bed.writer.remove(DEPLOYMENTS, deploymentIn(bed));
    await changed(bed, { template: template("web:2") });
    expect(sizesIn(bed)).toEqual({ "web:1": 3 });
    expect(statusIn(bed)?.observedGeneration).toBe(deploymentIn(bed).metadata.generation);
  });
});

describe("the older way to roll back", () => {
  const ROLLBACK = "deprecated.deployment.rollback.to";
  const history = async () => {
    const bed = await healthy();
    await created(bed, {}, { annotations: { cause: "first" } });
    await changed(bed, { template: template("web:2") }, { cause: "second" });
    return bed;
  };

  it("goes to the revision before, with its annotations", async () => {
    const bed = await history();
    await changed(bed, {}, { [ROLLBACK]: "0" });
    expect(sizesIn(bed)).toEqual({ "web:2": 0, "web:1": 3 });
    expect(deploymentIn(bed).metadata.annotations).toEqual({ cause: "first", [REVISION]: "3" });
    expect(told(bed)).toContain('DeploymentRollback: Rolled back deployment "web" to revision 1');
  });

  it.each([
    [
      "2",
      'DeploymentRollbackTemplateUnchanged: The rollback revision contains the same template as current deployment "web"',
    ],
    ["7", "DeploymentRollbackRevisionNotFound: Unable to find the revision to rollback to."],
  ])("to revision %s changes nothing and says why", async (revision, message) => {
    const bed = await history();
    await changed(bed, {}, { [ROLLBACK]: revision });
    expect(sizesIn(bed)).toEqual({ "web:1": 0, "web:2": 3 });
    expect(deploymentIn(bed).metadata.annotations).toEqual({ cause: "second", [REVISION]: "2" });
    expect(told(bed)).toContain(message);
  });
});
