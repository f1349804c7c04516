/** Owners and dependents: what goes when an owner goes, what stays, and who waits for whom. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { OwnerReference } from "#api/meta";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";

const HOLD = "example.com/hold";
const GROUP = `gc${randomBytes(3).toString("hex")}.example.com`;

/** A real garbage collector learns of new kinds every half minute. */
const PATIENCE_MS = 90_000;

const to = ({ apiVersion = "", kind = "", metadata }: Body, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? "",
  ...more,
});
const blocking = (owner: Body) => to(owner, { blockOwnerDeletion: true });
const nobody: OwnerReference = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "nobody",
  uid: "11111111-1111-4111-8111-111111111111",
};

export function garbageCollectionSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
  });
  const configMaps = (name?: string) => at(space, "configmaps", name);
  const made = async (name: string, owners: OwnerReference[] = [], more: object = {}): Promise<Body> => {
    const metadata = { name, ownerReferences: owners, ...more };
    return (await stage().admin.post(configMaps(), { metadata })).body;
  };
  const found = async (name: string) => (await stage().admin.get(configMaps(name))).code === 200;
  const gone = (...names: string[]) =>
    eventually(async () => {
      for (const name of names) expect([name, await found(name)]).toEqual([name, false]);
    });
  const remove = (name: string, propagationPolicy: string) =>
    stage().admin.delete(configMaps(name), { propagationPolicy });
  const release = (name: string) => stage().admin.patch(configMaps(name), { metadata: { finalizers: null } });
  const ownersOf = async (name: string) =>
    (await stage().admin.get(configMaps(name))).body.metadata.ownerReferences?.map((owner) => owner.name);
  /** Whatever was made before has been looked at when this returns, because it is looked at in turn. */
  const collected = async (marker: string) => {
    await made(marker, [{ ...nobody, name: marker }]);
    await gone(marker);
  };

  describe("in the background", () => {
    it("garbage-collection.background: deletes dependents after their owner, and theirs after them", async () => {
      const owner = await made("bg-owner");
      const child = await made("bg-child", [blocking(owner)]);
      await made("bg-grandchild", [to(child)]);
      const reply = await remove("bg-owner", "Background");
      expect(reply.body).toMatchObject({ kind: "Status", status: "Success" });
      await gone("bg-owner", "bg-child", "bg-grandchild");
    });

    it("garbage-collection.held-owner: leaves dependents alone while their owner is held", async () => {
      const owner = await made("held-owner", [], { finalizers: [HOLD] });
      await made("held-child", [to(owner)]);
      await remove("held-owner", "Background");
      await collected("held-marker");
      expect(await found("held-child")).toBe(true);
      await release("held-owner");
      await gone("held-owner", "held-child");
    });

    it("garbage-collection.shared: keeps what another owner keeps, without the reference to the one that is gone", async () => {
      const [first, second] = [await made("shared-first"), await made("shared-second")];
      await made("shared-child", [to(first), to(second)]);
      await remove("shared-first", "Background");
      await eventually(async () => expect(await ownersOf("shared-child")).toEqual(["shared-second"]));
      await remove("shared-second", "Background");
      await gone("shared-child");
    });

    it("garbage-collection.finalizer: deletes a dependent as the collector's finalizer on it says", async () => {
      const owner = await made("fin-owner");
      const child = await made("fin-child", [to(owner)], { finalizers: ["orphan"] });
      await made("fin-grandchild", [to(child)]);
      await remove("fin-owner", "Background");
      await gone("fin-owner", "fin-child");
      expect(await ownersOf("fin-grandchild")).toBeUndefined();
    });
  });

  describe("in the foreground", () => {
    it("garbage-collection.foreground: lets the owner go last, and dependents after their own dependents", async () => {
      const owner = await made("fg-owner");
      const child = await made("fg-child", [blocking(owner)]);
      await made("fg-grandchild", [blocking(child)], { finalizers: [HOLD] });
      const reply = await remove("fg-owner", "Foreground");
      expect(reply.body).toMatchObject({ kind: "ConfigMap", metadata: { finalizers: ["foregroundDeletion"] } });
      await eventually(async () => {
        const { body } = await stage().admin.get(configMaps("fg-grandchild"));
        expect(body.metadata.deletionTimestamp).toBeTruthy();
      });
      const { body } = await stage().admin.get(configMaps("fg-child"));
      expect(body.metadata.finalizers).toEqual(["foregroundDeletion"]);
      expect(await found("fg-owner")).toBe(true);
      await release("fg-grandchild");
      await gone("fg-owner", "fg-child", "fg-grandchild");
    });

    it("garbage-collection.not-blocking: does not wait for dependents that do not ask for it", async () => {
      const owner = await made("nb-owner");
      await made("nb-child", [to(owner)], { finalizers: [HOLD] });
      await remove("nb-owner", "Foreground");
      await gone("nb-owner");
      await eventually(async () => {
        const { body } = await stage().admin.get(configMaps("nb-child"));
        expect(body.metadata.deletionTimestamp).toBeTruthy();
      });
      await release("nb-child");
      await gone("nb-child");
    });

    it("garbage-collection.foreground-shared: does not wait for what another owner keeps", async () => {
      const [owner, other] = [await made("fs-owner"), await made("fs-other")];
      await made("fs-child", [blocking(owner), blocking(other)]);
      await remove("fs-owner", "Foreground");
      await gone("fs-owner");
      expect(await ownersOf("fs-child")).toEqual(["fs-other"]);
    });

    it("garbage-collection.circle: is not held up by objects that own each other", async () => {
      const ring = [await made("ring-0"), await made("ring-1"), await made("ring-2")];
      for (const [index, { metadata }] of ring.entries()) {
        const owner = ring[(index + 1) % ring.length] as Body;
        await stage().admin.patch(configMaps(metadata.name), { metadata: { ownerReferences: [blocking(owner)] } });
      }
      await remove("ring-0", "Foreground");
      await gone("ring-0", "ring-1", "ring-2");
    });
  });

  describe("orphaning", () => {
    it("garbage-collection.orphan: takes the reference from all dependents, then lets the owner go", async () => {
      const [owner, other] = [await made("or-owner"), await made("or-other")];
      await made("or-a", [to(owner)]);
      await made("or-b", [to(owner), to(other)]);
      const reply = await remove("or-owner", "Orphan");
      expect(reply.body).toMatchObject({ kind: "ConfigMap", metadata: { finalizers: ["orphan"] } });
      await gone("or-owner");
      await collected("or-marker");
      expect(await ownersOf("or-a")).toBeUndefined();
      expect(await ownersOf("or-b")).toEqual(["or-other"]);
    });

    it("garbage-collection.old-option: takes orphanDependents for the policy that it stands for", async () => {
      const owner = await made("old-owner");
      await made("old-child", [to(owner)]);
      const orphaned = await stage().admin.delete(configMaps("old-owner"), { orphanDependents: true });
      expect(orphaned.code).toBe(200);
      expect(orphaned.body.metadata.finalizers).toEqual(["orphan"]);
      await gone("old-owner");
      expect(await found("old-child")).toBe(true);

      await made("old-held", [], { finalizers: [HOLD] });
      const waiting = await stage().admin.delete(`${configMaps("old-held")}?orphanDependents=false`);
      expect(waiting.code).toBe(202);
      await release("old-held");
      const done = await stage().admin.delete(configMaps("old-child"), { orphanDependents: false });
      expect([done.code, done.body.kind]).toEqual([200, "Status"]);
    });
  });

  describe("without a policy", () => {
    const workload = (name: string) => deployment(name, 0).spec.template;

    it("garbage-collection.job-default: orphans the Pods of a Job, and warns of it", async () => {
      const { admin } = stage();
      const template = { ...workload("j"), spec: { ...workload("j").spec, restartPolicy: "Never" } };
      const jobs = (name?: string) => inGroup("batch", "v1", "jobs", space, name);
      for (const name of ["spoken", "unspoken"]) {
        await admin.post(jobs(), { metadata: { name }, spec: { suspend: true, template } });
      }
      const silent = await admin.delete(jobs("spoken"), { propagationPolicy: "Background" });
      expect(silent.headers.warning).toBeUndefined();
      const warned = await admin.delete(jobs("unspoken"));
      expect(warned.body.metadata.finalizers).toEqual(["orphan"]);
      expect(warned.headers.warning).toBe(
        '299 - "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"',
      );
      await eventually(async () => expect((await admin.get(jobs("unspoken"))).code).toBe(404));
    });

    it("garbage-collection.controller-default: orphans the Pods of a ReplicationController", async () => {
      const { admin } = stage();
      const controllers = (name?: string) => at(space, "replicationcontrollers", name);
      const spec = { replicas: 0, selector: { app: "rc" }, template: workload("rc") };
      await admin.post(controllers(), { metadata: { name: "rc" }, spec });
      const reply = await admin.delete(controllers("rc"));
      expect(reply.body.metadata.finalizers).toEqual(["orphan"]);
      expect(reply.headers.warning).toBeUndefined();
      await eventually(async () => expect((await admin.get(controllers("rc"))).code).toBe(404));
    });

    it("garbage-collection.default: deletes the dependents of everything else", async () => {
      const { admin } = stage();
      const deployments = (name?: string) => inGroup("apps", "v1", "deployments", space, name);
      const owner = await admin.post(deployments(), deployment("web", 0));
      await made("web-child", [to(owner.body)]);
      expect((await admin.delete(deployments("web"))).body).toMatchObject({ kind: "Status", status: "Success" });
      await gone("web-child");
    });
  });

  describe("owners that are not there", () => {
    it.each<[string, (owner: Body) => OwnerReference]>([
      ["never were", () => nobody],
      ["are called otherwise", (owner) => to(owner, { name: "another" })],
      ["are of another kind", (owner) => to(owner, { kind: "Secret" })],
      ["had the name before", (owner) => to(owner, { uid: nobody.uid })],
    ])("garbage-collection.absent: keep nothing when they %s", async (_, reference) => {
      const owner = (await stage().admin.post(configMaps(), { metadata: { generateName: "absent-owner-" } })).body;
      const child = `${owner.metadata.name}-child`;
      await made(child, [reference(owner)]);
      await gone(child);
      expect(await found(owner.metadata.name)).toBe(true);
    });

    it("garbage-collection.unserved: are given the benefit of the doubt when their kind is not served", async () => {
      await made("doubtful", [{ ...nobody, apiVersion: "nothing.example.com/v1", kind: "Nothing" }]);
      await collected("doubtful-marker");
      expect(await found("doubtful")).toBe(true);
    });

    it("garbage-collection.other-namespace: keep nothing in another namespace than their own, and somebody is told", async () => {
      const { admin } = stage();
      const elsewhere = await stage().namespace();
      const owner = await made("far-owner");
      await admin.post(at(elsewhere, "configmaps"), { metadata: { name: "stray", ownerReferences: [to(owner)] } });
      await eventually(async () => expect((await admin.get(at(elsewhere, "configmaps", "stray"))).code).toBe(404));
      await eventually(async () => {
        const { items } = (await admin.get(at(elsewhere, "events"))).body;
        expect(items).toContainEqual(
          expect.objectContaining({
            reason: "OwnerRefInvalidNamespace",
            type: "Warning",
            message: `ownerRef [v1/ConfigMap, namespace: ${elsewhere}, name: far-owner, uid: ${owner.metadata.uid}] does not exist in namespace "${elsewhere}"`,
          }),
        );
      });
    });

    it("garbage-collection.no-namespace: keep what has no namespace, when they would have to have one", async () => {
      const { admin } = stage();
      const owner = await made("local-owner");
      const path = inGroup("rbac.authorization.k8s.io", "v1", "clusterroles");
      const role = await admin.post(path, {
        metadata: { generateName: "stray-", ownerReferences: [to(owner)] },
        rules: [],
      });
      await collected("stray-marker");
      await remove("local-owner", "Background");
      await collected("stray-marker-2");
      const { name } = role.body.metadata;
      expect((await admin.get(`${path}/${name}`)).code).toBe(200);
      await admin.delete(`${path}/${name}`);
    });

    it("garbage-collection.cluster-owner: keep what has a namespace as long as they are there, having none", async () => {
      const { admin } = stage();
      const path = inGroup("rbac.authorization.k8s.io", "v1", "clusterroles");
      const owner = await admin.post(path, { metadata: { generateName: "owner-" }, rules: [] });
      await made("local-child", [to(owner.body)]);
      await collected("local-marker");
      expect(await found("local-child")).toBe(true);
      await admin.delete(`${path}/${owner.body.metadata.name}`);
      await gone("local-child");
    });
  });

  it(
    "garbage-collection.custom: treats custom resources like all others, also when they go with their definition",
    async () => {
      const { admin } = stage();
      const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      const schema = { openAPIV3Schema: { type: "object" } };
      const names = { plural: "owners", singular: "owner", kind: "Owner", listKind: "OwnerList" };
      await admin.post(definitions, {
        metadata: { name: `owners.${GROUP}` },
        spec: {
          group: GROUP,
          scope: "Namespaced",
          names,
          versions: [{ name: "v1", served: true, storage: true, schema }],
        },
      });
      const owners = (name?: string) => inGroup(GROUP, "v1", "owners", space, name);
      const custom = (name: string, ownerReferences: OwnerReference[] = []) =>
        eventually(async () => {
          const reply = await admin.post(owners(), {
            apiVersion: `${GROUP}/v1`,
            kind: "Owner",
            metadata: { name, ownerReferences },
          });
          expect(reply.code).toBe(201);
          return reply.body;
        });
      const owner = await custom("owner");
      await custom("child", [blocking(owner)]);
      const kept = await custom("kept");
      await made("custom-child", [to(owner)]);
      await made("custom-orphan", [to(kept)]);
      await admin.delete(owners("owner"), { propagationPolicy: "Foreground" });
      await admin.delete(owners("kept"), { propagationPolicy: "Orphan" });
      await eventually(async () => {
        for (const name of ["owner", "child", "kept"]) {
          expect(refusal(await admin.get(owners(name)))).toEqual(refused(404, "NotFound"));
        }
        expect(await found("custom-child")).toBe(false);
      }, PATIENCE_MS);
      expect(await ownersOf("custom-orphan")).toBeUndefined();

      await made("definition-child", [to(await custom("last"))]);
      await admin.delete(`${definitions}/owners.${GROUP}`);
      await gone("definition-child");
    },
    PATIENCE_MS + 30_000,
  );
}
