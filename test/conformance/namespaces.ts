/** Namespaces: what they come with, and how they go. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";

const NAMESPACES = "/api/v1/namespaces";

/** A real controller looks again at what is left every eight seconds, and later and later. */
const PATIENCE_MS = 60_000;

interface Conditions {
  readonly conditions?: { type: string; status: string; reason: string; message: string }[];
}

function conditionsOf({ status }: Body): string[] | undefined {
  return (status as Conditions).conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`);
}

export function namespacesSuite(stage: Staged): void {
  describe("a new namespace", () => {
    it("namespace.active: is active, carries its name as a label, and soon has what programs expect in it", async () => {
      const name = await stage().namespace();
      const { body } = await stage().admin.get(`${NAMESPACES}/${name}`);
      expect(body).toMatchObject({
        metadata: { labels: { "kubernetes.io/metadata.name": name } },
        spec: { finalizers: ["kubernetes"] },
        status: { phase: "Active" },
      });
      await eventually(async () => {
        expect((await stage().admin.get(at(name, "serviceaccounts", "default"))).code).toBe(200);
        const root = await stage().admin.get(at(name, "configmaps", "kube-root-ca.crt"));
        expect((root.body.data as Record<string, string>)["ca.crt"]).toContain("BEGIN CERTIFICATE");
      });
    });

    it("namespace.names: refuses names that are no labels", async () => {
      const reply = await stage().admin.post(NAMESPACES, { metadata: { name: "a.b" } });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "metadata.name FieldValueInvalid"));
    });
  });

  it("namespace.missing: says that a namespace is missing before anything is put into it", async () => {
    const reply = await stage().admin.post(at("nowhere", "configmaps"), { metadata: { name: "x" } });
    expect(refusal(reply)).toEqual(refused(404, "NotFound"));
    expect(reply.body).toMatchObject({
      message: 'namespaces "nowhere" not found',
      details: { name: "nowhere", kind: "namespaces" },
    });
    const list = await stage().admin.get(at("nowhere", "configmaps"));
    expect([list.code, list.body.items]).toEqual([200, []]);
    expect(refusal(await stage().admin.get(at("nowhere", "configmaps", "x")))).toEqual(refused(404, "NotFound"));
  });

  it.each(["default", "kube-system", "kube-public"])("namespace.kept: keeps %s", async (name) => {
    const reply = await stage().admin.delete(`${NAMESPACES}/${name}`);
    expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
    expect(reply.body.message).toBe(`namespaces "${name}" is forbidden: this namespace may not be deleted`);
  });

  it("namespace.content: takes its content along, waits for finalizers in it, and takes nothing new meanwhile", async () => {
    const { admin } = stage();
    const name = await stage().namespace();
    await admin.post(at(name, "configmaps"), { metadata: { name: "held", finalizers: ["example.com/f"] } });
    await admin.post(at(name, "configmaps"), { metadata: { name: "free" } });

    const marked = await admin.delete(`${NAMESPACES}/${name}`);
    expect(marked.code).toBe(200);
    expect(marked.body).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } });
    expect(marked.body.metadata.deletionTimestamp).toBeTruthy();

    const late = await admin.post(at(name, "configmaps"), { metadata: { name: "late" } });
    expect(refusal(late)).toEqual(refused(403, "Forbidden", "metadata.namespace NamespaceTerminating"));
    expect((await admin.patch(at(name, "configmaps", "held"), { data: { still: "writable" } })).code).toBe(200);

    await eventually(async () => {
      expect((await admin.get(at(name, "configmaps", "free"))).code).toBe(404);
      const { body } = await admin.get(`${NAMESPACES}/${name}`);
      const { conditions = [] } = body.status as { conditions?: { type: string; status: string; reason: string }[] };
      expect(conditions).toContainEqual(
        expect.objectContaining({
          type: "NamespaceFinalizersRemaining",
          status: "True",
          reason: "SomeFinalizersRemain",
        }),
      );
      expect(conditions).toContainEqual(
        expect.objectContaining({ type: "NamespaceContentRemaining", status: "True", reason: "SomeResourcesRemain" }),
      );
    });
    await admin.patch(at(name, "configmaps", "held"), { metadata: { finalizers: null } });
    await eventually(async () => expect((await admin.get(`${NAMESPACES}/${name}`)).code).toBe(404));
  });

  it(
    "namespace.pods-first: loses its Pods first, and the rest when they are gone",
    async () => {
      const { admin } = stage();
      const name = await stage().namespace();
      await eventually(async () => expect((await admin.get(at(name, "serviceaccounts", "default"))).code).toBe(200));
      const { spec } = deployment("held").spec.template;
      await admin.post(at(name, "pods"), { metadata: { name: "held", finalizers: ["example.com/f"] }, spec });
      await admin.post(at(name, "configmaps"), { metadata: { name: "last" } });
      await admin.delete(`${NAMESPACES}/${name}`);

      await eventually(async () => {
        const { body } = await admin.get(`${NAMESPACES}/${name}`);
        expect(conditionsOf(body)).toContain("NamespaceDeletionContentFailure=False ContentDeleted");
      });
      const pod = await admin.get(at(name, "pods", "held"));
      expect(pod.body.metadata.deletionTimestamp).toBeTruthy();
      expect((await admin.get(at(name, "configmaps", "last"))).code).toBe(200);

      await admin.patch(at(name, "pods", "held"), { metadata: { finalizers: null } });
      await eventually(async () => expect((await admin.get(`${NAMESPACES}/${name}`)).code).toBe(404), PATIENCE_MS);
      expect((await admin.get(at(name, "configmaps", "last"))).code).toBe(404);
    },
    PATIENCE_MS + 30_000,
  );

  it(
    "namespace.conditions: says of everything that could be in the way whether it is, and how much is left",
    async () => {
      const { admin } = stage();
      const name = await stage().namespace();
      for (const held of ["a", "b"]) {
        await admin.post(at(name, "configmaps"), { metadata: { name: held, finalizers: ["example.com/f"] } });
      }
      await admin.post(at(name, "secrets"), {
        metadata: { name: "c", finalizers: ["example.com/f", "example.com/g"] },
      });
      await admin.delete(`${NAMESPACES}/${name}`);
      await eventually(async () => {
        const { body } = await admin.get(`${NAMESPACES}/${name}`);
        expect(conditionsOf(body)).toEqual([
          "NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered",
          "NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions",
          "NamespaceDeletionContentFailure=False ContentDeleted",
          "NamespaceContentRemaining=True SomeResourcesRemain",
          "NamespaceFinalizersRemaining=True SomeFinalizersRemain",
        ]);
        const messages = (body.status as Conditions).conditions?.map(({ message }) => message);
        expect(messages).toEqual([
          "All resources successfully discovered",
          "All legacy kube types successfully parsed",
          "All content successfully deleted, may be waiting on finalization",
          "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1 resource instances",
          "Some content in the namespace has finalizers remaining: example.com/f in 3 resource instances, example.com/g in 1 resource instances",
        ]);
      });
      for (const path of [at(name, "configmaps", "a"), at(name, "configmaps", "b"), at(name, "secrets", "c")]) {
        await admin.patch(path, { metadata: { finalizers: null } });
      }
      await eventually(async () => expect((await admin.get(`${NAMESPACES}/${name}`)).code).toBe(404), PATIENCE_MS);
    },
    PATIENCE_MS + 30_000,
  );

  it("namespace.all-clear: says that nothing is in the way before it goes", async () => {
    const { admin } = stage();
    const name = await stage().namespace();
    const { body } = await admin.get(`${NAMESPACES}/${name}`);
    const { resourceVersion = "" } = body.metadata;
    const watch = await admin.watch(
      `${NAMESPACES}?watch=true&fieldSelector=metadata.name%3D${name}&resourceVersion=${resourceVersion}`,
    );
    await admin.delete(`${NAMESPACES}/${name}`);
    const last = await eventually(() => {
      const event = watch.events.at(-1);
      expect(event?.type).toBe("DELETED");
      return event;
    });
    watch.close();
    expect(last && conditionsOf(last.object)).toEqual([
      "NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered",
      "NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions",
      "NamespaceDeletionContentFailure=False ContentDeleted",
      "NamespaceContentRemaining=False ContentRemoved",
      "NamespaceFinalizersRemaining=False ContentHasNoFinalizers",
    ]);
  });

  it(
    "namespace.custom-resources: takes custom resources along, and waits for their finalizers",
    async () => {
      const { admin } = stage();
      const name = await stage().namespace();
      const group = `ns${randomBytes(3).toString("hex")}.example.com`;
      const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      const schema = { openAPIV3Schema: { type: "object" } };
      await admin.post(definitions, {
        metadata: { name: `things.${group}` },
        spec: {
          group,
          scope: "Namespaced",
          names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
          versions: [{ name: "v1", served: true, storage: true, schema }],
        },
      });
      const things = (thing?: string) => inGroup(group, "v1", "things", name, thing);
      const make = (metadata: object) =>
        eventually(async () => {
          const reply = await admin.post(things(), { apiVersion: `${group}/v1`, kind: "Thing", metadata });
          expect(reply.code).toBe(201);
        });
      await make({ name: "free" });
      await make({ name: "held", finalizers: ["example.com/f"] });
      await admin.delete(`${NAMESPACES}/${name}`);
      await eventually(async () => {
        const { status } = (await admin.get(`${NAMESPACES}/${name}`)).body;
        expect((status as Conditions).conditions?.[3]?.message).toBe(
          `Some resources are remaining: things.${group} has 1 resource instances`,
        );
      });
      expect((await admin.get(things("free"))).code).toBe(404);
      await admin.patch(things("held"), { metadata: { finalizers: null } });
      await eventually(async () => expect((await admin.get(`${NAMESPACES}/${name}`)).code).toBe(404), PATIENCE_MS);
      await admin.delete(`${definitions}/things.${group}`);
    },
    PATIENCE_MS + 30_000,
  );

  it(
    "namespace.collector-finalizers: does not wait for the garbage collector",
    async () => {
      const { admin } = stage();
      const name = await stage().namespace();
      const owner = await admin.post(at(name, "configmaps"), { metadata: { name: "owner" } });
      const { uid } = owner.body.metadata;
      const reference = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, blockOwnerDeletion: true };
      await admin.post(at(name, "configmaps"), {
        metadata: { name: "child", ownerReferences: [reference], finalizers: ["example.com/f"] },
      });
      await admin.delete(at(name, "configmaps", "owner"), { propagationPolicy: "Foreground" });
      await admin.delete(`${NAMESPACES}/${name}`);
      await eventually(async () => expect((await admin.get(at(name, "configmaps", "owner"))).code).toBe(404));
      expect((await admin.get(at(name, "configmaps", "child"))).code).toBe(200);
      await admin.patch(at(name, "configmaps", "child"), { metadata: { finalizers: null } });
      await eventually(async () => expect((await admin.get(`${NAMESPACES}/${name}`)).code).toBe(404), PATIENCE_MS);
    },
    PATIENCE_MS + 30_000,
  );

  it(
    "namespace.busy: leaves nothing behind that was put into it while it was deleted",
    async () => {
      const { admin } = stage();
      const name = await stage().namespace();
      const create = () => admin.post(at(name, "configmaps"), { metadata: { generateName: "late-" } });
      const before = Array.from({ length: 20 }, create);
      const deleted = admin.delete(`${NAMESPACES}/${name}`);
      const after = Array.from({ length: 20 }, create);
      expect((await deleted).code).toBe(200);
      const codes = (await Promise.all([...before, ...after])).map(({ code }) => code);
      expect(codes.filter((code) => ![201, 403, 404].includes(code))).toEqual([]);
      await eventually(async () => expect((await admin.get(`${NAMESPACES}/${name}`)).code).toBe(404), PATIENCE_MS);
      expect((await admin.get(at(name, "configmaps"))).body.items).toEqual([]);
    },
    PATIENCE_MS + 30_000,
  );

  it("namespace.finalize: takes finalizers of its own through /finalize only, and keeps those of others", async () => {
    const { admin } = stage();
    const name = await stage().namespace();
    const path = `${NAMESPACES}/${name}`;
    const { body } = await admin.get(path);
    const finalizers = ["kubernetes", "example.com/f"];
    const ignored = await admin.put(path, { ...body, spec: { finalizers } });
    expect(ignored.body.spec).toEqual({ finalizers: ["kubernetes"] });
    const added = await admin.put(`${path}/finalize`, { ...ignored.body, spec: { finalizers } });
    expect(added.body.spec).toEqual({ finalizers });

    await admin.delete(path);
    const left = await eventually(async () => {
      const reply = await admin.get(path);
      expect(reply.body.spec).toEqual({ finalizers: ["example.com/f"] });
      return reply.body;
    });
    const last = await admin.put(`${path}/finalize`, { ...left, spec: { finalizers: [] } });
    expect(last.code).toBe(200);
    expect((await admin.get(path)).code).toBe(404);
  });

  it("namespace.forced: can be forced by taking its finalizer away", async () => {
    const { admin } = stage();
    const name = await stage().namespace();
    await admin.post(at(name, "configmaps"), { metadata: { name: "held", finalizers: ["example.com/f"] } });
    await admin.delete(`${NAMESPACES}/${name}`);
    await eventually(async () => {
      const { body } = await admin.get(`${NAMESPACES}/${name}`);
      const forced = await admin.put(`${NAMESPACES}/${name}/finalize`, { ...body, spec: { finalizers: [] } });
      expect(forced.code).toBe(200);
    });
    expect((await admin.get(`${NAMESPACES}/${name}`)).code).toBe(404);
    await admin.patch(at(name, "configmaps", "held"), { metadata: { finalizers: null } });
  });
}
