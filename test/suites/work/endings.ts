/** How works end, and what of them stays. */
import { describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { AppliedManifestWork } from "#api/work";
import { eventually } from "../../support/eventually.ts";
import { conditionOf, configMap, type WorkStage } from "./stage.ts";

export function endingCases(stage: () => WorkStage): void {
  const patch = (key: string, change: object) => stage().spoke.client.patch(ConfigMap, key, change);

  describe("an object with a finalizer", () => {
    it("that has left its work stays recorded until it is gone", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a"), configMap(namespace, "b")]);
      await stage().untilReported(name, { applied: "True" });
      await patch(`${namespace}/b`, { metadata: { finalizers: ["example.com/wait"] } });
      await stage().edit(name, { workload: { manifests: [configMap(namespace, "a")] } });
      await stage().untilReported(name, { applied: "True" });
      await eventually(async () => {
        const { metadata } = await stage().spoke.client.get(ConfigMap, `${namespace}/b`);
        expect(metadata.deletionTimestamp).toBeDefined();
      });
      const listed = async () => (await stage().applied(name)).status?.appliedResources?.map((each) => each.name);
      expect(await listed()).toEqual(["a", "b"]);
      await patch(`${namespace}/b`, { metadata: { finalizers: null } });
      await eventually(async () => expect(await listed()).toEqual(["a"]));
    });

    it("holds up the deletion of its work, which says what it waits for", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a"), configMap(namespace, "b")]);
      await stage().untilReported(name, { applied: "True" });
      await patch(`${namespace}/b`, { metadata: { finalizers: ["example.com/wait"] } });
      await stage().delete(name);
      await eventually(async () => {
        const condition = conditionOf(await stage().get(name), "Deleting");
        expect(condition).toMatchObject({ status: "True", reason: "WorkDeleting" });
        expect(condition?.message).toBe(
          `ManifestWork is being deleted; on the cluster configmaps ${namespace}/b must go first`,
        );
      });
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
      await patch(`${namespace}/b`, { metadata: { finalizers: null } });
      await stage().untilGone(name);
      await expect(stage().applied(name)).rejects.toThrow("there is no AppliedManifestWork");
    });
  });

  describe("orphans", () => {
    it("stay when the work goes: all of them, or those that it names", async () => {
      const namespace = await stage().namespace();
      const all = await stage().work([configMap(namespace, "a")], { deleteOption: { propagationPolicy: "Orphan" } });
      const some = await stage().work([configMap(namespace, "b"), configMap(namespace, "c")], {
        deleteOption: {
          propagationPolicy: "SelectivelyOrphan",
          selectivelyOrphans: { orphaningRules: [{ resource: "configmaps", namespace, name: "b" }] },
        },
      });
      for (const name of [all, some]) await stage().untilReported(name, { applied: "True" });
      for (const name of [all, some]) await stage().delete(name);
      for (const name of [all, some]) await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(true);
      expect(await stage().exists(ConfigMap, `${namespace}/b`)).toBe(true);
      expect(await stage().exists(ConfigMap, `${namespace}/c`)).toBe(false);
    });

    it("stay when they leave the work, and go again once the work says so", async () => {
      const namespace = await stage().namespace();
      const deleteOption = { propagationPolicy: "Orphan" as const };
      const name = await stage().work([configMap(namespace, "a"), configMap(namespace, "b")], { deleteOption });
      await stage().untilReported(name, { applied: "True" });
      await stage().edit(name, { workload: { manifests: [configMap(namespace, "b")] } });
      await stage().untilReported(name, { applied: "True" });
      await eventually(async () =>
        expect((await stage().applied(name)).status?.appliedResources?.map((each) => each.name)).toEqual(["b"]),
      );
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(true);
      await stage().edit(name, { deleteOption: null });
      await stage().untilReported(name, { applied: "True" });
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(true);
      expect(await stage().exists(ConfigMap, `${namespace}/b`)).toBe(false);
    });
  });

  describe("while the agent is away", () => {
    it("nothing goes; when it comes back it does what was asked for, and only that", async () => {
      const namespace = await stage().namespace();
      const kept = await stage().work([configMap(namespace, "kept")]);
      const deleted = await stage().work([configMap(namespace, "deleted")]);
      const edited = await stage().work([configMap(namespace, "left"), configMap(namespace, "stays")]);
      for (const name of [kept, deleted, edited]) await stage().untilReported(name, { applied: "True" });
      await stage().stopAgent();
      await stage().delete(deleted);
      await stage().edit(edited, { workload: { manifests: [configMap(namespace, "stays")] } });
      await stage().spoke.client.delete(ConfigMap, `${namespace}/kept`);
      expect((await stage().get(deleted)).metadata.deletionTimestamp).toBeDefined();
      expect(await stage().exists(ConfigMap, `${namespace}/deleted`)).toBe(true);
      await stage().startAgent();
      await stage().untilGone(deleted);
      await eventually(async () => {
        const there = await Promise.all(
          ["kept", "deleted", "left", "stays"].map((each) => stage().exists(ConfigMap, `${namespace}/${each}`)),
        );
        expect(there).toEqual([true, false, false, true]);
      });
    });

    it("a work that is simply gone takes nothing along, because absent is not deleted", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a")]);
      await stage().untilReported(name, { applied: "True" });
      await stage().stopAgent();
      await stage().forget(name);
      await stage().startAgent();
      const other = await stage().work([configMap(namespace, "b")]);
      await stage().untilReported(other, { applied: "True" });
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(true);
      expect((await stage().applied(name)).metadata.deletionTimestamp).toBeUndefined();
    });
  });

  describe("an AppliedManifestWork that is deleted by hand", () => {
    it("takes its objects along, and is made anew with them because the work still wants them", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a")]);
      await stage().untilReported(name, { applied: "True" });
      const before = await stage().applied(name);
      const { uid } = (await stage().spoke.client.get(ConfigMap, `${namespace}/a`)).metadata;
      await stage().spoke.client.delete(AppliedManifestWork, before.metadata.name);
      await eventually(async () => {
        const after = await stage().applied(name);
        expect(after.metadata.uid).not.toBe(before.metadata.uid);
        const { metadata } = await stage().spoke.client.get(ConfigMap, `${namespace}/a`);
        expect(metadata.uid).not.toBe(uid);
        expect(metadata.ownerReferences?.[0]?.uid).toBe(after.metadata.uid);
      });
    });
  });
}
