/** Deployments: rollouts, step by step, and what is told of them. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Deployment, DeploymentCondition } from "#api/apps";
import { eventually } from "../support/eventually.ts";
import { refusal, refused, type Staged } from "./stage.ts";
import { imageOf, known, template, Yard } from "./workloads.ts";

const REVISION = "deployment.kubernetes.io/revision";
const isSound = (image: string) => !image.includes("broken");

export function deploymentsSuite(stage: Staged): void {
  let yard: Yard;
  beforeAll(async () => {
    yard = new Yard(stage(), await stage().namespace());
  });

  const deployment = (name: string, spec: object = {}, metadata: object = {}) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, labels: { app: name }, ...metadata },
    spec: { replicas: 2, selector: { matchLabels: { app: name } }, template: template(name), ...spec },
  });
  const created = async (name: string, spec: object = {}, metadata: object = {}) => {
    const { code, body } = await yard.admin.post(yard.deployments(), deployment(name, spec, metadata));
    expect(code).toBe(201);
    return known<Deployment>(body);
  };
  const change = async (name: string, spec: object) => {
    const { code } = await yard.admin.patch(yard.deployments(name), { spec });
    expect(code).toBe(200);
  };
  const complete = (name: string) => yard.readyUntil(name, () => expectComplete(name), isSound);
  const expectComplete = async (name: string) => {
    const { metadata, spec, status } = await yard.deployment(name);
    const { replicas = 0 } = spec;
    expect(status?.observedGeneration).toBe(metadata.generation);
    expect([status?.replicas ?? 0, status?.updatedReplicas ?? 0, status?.availableReplicas ?? 0]).toEqual([
      replicas,
      replicas,
      replicas,
    ]);
    expect(await progressOf(name)).toMatchObject({ status: "True", reason: "NewReplicaSetAvailable" });
  };
  const started = async (name: string, spec: object = {}, metadata: object = {}) => {
    await created(name, spec, metadata);
    await complete(name);
  };
  const conditionOf = async (name: string, type: string): Promise<DeploymentCondition | undefined> =>
    (await yard.deployment(name)).status?.conditions?.find((each) => each.type === type);
  const progressOf = (name: string) => conditionOf(name, "Progressing");
  const revisionOf = async (name: string) => (await yard.deployment(name)).metadata.annotations?.[REVISION];

  describe("a new Deployment", () => {
    it("deployments.replica-set: gets a ReplicaSet that carries the hash of its template", async () => {
      const { metadata } = await created(
        "born",
        { replicas: 3, minReadySeconds: 5 },
        { annotations: { note: "x", "kubectl.kubernetes.io/last-applied-configuration": "{}" } },
      );
      const [set] = await eventually(async () => {
        const sets = await yard.replicaSetsOf("born");
        expect(sets).toHaveLength(1);
        return sets;
      });
      const hash = set?.metadata.labels?.["pod-template-hash"] ?? "";
      expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{4,10}$/);
      expect(set?.metadata).toMatchObject({
        name: `born-${hash}`,
        labels: { app: "born" },
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "Deployment",
            name: "born",
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      });
      expect(set?.metadata.annotations).toEqual({
        note: "x",
        [REVISION]: "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
      });
      expect(set?.spec).toMatchObject({
        replicas: 3,
        minReadySeconds: 5,
        selector: { matchLabels: { app: "born", "pod-template-hash": hash } },
        template: { metadata: { labels: { app: "born", "pod-template-hash": hash } } },
      });
      await eventually(async () => {
        expect(await revisionOf("born")).toBe("1");
        expect(await yard.toldAbout("born")).toContain(
          `ScalingReplicaSet: Scaled up replica set born-${hash} from 0 to 3`,
        );
      });
    });

    it("deployments.status: reports that it progresses, and then that it is complete", async () => {
      await created("told");
      await eventually(async () =>
        expect((await yard.deployment("told")).status).toEqual({
          observedGeneration: 1,
          replicas: 2,
          updatedReplicas: 2,
          unavailableReplicas: 2,
          terminatingReplicas: 0,
          conditions: expect.arrayContaining([
            stated(
              "Available",
              "False",
              "MinimumReplicasUnavailable",
              "Deployment does not have minimum availability.",
            ),
            stated("Progressing", "True", "ReplicaSetUpdated", /^ReplicaSet "told-\w+" is progressing\.$/),
          ]),
        }),
      );
      await complete("told");
      await eventually(async () =>
        expect((await yard.deployment("told")).status).toEqual({
          observedGeneration: 1,
          replicas: 2,
          updatedReplicas: 2,
          readyReplicas: 2,
          availableReplicas: 2,
          terminatingReplicas: 0,
          conditions: expect.arrayContaining([
            stated("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
            stated(
              "Progressing",
              "True",
              "NewReplicaSetAvailable",
              /^ReplicaSet "told-\w+" has successfully progressed\.$/,
            ),
          ]),
        }),
      );
    });

    it("deployments.collision: takes another name when its own is taken", async () => {
      const wish = { replicas: 1, template: template("clash") };
      await created("clash", { ...wish, replicas: 0 });
      const [set] = await eventually(async () => {
        const sets = await yard.replicaSetsOf("clash");
        expect(sets).toHaveLength(1);
        return sets;
      });
      const name = set?.metadata.name ?? "";
      await yard.admin.delete(yard.deployments("clash"), { propagationPolicy: "Foreground" });
      await yard.admin.delete(yard.replicaSets(name));
      await eventually(async () => {
        expect((await yard.admin.get(yard.replicaSets(name))).code).toBe(404);
        expect((await yard.admin.get(yard.deployments("clash"))).code).toBe(404);
      });
      const squatter = { selector: { matchLabels: { app: "squatter" } }, template: template("squatter"), replicas: 0 };
      await yard.admin.post(yard.replicaSets(), { metadata: { name }, spec: squatter });
      await created("clash", wish);
      await complete("clash");
      expect((await yard.deployment("clash")).status?.collisionCount).toBe(1);
      expect((await yard.replicaSetsOf("clash")).map(({ metadata }) => metadata.name)).not.toContain(name);
    });

    it("deployments.paused: is given no ReplicaSet while it is paused", async () => {
      await created("held", { paused: true });
      await eventually(async () => {
        expect(await progressOf("held")).toMatchObject(
          stated("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused"),
        );
        expect((await yard.deployment("held")).status?.observedGeneration).toBe(1);
      });
      expect(await yard.replicaSetsOf("held")).toEqual([]);
      await change("held", { paused: false });
      await complete("held");
    });
  });

  describe("a rollout", () => {
    const limits = { strategy: { rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } };

    it("deployments.rolling-update: replaces all Pods and keeps the old ReplicaSet", async () => {
      await started("moved", { replicas: 3 });
      await change("moved", { template: template("moved", "web:2") });
      await complete("moved");
      expect(await yard.sizesOf("moved")).toEqual({ "web:1": 0, "web:2": 3 });
      const sets = await yard.replicaSetsOf("moved");
      expect(sets.map(({ metadata }) => metadata.annotations?.[REVISION])).toEqual(["1", "2"]);
      expect(await revisionOf("moved")).toBe("2");
      expect((await yard.podsOf("moved")).map(({ spec }) => imageOf(spec))).toEqual(["web:2", "web:2", "web:2"]);
    });

    it("deployments.limits: stops within its limits when new Pods do not work, and is scaled in proportion", async () => {
      await started("stuck", { replicas: 10, ...limits });
      await change("stuck", { template: template("stuck", "broken") });
      await eventually(async () => {
        expect(await yard.sizesOf("stuck")).toEqual({ "web:1": 8, broken: 5 });
        expect((await yard.deployment("stuck")).status).toMatchObject({
          replicas: 13,
          updatedReplicas: 5,
          readyReplicas: 8,
          availableReplicas: 8,
          unavailableReplicas: 5,
        });
      });
      expect(await conditionOf("stuck", "Available")).toMatchObject({ status: "True" });
      await change("stuck", { replicas: 30 });
      await eventually(async () => expect(await yard.sizesOf("stuck")).toEqual({ "web:1": 20, broken: 13 }));
    });

    it("deployments.rollover: turns to a newer template in the middle", async () => {
      await started("hasty", { replicas: 2, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } });
      await change("hasty", { template: template("hasty", "broken") });
      await eventually(async () => expect(await yard.sizesOf("hasty")).toEqual({ "web:1": 2, broken: 1 }));
      await change("hasty", { template: template("hasty", "web:3") });
      await complete("hasty");
      expect(await yard.sizesOf("hasty")).toEqual({ "web:1": 0, broken: 0, "web:3": 2 });
      expect(await revisionOf("hasty")).toBe("3");
    });

    it("deployments.recreate: of a strategy that replaces at once waits until the last old Pod is gone", async () => {
      const onNode = (image: string) => template("fresh", image, { nodeName: "nowhere" });
      await started("fresh", { strategy: { type: "Recreate" }, template: onNode("web:1") });
      const before = await yard.podsOf("fresh");
      await change("fresh", { template: onNode("web:2") });
      await eventually(async () => {
        expect(await yard.sizesOf("fresh")).toEqual({ "web:1": 0 });
        expect((await yard.deployment("fresh")).status).toMatchObject({ terminatingReplicas: 2 });
      });
      for (const { metadata } of before) {
        expect(await yard.sizesOf("fresh")).toEqual({ "web:1": 0 });
        await yard.admin.delete(yard.pods(metadata.name), { gracePeriodSeconds: 0 });
      }
      await complete("fresh");
      expect(await yard.sizesOf("fresh")).toEqual({ "web:1": 0, "web:2": 2 });
    });

    it("deployments.pause: is held while paused, though its size is not, and goes on when resumed", async () => {
      await started("halted", { replicas: 1 });
      await change("halted", { paused: true });
      await change("halted", { template: template("halted", "web:2"), replicas: 2 });
      await eventually(async () => {
        expect(await yard.sizesOf("halted")).toEqual({ "web:1": 2 });
        const { metadata, status } = await yard.deployment("halted");
        expect(status?.observedGeneration).toBe(metadata.generation);
      });
      expect(await progressOf("halted")).toMatchObject({ status: "Unknown", reason: "DeploymentPaused" });
      await change("halted", { paused: false });
      await complete("halted");
      expect(await yard.sizesOf("halted")).toEqual({ "web:1": 0, "web:2": 2 });
    });

    it("deployments.resume: that was held where it cannot go on says that it is resumed", async () => {
      await started("woken", { replicas: 1, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } });
      await change("woken", { template: template("woken", "broken") });
      // Until nothing moves any more: whatever counts still change is progress, and that is said instead.
      const stuck = { replicas: 2, updatedReplicas: 1, availableReplicas: 1, unavailableReplicas: 1 };
      await eventually(async () => expect((await yard.deployment("woken")).status).toMatchObject(stuck));
      await change("woken", { paused: true });
      await eventually(async () => expect((await progressOf("woken"))?.reason).toBe("DeploymentPaused"));
      await change("woken", { paused: false });
      await eventually(async () =>
        expect(await progressOf("woken")).toMatchObject(
          stated("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed"),
        ),
      );
    });

    it("deployments.rollback: goes back to an earlier ReplicaSet, which remembers its revisions", async () => {
      await started("undone", { replicas: 1 });
      await change("undone", { template: template("undone", "web:2") });
      await complete("undone");
      await change("undone", { template: template("undone", "web:1") });
      await complete("undone");
      expect(await yard.sizesOf("undone")).toEqual({ "web:2": 0, "web:1": 1 });
      const [, newest] = await yard.replicaSetsOf("undone");
      expect(newest?.metadata.annotations).toMatchObject({
        [REVISION]: "3",
        "deployment.kubernetes.io/revision-history": "1",
      });
      expect(await revisionOf("undone")).toBe("3");
    });

    it("deployments.rollback-annotation: goes back when an annotation asks for it", async () => {
      await started("wished", { replicas: 1 }, { annotations: { cause: "first" } });
      await yard.admin.patch(yard.deployments("wished"), {
        metadata: { annotations: { cause: "second" } },
        spec: { template: template("wished", "web:2") },
      });
      await complete("wished");
      await yard.admin.patch(yard.deployments("wished"), {
        metadata: { annotations: { "deprecated.deployment.rollback.to": "0" } },
      });
      await eventually(async () => expect(await revisionOf("wished")).toBe("3"));
      await complete("wished");
      const { metadata, spec } = await yard.deployment("wished");
      expect(imageOf(spec.template.spec)).toBe("web:1");
      expect(metadata.annotations).toEqual({ cause: "first", [REVISION]: "3" });
    });

    it("deployments.history: leaves no more old ReplicaSets than are wished for", async () => {
      await started("short", { replicas: 1, revisionHistoryLimit: 1 });
      for (const image of ["web:2", "web:3"]) {
        await change("short", { template: template("short", image) });
        await complete("short");
      }
      await eventually(async () => expect(await yard.sizesOf("short")).toEqual({ "web:2": 0, "web:3": 1 }));
    });

    it("deployments.deadline: that gets nowhere misses its deadline, and is forgiven when it moves", async () => {
      await created("late", { progressDeadlineSeconds: 1 });
      await eventually(async () =>
        expect(await progressOf("late")).toMatchObject(
          stated(
            "Progressing",
            "False",
            "ProgressDeadlineExceeded",
            /^ReplicaSet "late-\w+" has timed out progressing\.$/,
          ),
        ),
      );
      await complete("late");
    });

    it("deployments.no-deadline: without a deadline says nothing of progress", async () => {
      await created("calm", { progressDeadlineSeconds: 2 ** 31 - 1 });
      await yard.readyUntil("calm", async () =>
        expect((await yard.deployment("calm")).status).toMatchObject({
          availableReplicas: 2,
          conditions: [{ type: "Available", status: "True" }],
        }),
      );
    });

    it("deployments.min-ready-seconds: waits with the old until the new have been ready for long enough", async () => {
      await started("careful", { replicas: 1 });
      await change("careful", { minReadySeconds: 2, template: template("careful", "web:2") });
      await yard.readyUntil("careful", async () =>
        expect((await yard.deployment("careful")).status).toMatchObject({ readyReplicas: 2, availableReplicas: 1 }),
      );
      expect(await yard.sizesOf("careful")).toEqual({ "web:1": 1, "web:2": 1 });
      await complete("careful");
      expect(await yard.sizesOf("careful")).toEqual({ "web:1": 0, "web:2": 1 });
    });

    it("deployments.failure: shows why its ReplicaSet cannot create Pods", async () => {
      await created("barred", { template: template("barred", "web:1", { priorityClassName: "missing" }) });
      await eventually(async () =>
        expect(await conditionOf("barred", "ReplicaFailure")).toMatchObject(
          stated("ReplicaFailure", "True", "FailedCreate", /no PriorityClass with name missing was found$/),
        ),
      );
      await eventually(async () =>
        expect(await progressOf("barred")).toMatchObject(
          stated("Progressing", "True", "NewReplicaSetCreated", /^Created new replica set "barred-\w+"$/),
        ),
      );
      await change("barred", { template: template("barred", "web:2", NO_PRIORITY) });
      await complete("barred");
      await eventually(async () => expect(await conditionOf("barred", "ReplicaFailure")).toBeUndefined());
    });
    const NO_PRIORITY = { priorityClassName: null, priority: null, preemptionPolicy: null };

    it("deployments.annotations: hands new annotations on to the newest ReplicaSet", async () => {
      await started("noted", { replicas: 1 });
      const { metadata } = await yard.deployment("noted");
      await yard.admin.patch(yard.deployments("noted"), { metadata: { annotations: { note: "hello" } } });
      await eventually(async () => {
        const [set] = await yard.replicaSetsOf("noted");
        expect(set?.metadata.annotations?.note).toBe("hello");
        const after = await yard.deployment("noted");
        expect(after.metadata.generation).toBe((metadata.generation ?? 0) + 1);
        expect(after.status?.observedGeneration).toBe(after.metadata.generation);
      });
    });
  });

  describe("ReplicaSets", () => {
    const replicaSet = (name: string, app: string, image: string, annotations: object = {}) => ({
      metadata: { name, labels: { app }, annotations },
      spec: { replicas: 1, selector: { matchLabels: { app } }, template: template(app, image) },
    });

    it("deployments.adopt: that fit are adopted, and their revisions counted on, beyond what a number holds", async () => {
      const annotations = { [REVISION]: "3546343826724305832" };
      await yard.admin.post(yard.replicaSets(), replicaSet("lone", "heir", "web:0", annotations));
      await started("heir", { replicas: 1 });
      const { metadata } = await yard.deployment("heir");
      expect(metadata.annotations?.[REVISION]).toBe("3546343826724305833");
      const lone = await yard.replicaSet("lone");
      expect(lone.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid, controller: true }]);
      expect(lone.spec.replicas).toBe(0);
    });

    it("deployments.found: with the same template are used", async () => {
      await yard.admin.post(yard.replicaSets(), replicaSet("ready-made", "lucky", "web:1"));
      await started("lucky", { replicas: 2 });
      const sets = await yard.replicaSetsOf("lucky");
      expect(sets.map(({ metadata, spec }) => [metadata.name, spec.replicas])).toEqual([["ready-made", 2]]);
    });

    it("deployments.release: that no longer fit are let go", async () => {
      await started("parent", { replicas: 1 });
      const [set] = await yard.replicaSetsOf("parent");
      const name = set?.metadata.name ?? "";
      await yard.admin.patch(yard.replicaSets(name), { metadata: { labels: { app: "stranger" } } });
      await eventually(async () => expect((await yard.replicaSet(name)).metadata.ownerReferences ?? []).toEqual([]));
      await complete("parent");
      expect((await yard.replicaSetsOf("parent")).map(({ metadata }) => metadata.name)).not.toContain(name);
    });
  });

  describe("requests", () => {
    it("deployments.scale: change the size through /scale", async () => {
      const path = `${yard.deployments("sized")}/scale`;
      await started("sized", { replicas: 1 });
      const { body } = await yard.admin.get(path);
      expect(body).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 1, selector: "app=sized" } });
      const { resourceVersion: _, ...metadata } = body.metadata;
      const put = await yard.admin.put(path, { ...body, metadata, spec: { replicas: 2 } });
      expect([put.code, put.body.spec]).toEqual([200, { replicas: 2 }]);
      await complete("sized");
      await yard.admin.patch(path, { spec: { replicas: 4 } }, "strategic");
      await complete("sized");
      expect((await yard.admin.get(path)).body).toMatchObject({ spec: { replicas: 4 }, status: { replicas: 4 } });
      const { name } = (await yard.replicaSetsOf("sized"))[0]?.metadata ?? {};
      await eventually(async () =>
        expect(await yard.toldAbout("sized")).toEqual(
          expect.arrayContaining([
            `ScalingReplicaSet: Scaled up replica set ${name} from 1 to 2`,
            `ScalingReplicaSet: Scaled up replica set ${name} from 2 to 4`,
          ]),
        ),
      );
    });

    it("deployments.status-endpoint: to /status keep conditions of others, and counts are mended", async () => {
      await started("stated", { replicas: 1 });
      const path = `${yard.deployments("stated")}/status`;
      const { body } = await yard.admin.get(path);
      const { status } = known<Deployment>(body);
      const foreign = { type: "StatusUpdate", status: "True", reason: "E2E", message: "Set from a test" };
      const conditions = [...(status?.conditions ?? []), foreign];
      const put = await yard.admin.put(path, { ...body, status: { ...status, conditions, availableReplicas: 0 } });
      expect(put.code).toBe(200);
      await eventually(async () => {
        expect((await yard.deployment("stated")).status).toMatchObject({ availableReplicas: 1 });
        expect(await conditionOf("stated", "StatusUpdate")).toMatchObject(foreign);
      });
      await yard.admin.patch(path, { status: { conditions: [{ type: "StatusPatched", status: "True" }] } });
      await eventually(async () => {
        const types = (await yard.deployment("stated")).status?.conditions?.map(({ type }) => type);
        expect(types?.toSorted()).toEqual(["Available", "Progressing", "StatusPatched"]);
        await expectComplete("stated");
      });
    });

    it("deployments.lifecycle: from creation to deletion are followed by a watch", async () => {
      const watch = await yard.admin.watch(`${yard.deployments()}?watch=true&labelSelector=app%3Dlived`);
      const wish = await created("lived");
      await complete("lived");
      const patched = await yard.admin.patch(
        yard.deployments("lived"),
        {
          metadata: { labels: { test: "patched" } },
          spec: {
            replicas: 1,
            template: { spec: { terminationGracePeriodSeconds: 2, containers: [{ name: "main", image: "web:2" }] } },
          },
        },
        "strategic",
      );
      expect(patched.code).toBe(200);
      await complete("lived");
      expect((await yard.deployment("lived")).status).toMatchObject({ readyReplicas: 1, updatedReplicas: 1 });

      const { resourceVersion: _, ...metadata } = wish.metadata;
      const put = await yard.admin.put(yard.deployments("lived"), {
        ...deployment("lived", { template: template("lived", "web:3") }),
        metadata: { ...metadata, labels: { app: "lived", test: "updated" } },
      });
      expect(put.code).toBe(200);
      await complete("lived");
      expect(await yard.sizesOf("lived")).toMatchObject({ "web:3": 2 });
      expect(await revisionOf("lived")).toBe("3");

      const gone = await yard.admin.delete(`${yard.deployments()}?labelSelector=app%3Dlived`, {
        gracePeriodSeconds: 1,
      });
      expect(gone.code).toBe(200);
      await eventually(() => expect(watch.events.at(-1)?.type).toBe("DELETED"));
      expect(watch.events[0]?.type).toBe("ADDED");
      watch.close();
    });

    it("deployments.table: for a table show how far it is", async () => {
      await started("shown");
      const { body } = await yard.admin.get(yard.deployments("shown"), {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      });
      const { columnDefinitions, rows } = body as unknown as {
        columnDefinitions: { name: string }[];
        rows: { cells: unknown[] }[];
      };
      expect(columnDefinitions.map(({ name }) => name).slice(0, 5)).toEqual([
        "Name",
        "Ready",
        "Up-to-date",
        "Available",
        "Age",
      ]);
      expect(rows[0]?.cells.slice(0, 4)).toEqual(["shown", "2/2", 2, 2]);
    });

    const rolling = (rollingUpdate: object) => ({ strategy: { type: "RollingUpdate", rollingUpdate } });
    const field = (name: string) => `spec.strategy.rollingUpdate.${name} FieldValueInvalid`;
    it.each([
      ["negative replicas", { replicas: -1 }, "spec.replicas FieldValueInvalid"],
      ["a negative wait", { minReadySeconds: -1 }, "spec.minReadySeconds FieldValueInvalid"],
      ["a negative history", { revisionHistoryLimit: -1 }, "spec.revisionHistoryLimit FieldValueInvalid"],
      ["a negative deadline", { progressDeadlineSeconds: -1 }, "spec.progressDeadlineSeconds FieldValueInvalid"],
      [
        "a deadline before it can be ready",
        { progressDeadlineSeconds: 5, minReadySeconds: 5 },
        "spec.progressDeadlineSeconds FieldValueInvalid",
      ],
      ["a surge that is no amount", rolling({ maxSurge: "some" }), field("maxSurge")],
      ["a negative surge", rolling({ maxSurge: -1 }), field("maxSurge")],
      ["more missing than there are", rolling({ maxUnavailable: "101%" }), field("maxUnavailable")],
      ["no room to move", rolling({ maxSurge: 0, maxUnavailable: "0%" }), field("maxUnavailable")],
      ["an unknown strategy", { strategy: { type: "Sudden" } }, "spec.strategy FieldValueNotSupported"],
      [
        "limits for what has none",
        { strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } },
        "spec.strategy.rollingUpdate FieldValueForbidden",
      ],
      ["everything selected", { selector: {} }, "spec.selector FieldValueInvalid"],
      ["labels that do not fit", { template: template("else") }, "spec.template.metadata.labels FieldValueInvalid"],
    ])("deployments.refusals: with %s are refused", async (_, spec, cause) => {
      const reply = await yard.admin.post(yard.deployments(), deployment("refused", spec));
      expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
    });
  });
}

/** A condition as it should be, whenever it was said. */
function stated(type: string, status: string, reason: string, message: string | RegExp) {
  return expect.objectContaining({
    type,
    status,
    reason,
    message: typeof message === "string" ? message : expect.stringMatching(message),
    lastTransitionTime: expect.any(String),
  });
}
