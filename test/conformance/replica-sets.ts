/** ReplicaSets: as many Pods as wished for, and what is told of them. */
import { beforeAll, describe, expect, it } from "vitest";
import type { ReplicaSet } from "#api/apps";
import { eventually } from "../support/eventually.ts";
import { refusal, refused, type Staged } from "./stage.ts";
import { known, template, Yard } from "./workloads.ts";

export function replicaSetsSuite(stage: Staged): void {
  let yard: Yard;
  beforeAll(async () => {
    yard = new Yard(stage(), await stage().namespace());
  });

  const replicaSet = (name: string, replicas: number, spec: object = {}) => ({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name, labels: { app: name } },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: template(name), ...spec },
  });
  const pod = (name: string, app: string) => ({ metadata: { name, labels: { app } }, spec: template(app).spec });
  const started = async (name: string, replicas: number, spec: object = {}) => {
    const { code, body } = await yard.admin.post(yard.replicaSets(), replicaSet(name, replicas, spec));
    expect(code).toBe(201);
    await eventually(async () => {
      expect(await yard.podsOf(name)).toHaveLength(replicas);
      expect((await yard.replicaSet(name)).status?.replicas).toBe(replicas);
    });
    return known<ReplicaSet>(body);
  };
  const statusOf = async (name: string) => (await yard.replicaSet(name)).status;

  describe("Pods", () => {
    it("replicasets.create: are created, owned, named after it, and told", async () => {
      const { metadata } = await started("born", 2);
      for (const each of await yard.podsOf("born")) {
        expect(each.metadata.name).toMatch(/^born-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
        expect(each.metadata.generateName).toBe("born-");
        expect(each.metadata.ownerReferences).toEqual([
          {
            apiVersion: "apps/v1",
            kind: "ReplicaSet",
            name: "born",
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ]);
        await eventually(async () =>
          expect(await yard.toldAbout("born")).toContain(`SuccessfulCreate: Created pod: ${each.metadata.name}`),
        );
      }
    });

    it("replicasets.replace: are replaced when they are deleted or have ended", async () => {
      await started("worn", 2);
      const [first, second] = (await yard.podsOf("worn")).map(({ metadata }) => metadata.name);
      await yard.admin.delete(yard.pods(first));
      await yard.admin.patch(`${yard.pods(second)}/status`, { status: { phase: "Failed" } });
      await eventually(async () => {
        const pods = await yard.podsOf("worn");
        expect(pods.filter(({ status }) => status?.phase !== "Failed")).toHaveLength(2);
        expect(pods.map(({ metadata }) => metadata.name)).toContain(second);
        expect(pods.map(({ metadata }) => metadata.name)).not.toContain(first);
      });
    });

    it("replicasets.adopt: are adopted when they fit, and let go when they no longer do", async () => {
      await eventually(async () =>
        expect((await yard.admin.post(yard.pods(), pod("orphan", "kind"))).code).toBeLessThan(410),
      );
      const { metadata } = await started("kind", 1);
      const ownersOf = async (name: string) => {
        const { body } = await yard.admin.get(yard.pods(name));
        return (body.metadata.ownerReferences ?? []).map(({ uid }) => uid);
      };
      await eventually(async () => expect(await ownersOf("orphan")).toEqual([metadata.uid]));
      await yard.admin.patch(yard.pods("orphan"), { metadata: { labels: { app: "unkind" } } });
      await eventually(async () => {
        expect(await ownersOf("orphan")).toEqual([]);
        expect(await yard.podsOf("kind")).toHaveLength(1);
      });
      await yard.admin.delete(yard.pods("orphan"));
    });

    it("replicasets.delete-order: go in the order in which their loss is felt least", async () => {
      await started("spare", 4);
      const pods = await yard.podsOf("spare");
      const [idle, cheap, plain, dear] = pods.map(({ metadata }) => metadata.name);
      await yard.setReady(pods.slice(1));
      const cost = "controller.kubernetes.io/pod-deletion-cost";
      await yard.admin.patch(yard.pods(cheap), { metadata: { annotations: { [cost]: "-5" } } });
      await yard.admin.patch(yard.pods(dear), { metadata: { annotations: { [cost]: "5" } } });
      await eventually(async () => expect((await statusOf("spare"))?.readyReplicas).toBe(3));
      for (const [replicas, gone] of [
        [3, idle],
        [2, cheap],
        [1, plain],
      ] as const) {
        await yard.admin.patch(yard.replicaSets("spare"), { spec: { replicas } });
        await eventually(async () => expect((await yard.admin.get(yard.pods(gone))).code).toBe(404));
        await eventually(async () =>
          expect(await yard.toldAbout("spare")).toContain(`SuccessfulDelete: Deleted pod: ${gone}`),
        );
      }
      expect((await yard.podsOf("spare")).map(({ metadata }) => metadata.name)).toEqual([dear]);
    });
  });

  describe("the status", () => {
    it("replicasets.status: counts Pods that are ready, and those that have been for long enough", async () => {
      await started("timed", 2, { minReadySeconds: 2 });
      expect(await statusOf("timed")).toEqual({
        replicas: 2,
        fullyLabeledReplicas: 2,
        terminatingReplicas: 0,
        observedGeneration: 1,
      });
      await yard.setReady(await yard.podsOf("timed"));
      await eventually(async () => expect(await statusOf("timed")).toMatchObject({ readyReplicas: 2 }));
      await eventually(async () =>
        expect(await statusOf("timed")).toMatchObject({ readyReplicas: 2, availableReplicas: 2 }),
      );
      await yard.setReady((await yard.podsOf("timed")).slice(0, 1), false);
      await eventually(async () =>
        expect(await statusOf("timed")).toMatchObject({ replicas: 2, readyReplicas: 1, availableReplicas: 1 }),
      );
    });

    it("replicasets.terminating: counts Pods on their way out until they are gone", async () => {
      await started("slow", 2, { template: template("slow", "web:1", { nodeName: "nowhere" }) });
      const before = await yard.podsOf("slow");
      await yard.admin.patch(yard.replicaSets("slow"), { spec: { replicas: 1 } });
      await eventually(async () =>
        expect(await statusOf("slow")).toMatchObject({ replicas: 1, terminatingReplicas: 1, observedGeneration: 2 }),
      );
      const stays = (await yard.podsOf("slow")).map(({ metadata }) => metadata.name);
      const leaving = before.find(({ metadata }) => !stays.includes(metadata.name));
      await yard.admin.delete(yard.pods(leaving?.metadata.name), { gracePeriodSeconds: 0 });
      await eventually(async () =>
        expect(await statusOf("slow")).toMatchObject({ replicas: 1, terminatingReplicas: 0 }),
      );
    });

    it("replicasets.status-endpoint: keeps conditions of others, and mends counts that others wrote", async () => {
      await started("told", 1);
      const path = `${yard.replicaSets("told")}/status`;
      const { body } = await yard.admin.get(path);
      const foreign = { type: "StatusUpdate", status: "True", reason: "E2E", message: "Set from a test" };
      const put = await yard.admin.put(path, { ...body, status: { ...statusIn(body), conditions: [foreign] } });
      expect(put.code).toBe(200);
      const patched = await yard.admin.patch(path, { status: { readyReplicas: 1, replicas: 7 } });
      expect(patched.body.status).toMatchObject({ readyReplicas: 1, replicas: 7 });
      await eventually(async () => {
        const status = await statusOf("told");
        expect(status).toMatchObject({ replicas: 1, conditions: [foreign] });
        expect(status?.readyReplicas).toBeUndefined();
      });
    });

    it("replicasets.failure: says why Pods cannot be created, and forgets it when they can", async () => {
      const broken = template("broken", "web:1", { priorityClassName: "missing" });
      await yard.admin.post(yard.replicaSets(), replicaSet("broken", 3, { template: broken }));
      const why = /^pods "broken-[a-z0-9]*" is forbidden: no PriorityClass with name missing was found$/;
      await eventually(async () =>
        expect(await statusOf("broken")).toMatchObject({
          replicas: 0,
          observedGeneration: 1,
          conditions: [
            { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: expect.stringMatching(why) },
          ],
        }),
      );
      await eventually(async () =>
        expect(await yard.toldAbout("broken")).toContainEqual(
          expect.stringMatching(/^FailedCreate: Error creating: pods "broken-/),
        ),
      );
      await yard.admin.patch(yard.replicaSets("broken"), {
        spec: { template: { spec: { priorityClassName: null, priority: null, preemptionPolicy: null } } },
      });
      await eventually(async () => {
        const status = await statusOf("broken");
        expect(status).toMatchObject({ replicas: 3, observedGeneration: 2 });
        expect(status?.conditions).toBeUndefined();
      });
    });
  });

  describe("changes", () => {
    it("replicasets.scale: are made and seen through /scale", async () => {
      const path = `${yard.replicaSets("sized")}/scale`;
      await started("sized", 1);
      const { body } = await yard.admin.get(path);
      expect(body).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 1, selector: "app=sized" } });
      const { resourceVersion: _, ...metadata } = body.metadata;
      const put = await yard.admin.put(path, { ...body, metadata, spec: { replicas: 2 } });
      expect(put.body.spec).toEqual({ replicas: 2 });
      expect((await yard.replicaSet("sized")).spec.replicas).toBe(2);
      await yard.admin.patch(path, { spec: { replicas: 4 } }, "strategic");
      await eventually(async () => {
        expect(await yard.podsOf("sized")).toHaveLength(4);
        expect((await yard.admin.get(path)).body).toMatchObject({ spec: { replicas: 4 }, status: { replicas: 4 } });
      });
    });

    it("replicasets.template: of the template are for the Pods to come", async () => {
      await started("patched", 1);
      const { code } = await yard.admin.patch(
        yard.replicaSets("patched"),
        {
          metadata: { labels: { test: "patched" } },
          spec: {
            replicas: 2,
            template: { spec: { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image: "web:2" }] } },
          },
        },
        "strategic",
      );
      expect(code).toBe(200);
      await eventually(async () => {
        const images = (await yard.podsOf("patched")).map(({ spec }) => spec.containers[0]?.image);
        expect(images.toSorted()).toEqual(["web:1", "web:2"]);
      });
    });

    it("replicasets.deleting: of one that is being deleted bring no new Pods", async () => {
      const { metadata } = await started("ending", 1);
      await yard.admin.patch(yard.replicaSets("ending"), { metadata: { finalizers: ["example.com/held"] } });
      await yard.admin.delete(yard.replicaSets("ending"));
      const [last] = await yard.podsOf("ending");
      await yard.admin.delete(yard.pods(last?.metadata.name));
      await eventually(async () => {
        const set = await yard.replicaSet("ending");
        expect(set.status).toMatchObject({ replicas: 0, observedGeneration: set.metadata.generation });
        expect(set.metadata.uid).toBe(metadata.uid);
      });
      expect(await yard.podsOf("ending")).toEqual([]);
      await yard.admin.patch(yard.replicaSets("ending"), { metadata: { finalizers: null } });
    });

    it("replicasets.delete-collection: of many are made at once", async () => {
      await started("many", 1);
      const { code } = await yard.admin.delete(`${yard.replicaSets()}?labelSelector=app%3Dmany`, {
        gracePeriodSeconds: 1,
      });
      expect(code).toBe(200);
      expect(await yard.replicaSetsOf("many")).toEqual([]);
    });

    it("replicasets.table: show in what people read", async () => {
      await started("shown", 2);
      const { body } = await yard.admin.get(yard.replicaSets("shown"), {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
      });
      const [row] = body.rows as { cells: unknown[] }[];
      expect(row?.cells.slice(0, 4)).toEqual(["shown", 2, 2, 0]);
    });

    it.each([
      ["negative replicas", { replicas: -1 }, "spec.replicas FieldValueInvalid"],
      ["a negative wait", { minReadySeconds: -1 }, "spec.minReadySeconds FieldValueInvalid"],
      ["no selector", { selector: {} }, "spec.selector FieldValueInvalid"],
      [
        "labels that do not fit",
        { template: template("elsewhere") },
        "spec.template.metadata.labels FieldValueInvalid",
      ],
    ])("replicasets.refusals: with %s are refused", async (_, spec, cause) => {
      const reply = await yard.admin.post(yard.replicaSets(), replicaSet("refused", 1, spec));
      expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
    });
  });
}

function statusIn(body: { readonly [field: string]: unknown }): object {
  return body.status as object;
}
