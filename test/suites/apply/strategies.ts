/** How objects get to be as wished, strategy by strategy, and whom they name as owners. */
import { describe, expect, it } from "vitest";
import { ConfigMap, Secret } from "#api/core";
import type { DynamicObject, OwnerReference } from "#api/meta";
import type { ApplyStrategy, Wish } from "#kube";
import { configMap, deployment, secret, wishes } from "./objects.ts";
import { type ApplyStage, deedsIn, interfered, reasonsIn, writesIn } from "./stage.ts";

export function strategyCases(stage: () => ApplyStage): void {
  /** An object to be owned by; what is owned goes with it. */
  async function owner(ns: string, name: string): Promise<OwnerReference> {
    const { metadata } = await stage().client.create(ConfigMap, { metadata: { name, namespace: ns } });
    return { apiVersion: "v1", kind: "ConfigMap", name, uid: metadata.uid ?? "" };
  }

  describe("Update", () => {
    const strategy: ApplyStrategy = { type: "Update" };

    it("makes the object the manifest, and keeps metadata of others", async () => {
      const ns = await stage().namespace();
      const { client } = stage();
      await client.create(ConfigMap, {
        metadata: {
          name: "a",
          namespace: ns,
          labels: { theirs: "1", unwanted: "1" },
          annotations: { theirs: "1" },
          finalizers: ["example.com/theirs"],
        },
        data: { theirs: "1", k: "old" },
      });
      const wish = configMap(ns, "a", { k: "new" });
      const labels = { ours: "1", "unwanted-": "" };
      const report = await stage()
        .engine()
        .apply({ wishes: wishes({ ...wish, metadata: { ...wish.metadata, labels } }), strategy });
      expect(deedsIn(report)).toEqual([`updated ConfigMap ${ns}/a`]);
      const { metadata, data } = await stage().configMap(`${ns}/a`);
      expect(data).toEqual({ k: "new" });
      expect(metadata).toMatchObject({
        labels: { theirs: "1", ours: "1" },
        annotations: { theirs: "1" },
        finalizers: ["example.com/theirs"],
      });
      expect(metadata.labels).not.toHaveProperty("unwanted");
      await client.patch(ConfigMap, `${ns}/a`, { metadata: { finalizers: null } });
    });

    it("writes nothing the second time, although the server has filled in defaults", async () => {
      const ns = await stage().namespace();
      const engine = stage().engine();
      const set = { wishes: wishes(deployment(ns, "web"), configMap(ns, "a"), secret(ns, "s", { k: "v" })), strategy };
      await engine.apply(set);
      const report = await engine.apply(set);
      expect(new Set(report.objects.map(({ action }) => action))).toEqual(new Set(["unchanged"]));
      // A new process does not know what it sent; the server finds that nothing changes.
      const restarted = await stage().engine().apply(set);
      expect(new Set(restarted.objects.map(({ action }) => action))).toEqual(new Set(["unchanged"]));
    });

    it("takes away what was added to a specification", async () => {
      const ns = await stage().namespace();
      const engine = stage().engine();
      const set = { wishes: wishes(deployment(ns, "web")), strategy };
      const [created] = (await engine.apply(set)).objects;
      const live = created?.live as DynamicObject;
      const kind = { group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true };
      await stage().client.patch(kind, `${ns}/web`, { spec: { template: { spec: { hostNetwork: true } } } });
      expect(deedsIn(await engine.apply(set))).toEqual([`updated Deployment ${ns}/web`]);
      const after = await stage().client.get<DynamicObject>(kind, `${ns}/web`);
      expect(JSON.stringify(after.spec)).not.toContain("hostNetwork");
      expect(after.metadata.uid).toBe(live.metadata.uid);
    });

    it("makes anew what cannot change", async () => {
      const ns = await stage().namespace();
      const engine = stage().engine();
      await engine.apply({ wishes: wishes(secret(ns, "s", { k: "1" }, { immutable: true })), strategy });
      const before = await stage().client.get(Secret, `${ns}/s`);
      const changed = { wishes: wishes(secret(ns, "s", { k: "2" }, { type: "example.com/other" })), strategy };
      const planned = await engine.plan(changed);
      const report = await engine.apply(changed);
      for (const each of [planned, report])
        expect(reasonsIn(each)).toEqual({ [`Secret ${ns}/s`]: "updated: Recreated" });
      const after = await stage().client.get(Secret, `${ns}/s`);
      expect(after.metadata.uid).not.toBe(before.metadata.uid);
      expect(after.type).toBe("example.com/other");
    });
  });

  describe("CreateOnly", () => {
    it("creates what is absent and leaves what is there", async () => {
      const ns = await stage().namespace();
      const set = (value: string) => ({
        wishes: wishes(configMap(ns, "a", { k: value })),
        strategy: { type: "CreateOnly" } as const,
      });
      expect(deedsIn(await stage().engine().apply(set("1")))).toEqual([`created ConfigMap ${ns}/a`]);
      const requests = await stage().requestsOf(async (client) => {
        expect(deedsIn(await stage().engine({ client }).apply(set("2")))).toEqual([`skipped ConfigMap ${ns}/a`]);
      });
      expect(writesIn(requests)).toEqual([]);
      expect((await stage().configMap(`${ns}/a`)).data).toEqual({ k: "1" });
    });
  });

  describe("ReadOnly", () => {
    it("only looks, and tells what it saw", async () => {
      const ns = await stage().namespace();
      await stage()
        .engine()
        .apply({ wishes: wishes(configMap(ns, "a")) });
      const requests = await stage().requestsOf(async (client) => {
        const set = { wishes: wishes(configMap(ns, "a"), configMap(ns, "b")), strategy: { type: "ReadOnly" } as const };
        const { objects } = await stage().engine({ client }).apply(set);
        expect(objects.map(({ action, live }) => [action, live?.metadata.name])).toEqual([
          ["skipped", "a"],
          ["skipped", undefined],
        ]);
      });
      expect(writesIn(requests)).toEqual([]);
    });
  });

  describe("ServerSideApply that ignores fields", () => {
    it("sends them at creation only, and nothing at all until the rest of the manifest changes", async () => {
      const ns = await stage().namespace();
      const ignoring = (manifest: DynamicObject): DynamicObject => {
        const { k: _, ...data } = manifest.data as Record<string, string>;
        return { ...manifest, data };
      };
      const wish = (data: Record<string, string>): { wishes: Wish[] } => ({
        wishes: [{ object: configMap(ns, "a", data), strategy: { type: "ServerSideApply", force: true, ignoring } }],
      });
      await stage()
        .engine()
        .apply(wish({ k: "initial", other: "1" }));
      expect((await stage().configMap(`${ns}/a`)).data).toEqual({ k: "initial", other: "1" });

      await stage().client.patch(
        ConfigMap,
        `${ns}/a`,
        { data: { k: "scaled", other: "drifted" } },
        { fieldManager: "hpa" },
      );
      const quiet = await stage()
        .engine()
        .apply(wish({ k: "changed", other: "1" }));
      expect(reasonsIn(quiet)).toEqual({ [`ConfigMap ${ns}/a`]: "unchanged: LeftAlone" });
      await stage()
        .engine()
        .apply(wish({ k: "changed", other: "2" }));
      expect((await stage().configMap(`${ns}/a`)).data).toEqual({ k: "scaled", other: "2" });
    });
  });

  describe("ServerSideApply", () => {
    it("lets several managers answer for one object, each for its own fields", async () => {
      const ns = await stage().namespace();
      const wish = (fieldManager: string, data: Record<string, string>) => ({
        wishes: wishes(configMap(ns, "shared", data)),
        strategy: { type: "ServerSideApply", fieldManager } as const,
      });
      const engine = stage().engine();
      await engine.apply(wish("one", { one: "1" }));
      expect(deedsIn(await engine.apply(wish("two", { two: "2" })))).toEqual([`updated ConfigMap ${ns}/shared`]);
      expect((await stage().configMap(`${ns}/shared`)).data).toEqual({ one: "1", two: "2" });
      for (const set of [wish("one", { one: "1" }), wish("two", { two: "2" })]) {
        expect(deedsIn(await stage().engine().apply(set))).toEqual([`unchanged ConfigMap ${ns}/shared`]);
      }
    });

    it("takes the place of somebody who wrote whole objects: what only they wished for goes, once", async () => {
      const ns = await stage().namespace();
      const key = `${ns}/taken-over`;
      const data = { both: "1", former: "1" };
      const metadata = { name: "taken-over", namespace: ns };
      await stage().client.create(ConfigMap, { metadata, data }, { fieldManager: "former" });
      await stage().client.patch(ConfigMap, key, { data: { other: "1" } }, { fieldManager: "other" });
      const set = {
        wishes: wishes(configMap(ns, "taken-over", { both: "1" })),
        strategy: { type: "ServerSideApply", force: true, succeeds: ["former"] } as const,
      };
      expect(deedsIn(await stage().engine().apply(set))).toEqual([`updated ConfigMap ${key}`]);
      const after = await stage().configMap(key);
      expect(after.data).toEqual({ both: "1", other: "1" });
      expect(after.metadata.managedFields?.map(({ manager }) => manager).sort()).toEqual(["capstan", "other"]);
      const requests = await stage().requestsOf(async (client) => {
        expect(deedsIn(await stage().engine({ client }).apply(set))).toEqual([`unchanged ConfigMap ${key}`]);
      });
      expect(writesIn(requests)).toEqual([]);
    });

    it("is refused for an object of which nobody can tell what to ignore", async () => {
      const ns = await stage().namespace();
      const ignoring = () => {
        throw new Error("bad path");
      };
      const strategy = { type: "ServerSideApply", ignoring } as const;
      const set = { wishes: [{ object: configMap(ns, "a"), strategy }, { object: configMap(ns, "b") }] };
      expect(reasonsIn(await stage().engine().apply(set))).toEqual({
        [`ConfigMap ${ns}/a`]: "refused: Malformed",
        [`ConfigMap ${ns}/b`]: "created: Applied",
      });
    });
  });

  describe("owners", () => {
    it.each(["ServerSideApply", "Update", "CreateOnly"] as const)(
      "are shared, given and taken away by %s",
      async (type) => {
        const ns = await stage().namespace();
        const [one, two] = [await owner(ns, "one"), await owner(ns, "two")];
        const set = (reference: OwnerReference, mode: "owned" | "orphaned") => ({
          wishes: wishes(configMap(ns, "shared")),
          strategy: { type },
          owner: { mode, reference },
        });
        const owners = async () =>
          (await stage().configMap(`${ns}/shared`)).metadata.ownerReferences?.map(({ name }) => name);
        const engine = stage().engine();
        await engine.apply(set(one, "owned"));
        await engine.apply(set(two, "owned"));
        expect(await owners()).toEqual(["one", "two"]);
        const again = await engine.apply(set(one, "owned"));
        expect(["unchanged", "skipped"]).toContain(again.objects[0]?.action);
        expect(deedsIn(await engine.apply(set(one, "orphaned")))).toEqual([`updated ConfigMap ${ns}/shared`]);
        expect(await owners()).toEqual(["two"]);
      },
    );

    describe("of what server-side apply creates", () => {
      const set = (ns: string, name: string, reference: OwnerReference, data?: Record<string, string>) => ({
        wishes: wishes(configMap(ns, name, data)),
        strategy: { type: "ServerSideApply" } as const,
        owner: { mode: "owned", reference } as const,
      });
      /** Ends with the first write of the engine, as a process does that is killed then. */
      const killedAfterCreating = async (ns: string, name: string, reference: OwnerReference) => {
        let writes = 0;
        const client = interfered(stage().client, ({ verb }) => {
          if (verb === "patch" && ++writes > 1) throw new Error("killed");
        });
        await expect(
          stage()
            .engine({ client })
            .apply(set(ns, name, reference)),
        ).rejects.toThrow("killed");
      };

      it("are there from the first moment, because whoever creates it may end before the second", async () => {
        const ns = await stage().namespace();
        const one = await owner(ns, "one");
        await killedAfterCreating(ns, "a", one);
        const { metadata } = await stage().configMap(`${ns}/a`);
        expect(metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([one.uid]);
      });

      it.each([
        ["says the same", { k: "v" }],
        ["says something else", { k: "other" }],
      ])("stay with the next manifest of the same manager that %s", async (_, data) => {
        const ns = await stage().namespace();
        const [one, two] = [await owner(ns, "one"), await owner(ns, "two")];
        await killedAfterCreating(ns, "a", one);
        await stage()
          .engine()
          .apply(set(ns, "a", one, data));
        expect((await stage().configMap(`${ns}/a`)).metadata.ownerReferences).toEqual([one]);
        await stage()
          .engine()
          .apply(set(ns, "a", two, { k: "third" }));
        expect((await stage().configMap(`${ns}/a`)).metadata.ownerReferences).toEqual([one, two]);
      });

      it("are nobody's quarrel where a copy does not know yet that it is there", async () => {
        const ns = await stage().namespace();
        const one = await owner(ns, "one");
        await stage()
          .engine()
          .apply(set(ns, "a", one));
        const blind = { get: () => undefined, synced: true, whenSynced: async () => {}, onChange: () => () => {} };
        const late = stage().engine({ cacheOf: ({ kind }) => (kind === "ConfigMap" ? blind : undefined) });
        expect(deedsIn(await late.apply(set(ns, "a", one, { k: "other" })))).toEqual([`updated ConfigMap ${ns}/a`]);
        const { metadata, data } = await stage().configMap(`${ns}/a`);
        expect([metadata.ownerReferences, data]).toEqual([[one], { k: "other" }]);
      });
    });
  });
}
