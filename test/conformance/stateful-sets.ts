/** StatefulSets: Pods in order, each with its name and its claims, and how they are replaced. */
import { beforeAll, describe, expect, it } from "vitest";
import type { ControllerRevision, StatefulSet } from "#api/apps";
import type { Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { eventually } from "../support/eventually.ts";
import { at, inGroup, refusal, refused, type Staged } from "./stage.ts";
import { imageOf, known, template, Yard } from "./workloads.ts";

const claimTemplate = {
  metadata: { name: "data", labels: { tier: "disk" } },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

export function statefulSetsSuite(stage: Staged): void {
  let yard: Yard;
  beforeAll(async () => {
    yard = new Yard(stage(), await stage().namespace());
  });

  const sets = (name?: string) => inGroup("apps", "v1", "statefulsets", yard.space, name);
  const claims = (name?: string) => at(yard.space, "persistentvolumeclaims", name);
  const wish = (name: string, spec: object = {}) => ({
    metadata: { name, annotations: { note: "x" } },
    spec: {
      replicas: 2,
      serviceName: "svc",
      selector: { matchLabels: { app: name } },
      template: template(name),
      ...spec,
    },
  });
  const created = async (name: string, spec: object = {}) => {
    const { code, body } = await yard.admin.post(sets(), wish(name, spec));
    expect(code).toBe(201);
    return known<StatefulSet>(body);
  };
  const change = async (name: string, spec: object) =>
    expect((await yard.admin.patch(sets(name), { spec })).code).toBe(200);
  const read = async (name: string) => known<StatefulSet>((await yard.admin.get(sets(name))).body);
  const statusOf = async (name: string) => (await read(name)).status;
  const podNames = async (name: string) => (await yard.podsOf(name)).map(({ metadata }) => metadata.name);
  const images = async (name: string) => (await yard.podsOf(name)).map(({ spec }) => imageOf(spec));
  const revisionsOf = async (name: string) => {
    const path = `${inGroup("apps", "v1", "controllerrevisions", yard.space)}?labelSelector=app%3D${name}`;
    const revisions = known<ControllerRevision[]>((await yard.admin.get(path)).body.items);
    return revisions.toSorted((a, b) => a.revision - b.revision);
  };
  const hasPods = (name: string, ...names: string[]) =>
    eventually(async () => expect(await podNames(name)).toEqual(names));
  const hasImages = (name: string, ...expected: string[]) =>
    eventually(async () => expect(await images(name)).toEqual(expected));
  /** Created, and all of its Pods ready and counted. */
  const started = async (name: string, spec: object = {}) => {
    const { spec: wished } = await created(name, spec);
    const replicas = wished.replicas ?? 0;
    await yard.readyUntil(name, async () =>
      expect(await statusOf(name)).toMatchObject({ readyReplicas: replicas, currentReplicas: replicas }),
    );
  };
  const settled = (name: string, holds: () => Promise<void>) => yard.readyUntil(name, holds);
  /** All of its Pods have that image and are ready, and it knows. */
  const updated = (name: string, image: string) =>
    settled(name, async () => {
      const { metadata, spec, status } = await read(name);
      expect(status?.observedGeneration).toBe(metadata.generation);
      expect(status?.currentRevision).toBe(status?.updateRevision);
      expect(status?.readyReplicas).toBe(spec.replicas);
      expect(new Set(await images(name))).toEqual(new Set([image]));
    });

  describe("the Pods of a StatefulSet", () => {
    it("statefulsets.order: come one after the other, each when the one before is ready", async () => {
      await created("ordered", { replicas: 3 });
      await hasPods("ordered", "ordered-0");
      await eventually(async () => expect(await statusOf("ordered")).toMatchObject({ replicas: 1 }));
      await yard.setReady(await yard.podsOf("ordered"));
      await hasPods("ordered", "ordered-0", "ordered-1");
      await yard.setReady(await yard.podsOf("ordered"));
      await hasPods("ordered", "ordered-0", "ordered-1", "ordered-2");
    });

    it("statefulsets.identity: have a name, labels and a host name of their own", async () => {
      const { metadata } = await created("named", { replicas: 1 });
      await hasPods("named", "named-0");
      const [pod] = await yard.podsOf("named");
      const [revision] = await revisionsOf("named");
      expect(pod?.metadata).toMatchObject({
        generateName: "named-",
        labels: {
          app: "named",
          "apps.kubernetes.io/pod-index": "0",
          "controller-revision-hash": revision?.metadata.name,
          "statefulset.kubernetes.io/pod-name": "named-0",
        },
        ownerReferences: [
          {
            apiVersion: "apps/v1",
            kind: "StatefulSet",
            name: "named",
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      });
      expect(pod?.spec).toMatchObject({ hostname: "named-0", subdomain: "svc" });
      await eventually(async () =>
        expect(await yard.toldAbout("named")).toEqual([
          "SuccessfulCreate: Create Pod named-0 in StatefulSet named successful",
        ]),
      );
    });

    it("statefulsets.parallel: come all at once where order does not matter", async () => {
      await created("parallel", { replicas: 3, podManagementPolicy: "Parallel" });
      await hasPods("parallel", "parallel-0", "parallel-1", "parallel-2");
      await change("parallel", { replicas: 1 });
      await hasPods("parallel", "parallel-0");
    });

    it("statefulsets.scale-down: go from the last, while all that stay are ready", async () => {
      await started("shrinking", { replicas: 3 });
      const [first] = await yard.podsOf("shrinking");
      await yard.setReady(first ? [first] : [], false);
      await eventually(async () => expect(await statusOf("shrinking")).toMatchObject({ readyReplicas: 2 }));
      await change("shrinking", { replicas: 1 });
      await eventually(async () => expect((await statusOf("shrinking"))?.observedGeneration).toBe(2));
      expect(await podNames("shrinking")).toEqual(["shrinking-0", "shrinking-1", "shrinking-2"]);
      await yard.setReady(first ? [first] : []);
      await hasPods("shrinking", "shrinking-0");
      await eventually(async () =>
        expect(await yard.toldAbout("shrinking")).toEqual(
          expect.arrayContaining([
            "SuccessfulDelete: Delete Pod shrinking-1 in StatefulSet shrinking successful",
            "SuccessfulDelete: Delete Pod shrinking-2 in StatefulSet shrinking successful",
          ]),
        ),
      );
    });

    it("statefulsets.ordinals: count from where they are told", async () => {
      await created("counted", { ordinals: { start: 5 }, podManagementPolicy: "Parallel" });
      await hasPods("counted", "counted-5", "counted-6");
    });

    it.each(["Failed", "Succeeded"])("statefulsets.replace-ended: are replaced when they have %s", async (phase) => {
      const name = `ended-${phase.toLowerCase()}`;
      await started(name, { replicas: 1 });
      const [before] = await yard.podsOf(name);
      await yard.admin.patch(`${yard.pods(`${name}-0`)}/status`, { status: { phase } });
      await eventually(async () => {
        const [after] = await yard.podsOf(name);
        expect(after?.metadata.name).toBe(`${name}-0`);
        expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
      });
    });

    it("statefulsets.min-ready: count as available when they have been ready for long enough", async () => {
      await created("patient", { replicas: 2, minReadySeconds: 3 });
      await hasPods("patient", "patient-0");
      await yard.setReady(await yard.podsOf("patient"));
      await eventually(async () =>
        expect(await statusOf("patient")).toMatchObject({ readyReplicas: 1, availableReplicas: 0 }),
      );
      expect(await podNames("patient")).toEqual(["patient-0"]);
      await hasPods("patient", "patient-0", "patient-1");
      await eventually(async () => expect(await statusOf("patient")).toMatchObject({ availableReplicas: 1 }));
    });
  });

  describe("what a StatefulSet reports", () => {
    it("statefulsets.status: counts its Pods by state and by revision", async () => {
      await started("counting");
      const [revision] = await revisionsOf("counting");
      const name = revision?.metadata.name;
      await eventually(async () =>
        expect(await statusOf("counting")).toEqual({
          observedGeneration: 1,
          replicas: 2,
          readyReplicas: 2,
          currentReplicas: 2,
          updatedReplicas: 2,
          availableReplicas: 2,
          currentRevision: name,
          updateRevision: name,
          collisionCount: 0,
        }),
      );
    });

    it("statefulsets.scale: is scaled through its own subresource", async () => {
      await started("scaled", { replicas: 1 });
      const scale = `${sets("scaled")}/scale`;
      const { body } = await yard.admin.get(scale);
      expect(body).toMatchObject({
        kind: "Scale",
        spec: { replicas: 1 },
        status: { replicas: 1, selector: "app=scaled" },
      });
      expect((await yard.admin.put(scale, { ...body, spec: { replicas: 2 } })).code).toBe(200);
      await hasPods("scaled", "scaled-0", "scaled-1");
    });
  });

  describe("an update of a StatefulSet", () => {
    it("statefulsets.rolling-update: replaces Pods from the last, each when the one after it is ready", async () => {
      await started("rolling", { podManagementPolicy: "Parallel" });
      const old = (await statusOf("rolling"))?.currentRevision;
      await change("rolling", { template: template("rolling", "web:2") });
      await hasImages("rolling", "web:1", "web:2");
      await eventually(async () =>
        expect(await statusOf("rolling")).toMatchObject({
          currentRevision: old,
          currentReplicas: 1,
          updatedReplicas: 1,
        }),
      );
      await settled("rolling", async () => {
        const status = await statusOf("rolling");
        expect(status).toMatchObject({ updatedReplicas: 2, currentReplicas: 2, readyReplicas: 2 });
        expect(status?.currentRevision).toBe(status?.updateRevision);
        expect(status?.currentRevision).not.toBe(old);
      });
      expect(await images("rolling")).toEqual(["web:2", "web:2"]);
    });

    it("statefulsets.partition: stops at the partition, below which Pods come back as they were", async () => {
      const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 1 } };
      await started("parted", { updateStrategy });
      await change("parted", { template: template("parted", "web:2") });
      await settled("parted", async () => {
        expect(await images("parted")).toEqual(["web:1", "web:2"]);
        expect(await statusOf("parted")).toMatchObject({ readyReplicas: 2, updatedReplicas: 1, currentReplicas: 1 });
      });
      await yard.admin.delete(yard.pods("parted-0"));
      await settled("parted", async () => {
        expect(await statusOf("parted")).toMatchObject({ readyReplicas: 2 });
        expect(await images("parted")).toEqual(["web:1", "web:2"]);
      });
    });

    it("statefulsets.on-delete: waits for somebody to delete Pods where that is wished", async () => {
      await started("manual", { updateStrategy: { type: "OnDelete" } });
      await change("manual", { template: template("manual", "web:2") });
      await eventually(async () => expect((await statusOf("manual"))?.observedGeneration).toBe(2));
      expect(await images("manual")).toEqual(["web:1", "web:1"]);
      await yard.admin.delete(yard.pods("manual-1"));
      await hasImages("manual", "web:1", "web:2");
    });

    it("statefulsets.revisions: remembers templates, and goes back to one without making it anew", async () => {
      await started("undone", { replicas: 1 });
      const [first] = await revisionsOf("undone");
      expect(first?.metadata).toMatchObject({
        annotations: { note: "x" },
        labels: { app: "undone", "controller.kubernetes.io/hash": first?.metadata.name.replace("undone-", "") },
        ownerReferences: [{ kind: "StatefulSet", name: "undone", controller: true }],
      });
      await change("undone", { template: template("undone", "web:2") });
      await updated("undone", "web:2");
      expect((await revisionsOf("undone")).map(({ revision }) => revision)).toEqual([1, 2]);

      // What `kubectl rollout undo` does: the data of a revision is a patch.
      const undo = await yard.admin.patch(sets("undone"), first?.data, "strategic");
      expect(undo.code).toBe(200);
      await updated("undone", "web:1");
      const after = await revisionsOf("undone");
      expect(after.map(({ revision }) => revision)).toEqual([2, 3]);
      expect(after.at(-1)?.metadata.name).toBe(first?.metadata.name);
    });

    it("statefulsets.history: forgets templates beyond the limit", async () => {
      await started("forgetful", { replicas: 1, revisionHistoryLimit: 1 });
      for (const image of ["web:2", "web:3", "web:4"]) {
        await change("forgetful", { template: template("forgetful", image) });
        await updated("forgetful", image);
      }
      await eventually(async () =>
        expect((await revisionsOf("forgetful")).map(({ revision }) => revision)).toEqual([3, 4]),
      );
    });
  });

  describe("the claims of a StatefulSet", () => {
    const ownersOf = async (name: string) => {
      const { body } = await yard.admin.get(claims(name));
      return (body.metadata.ownerReferences ?? []).map(({ kind, name: owner }) => `${kind} ${owner}`);
    };
    const policy = (whenDeleted: string, whenScaled: string) => ({
      volumeClaimTemplates: [claimTemplate],
      persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
    });

    it("statefulsets.claims: are made for each Pod, and stay when the set shrinks", async () => {
      await started("claiming", { volumeClaimTemplates: [claimTemplate] });
      const { body } = await yard.admin.get(claims("data-claiming-0"));
      expect(body).toMatchObject({
        metadata: { labels: { app: "claiming", tier: "disk" } },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, volumeMode: "Filesystem" },
      });
      const [pod] = await yard.podsOf("claiming");
      expect((pod as Pod).spec.volumes).toContainEqual({
        name: "data",
        persistentVolumeClaim: { claimName: "data-claiming-0" },
      });
      await eventually(async () =>
        expect(await yard.toldAbout("claiming")).toContain(
          "SuccessfulCreate: Create Claim data-claiming-0 Pod claiming-0 in StatefulSet claiming success",
        ),
      );
      await change("claiming", { replicas: 1 });
      await hasPods("claiming", "claiming-0");
      expect((await yard.admin.get(claims("data-claiming-1"))).body.metadata.deletionTimestamp).toBeUndefined();
      expect(await ownersOf("data-claiming-1")).toEqual([]);
    });

    it("statefulsets.claims-of-set: belong to the set where they go with it, and to nobody when that changes", async () => {
      await started("whole", { replicas: 1, ...policy("Delete", "Retain") });
      await eventually(async () => expect(await ownersOf("data-whole-0")).toEqual(["StatefulSet whole"]));
      await change("whole", policy("Retain", "Retain"));
      await eventually(async () => expect(await ownersOf("data-whole-0")).toEqual([]));
    });

    it("statefulsets.claims-of-pod: go with a Pod that is not wished for, where that is wished", async () => {
      await started("lean", policy("Retain", "Delete"));
      expect(await ownersOf("data-lean-1")).toEqual([]);
      await change("lean", { replicas: 1 });
      await hasPods("lean", "lean-0");
      await eventually(async () => {
        const { code, body } = await yard.admin.get(claims("data-lean-1"));
        // Where claims are protected, one that was never used goes a moment later.
        expect(code === 404 || body.metadata.deletionTimestamp !== undefined).toBe(true);
      });
      expect((await yard.admin.get(claims("data-lean-0"))).body.metadata.deletionTimestamp).toBeUndefined();
    });
  });

  const rows: [why: string, wish: object, cause: string][] = [
    ["an order nobody knows", { podManagementPolicy: "Odd" }, "spec.podManagementPolicy FieldValueInvalid"],
    ["a strategy nobody knows", { updateStrategy: { type: "Odd" } }, "spec.updateStrategy FieldValueInvalid"],
    [
      "a partition below nothing",
      { updateStrategy: { rollingUpdate: { partition: -1 } } },
      "spec.updateStrategy.rollingUpdate.partition FieldValueInvalid",
    ],
    ["an ordinal below nothing", { ordinals: { start: -1 } }, "spec.ordinals.start FieldValueInvalid"],
    ["a service name that is none", { serviceName: "A_b" }, "spec.serviceName FieldValueInvalid"],
    [
      "a policy for claims nobody knows",
      { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Odd" } },
      "spec.persistentVolumeClaimRetentionPolicy.whenDeleted FieldValueNotSupported",
    ],
  ];
  it.each(rows)("statefulsets.refusals: refuses %s", async (_, spec, cause) => {
    const reply = await yard.admin.post(sets(), wish("refused", spec));
    expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
  });

  it("statefulsets.immutable: refuses to change what Pods are known by", async () => {
    await created("fixed", { replicas: 0 });
    const reply = await yard.admin.patch(sets("fixed"), { spec: { serviceName: "other" } });
    expect(refusal(reply)).toEqual(refused(422, "Invalid", "spec FieldValueForbidden"));
  });

  it("statefulsets.status-refusals: refuses a status that cannot be", async () => {
    await created("absurd", { replicas: 0 });
    const status: DynamicObject["status"] = { replicas: 1, readyReplicas: 2 };
    const reply = await yard.admin.patch(`${sets("absurd")}/status`, { status });
    expect(refusal(reply)).toEqual(refused(422, "Invalid", "status.readyReplicas FieldValueInvalid"));
  });
}
