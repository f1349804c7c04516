/** ReplicationControllers: what there was before ReplicaSets, and still is. */
import { beforeAll, expect, it } from "vitest";
import type { ReplicasStatus } from "#api/apps";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { refusal, refused, type Staged } from "./stage.ts";
import { template, Yard } from "./workloads.ts";

export function replicationControllersSuite(stage: Staged): void {
  let yard: Yard;
  beforeAll(async () => {
    yard = new Yard(stage(), await stage().namespace());
  });

  const controller = (name: string, replicas: number, spec: object = {}) => ({
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name },
    spec: { replicas, template: template(name), ...spec },
  });
  const statusIn = ({ status }: Body) => status as ReplicasStatus;
  const read = async (name: string) => (await yard.admin.get(yard.controllers(name))).body;
  const started = async (name: string, replicas: number, spec: object = {}) => {
    const { code, body } = await yard.admin.post(yard.controllers(), controller(name, replicas, spec));
    expect(code).toBe(201);
    await eventually(async () => {
      expect(await yard.podsOf(name)).toHaveLength(replicas);
      expect(statusIn(await read(name)).replicas).toBe(replicas);
    });
    return body;
  };
  const ownersOf = async (name: string) => {
    const { body } = await yard.admin.get(yard.pods(name));
    return (body.metadata.ownerReferences ?? []).map(({ uid }) => uid);
  };

  it("replicationcontrollers.create: takes selector and labels from its template, and creates its Pods", async () => {
    const { metadata, spec } = await started("born", 2);
    expect(metadata.labels).toEqual({ app: "born" });
    expect(spec).toMatchObject({ replicas: 2, selector: { app: "born" } });
    for (const pod of await yard.podsOf("born")) {
      expect(pod.metadata.name).toMatch(/^born-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      expect(pod.metadata.ownerReferences).toEqual([
        {
          apiVersion: "v1",
          kind: "ReplicationController",
          name: "born",
          uid: metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
      await eventually(async () =>
        expect(await yard.toldAbout("born")).toContain(`SuccessfulCreate: Created pod: ${pod.metadata.name}`),
      );
    }
    await yard.setReady(await yard.podsOf("born"));
    await eventually(async () =>
      expect(statusIn(await read("born"))).toEqual({
        replicas: 2,
        fullyLabeledReplicas: 2,
        readyReplicas: 2,
        availableReplicas: 2,
        observedGeneration: 1,
      }),
    );
  });

  it("replicationcontrollers.lifecycle: is patched, scaled, reported on and deleted, and every step is seen", async () => {
    const watch = await yard.admin.watch(`${yard.controllers()}?watch=true&labelSelector=app%3Dlived`);
    await started("lived", 1);
    await yard.setReady(await yard.podsOf("lived"));
    await eventually(async () => expect(statusIn(await read("lived"))).toMatchObject({ readyReplicas: 1 }));

    const labelled = await yard.admin.patch(
      yard.controllers("lived"),
      { metadata: { labels: { test: "patched" } } },
      "strategic",
    );
    expect(labelled.body.metadata.labels).toEqual({ app: "lived", test: "patched" });

    const status = { readyReplicas: 0, availableReplicas: 0 };
    const patched = await yard.admin.patch(`${yard.controllers("lived")}/status`, { status }, "strategic");
    expect(patched.code).toBe(200);
    expect(statusIn(patched.body).readyReplicas).toBeUndefined();
    await eventually(async () => expect(statusIn(await read("lived"))).toMatchObject({ readyReplicas: 1 }));

    await yard.admin.patch(`${yard.controllers("lived")}/scale`, { spec: { replicas: 2 } }, "strategic");
    await eventually(async () => expect(await yard.podsOf("lived")).toHaveLength(2));
    await yard.readyUntil("lived", async () =>
      expect(statusIn(await read("lived"))).toMatchObject({ replicas: 2, readyReplicas: 2, observedGeneration: 2 }),
    );

    await yard.admin.delete(`${yard.controllers()}?labelSelector=app%3Dlived`, {});
    await eventually(() => expect(watch.events.at(-1)?.type).toBe("DELETED"));
    expect(new Set(watch.events.slice(1, -1).map(({ type }) => type))).toEqual(new Set(["MODIFIED"]));
    watch.close();
  });

  it("replicationcontrollers.adopt: adopts Pods that fit, and lets them go when they no longer do", async () => {
    await eventually(async () =>
      expect(
        (await yard.admin.post(yard.pods(), { metadata: { name: "orphan", labels: { app: "kind" } }, ...podSpec }))
          .code,
      ).toBeLessThan(410),
    );
    const { metadata } = await started("kind", 1);
    await eventually(async () => expect(await ownersOf("orphan")).toEqual([metadata.uid]));
    await yard.admin.patch(yard.pods("orphan"), { metadata: { labels: { app: "unkind" } } });
    await eventually(async () => {
      expect(await ownersOf("orphan")).toEqual([]);
      expect(await yard.podsOf("kind")).toHaveLength(1);
    });
    await yard.admin.delete(yard.pods("orphan"));
  });
  const podSpec = { spec: template("kind").spec };

  it("replicationcontrollers.failure: says why Pods cannot be created, and forgets it when they can", async () => {
    const broken = template("broken", "web:1", { serviceAccountName: "ghost" });
    await yard.admin.post(yard.controllers(), controller("broken", 2, { template: broken }));
    await eventually(async () =>
      expect(statusIn(await read("broken"))).toMatchObject({
        replicas: 0,
        conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate" }],
      }),
    );
    await yard.admin.patch(yard.controllers("broken"), { spec: { replicas: 0 } });
    await eventually(async () => {
      const status = statusIn(await read("broken"));
      expect(status.observedGeneration).toBe(2);
      expect(status.conditions).toBeUndefined();
    });
  });

  it("replicationcontrollers.scale: shows its size through /scale", async () => {
    await started("sized", 1);
    const { body } = await yard.admin.get(`${yard.controllers("sized")}/scale`);
    expect(body).toMatchObject({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      spec: { replicas: 1 },
      status: { replicas: 1, selector: "app=sized" },
    });
    const { resourceVersion: _, ...metadata } = body.metadata;
    await yard.admin.put(`${yard.controllers("sized")}/scale`, { ...body, metadata, spec: { replicas: 2 } });
    await eventually(async () => expect(statusIn(await read("sized")).replicas).toBe(2));
  });

  it("replicationcontrollers.selector: may change what it wants, and then lets go of what it had", async () => {
    await started("fickle", 1);
    const before = await yard.podsOf("fickle");
    await yard.admin.patch(yard.controllers("fickle"), {
      spec: {
        selector: { app: "fickle", tier: "b" },
        template: { metadata: { labels: { app: "fickle", tier: "b" } } },
      },
    });
    await eventually(async () => {
      const pods = await yard.podsOf("fickle");
      expect(pods.filter(({ metadata }) => metadata.labels?.tier === "b")).toHaveLength(1);
      expect(await ownersOf(before[0]?.metadata.name ?? "")).toEqual([]);
    });
  });

  it.each([
    ["negative replicas", { replicas: -1 }, ["spec.replicas FieldValueInvalid"]],
    ["a negative wait", { minReadySeconds: -1 }, ["spec.minReadySeconds FieldValueInvalid"]],
    ["no template", { template: null, selector: { app: "refused" } }, ["spec.template FieldValueRequired"]],
    ["labels that do not fit", { selector: { app: "other" } }, ["spec.template.metadata.labels FieldValueInvalid"]],
    [
      "nothing to select by",
      { template: { ...template("refused"), metadata: {} } },
      ["spec.selector FieldValueRequired"],
    ],
  ])("replicationcontrollers.refusals: is refused with %s", async (_, spec, causes) => {
    const reply = await yard.admin.post(yard.controllers(), controller("refused", 1, spec));
    expect(refusal(reply)).toEqual(refused(422, "Invalid", ...causes));
  });
}
