/** Namespaces: what they come with, and how they go. */
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { at, refusal, refused, type Staged } from "./stage.ts";

const NAMESPACES = "/api/v1/namespaces";

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
