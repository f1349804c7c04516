/** Sets: what they contained, what has left them, and what is not removed although it has. */
import { describe, expect, it } from "vitest";
import { ConfigMap, Namespace } from "#api/core";
import type { DynamicObject, OwnerReference } from "#api/meta";
import {
  type ApplyOptions,
  ApplySetAnnotation,
  ApplySetLabel,
  type Client,
  configMapSet,
  KubeError,
  type ObjectId,
  type ObjectSet,
  type SetTracking,
} from "#kube";
import { configMap, namespace, wishes } from "./objects.ts";
import { type ApplyStage, deedsIn, interfered, reasonsIn, writesIn } from "./stage.ts";

export function setCases(stage: () => ApplyStage): void {
  const tracked = (
    ns: string,
    objects: readonly DynamicObject[],
    more: Partial<SetTracking> = {},
    client?: Client,
  ): ObjectSet => ({
    wishes: wishes(...objects),
    tracking: {
      ...configMapSet({ client: client ?? stage().client, name: "the-set", namespace: ns, version: "1.2.3" }),
      prune: true,
      ...more,
    },
  });
  const apply = (set: ObjectSet, options?: ApplyOptions) => stage().engine().apply(set, options);
  const all = { objects: Number.POSITIVE_INFINITY, percent: 100 };

  describe("pruning", () => {
    it("removes what has left the set, and nothing else", async () => {
      const ns = await stage().namespace();
      const [a, b, c] = ["a", "b", "c"].map((name) => configMap(ns, name)) as [
        DynamicObject,
        DynamicObject,
        DynamicObject,
      ];
      await stage()
        .engine()
        .apply({ wishes: wishes(configMap(ns, "bystander")) });
      await apply(tracked(ns, [a, b, c]));
      const report = await apply(tracked(ns, [a, c]));
      expect(deedsIn(report)).toEqual([
        `unchanged ConfigMap ${ns}/a`,
        `unchanged ConfigMap ${ns}/c`,
        `pruned ConfigMap ${ns}/b`,
      ]);
      expect(report.complete).toBe(true);
      expect(await stage().exists(ConfigMap, `${ns}/b`)).toBe(false);
      expect(await stage().exists(ConfigMap, `${ns}/bystander`)).toBe(true);
    });

    it("leaves no trace of itself when nothing has changed", async () => {
      const ns = await stage().namespace();
      const objects = [configMap(ns, "a"), configMap(ns, "b")];
      await apply(tracked(ns, objects));
      const requests = await stage().requestsOf((client) =>
        stage()
          .engine({ client })
          .apply(tracked(ns, objects, {}, client)),
      );
      expect(writesIn(requests)).toEqual([]);
    });

    it("is only told where it was not asked for, and done later", async () => {
      const ns = await stage().namespace();
      await apply(tracked(ns, [configMap(ns, "a"), configMap(ns, "b")]));
      const told = await apply(tracked(ns, [configMap(ns, "a")], { prune: false }));
      expect(reasonsIn(told)).toMatchObject({ [`ConfigMap ${ns}/b`]: "held back: LeftTheSet" });
      expect(told.complete).toBe(true);
      expect(deedsIn(await apply(tracked(ns, [configMap(ns, "a")])))).toContain(`pruned ConfigMap ${ns}/b`);
    });

    it("has a budget, because most of a set does not leave it on purpose", async () => {
      const ns = await stage().namespace();
      const objects = ["a", "b", "c"].map((name) => configMap(ns, name));
      await apply(tracked(ns, objects));
      const held = await apply(tracked(ns, objects.slice(0, 1)));
      expect(reasonsIn(held)).toMatchObject({
        [`ConfigMap ${ns}/b`]: "held back: OverBudget",
        [`ConfigMap ${ns}/c`]: "held back: OverBudget",
      });
      expect(held.complete).toBe(false);
      expect(await stage().exists(ConfigMap, `${ns}/b`)).toBe(true);
      const told = await apply(tracked(ns, objects.slice(0, 1), { budget: all }));
      expect(deedsIn(told)).toEqual([
        `unchanged ConfigMap ${ns}/a`,
        `pruned ConfigMap ${ns}/b`,
        `pruned ConfigMap ${ns}/c`,
      ]);
    });

    it("waits until the rest is in place", async () => {
      const ns = await stage().namespace();
      await apply(tracked(ns, [configMap(ns, "a"), configMap(ns, "b")]));
      const broken = configMap(ns, "a", { "not a key": "x" });
      const report = await apply(tracked(ns, [broken]));
      expect(reasonsIn(report)).toEqual({
        [`ConfigMap ${ns}/a`]: "refused: Invalid",
        [`ConfigMap ${ns}/b`]: "held back: Incomplete",
      });
    });

    it("removes nothing at all when one object cannot be looked at", async () => {
      const ns = await stage().namespace();
      const objects = ["a", "b", "c", "d"].map((name) => configMap(ns, name));
      await apply(tracked(ns, objects));
      const client = interfered(stage().client, ({ verb, key }) => {
        if (verb === "get" && key === `${ns}/c`) throw new KubeError("lost", "the connection broke");
      });
      const report = await stage()
        .engine({ client })
        .apply(tracked(ns, objects.slice(0, 2)));
      expect(reasonsIn(report)).toMatchObject({
        [`ConfigMap ${ns}/c`]: "held back: DoubtfulRead",
        [`ConfigMap ${ns}/d`]: "held back: DoubtfulRead",
      });
      expect(report.objects.at(-1)?.message).toContain(`ConfigMap ${ns}/c cannot be looked at`);
      expect(await stage().exists(ConfigMap, `${ns}/d`)).toBe(true);
      expect((await apply(tracked(ns, objects.slice(0, 2)))).complete).toBe(true);
    });

    it("does not begin when the record cannot be read, because what goes in would be lost to it", async () => {
      const ns = await stage().namespace();
      const client = interfered(stage().client, ({ verb, key }) => {
        if (verb === "get" && key === `${ns}/the-set`) throw new KubeError("lost", "the connection broke");
      });
      await expect(apply(tracked(ns, [configMap(ns, "a")], {}, client))).rejects.toThrow("the connection broke");
      expect(await stage().exists(ConfigMap, `${ns}/a`)).toBe(false);
    });

    it("spares what does not carry the label of the set any more, and what is gone", async () => {
      const ns = await stage().namespace();
      const objects = ["a", "b", "c", "d"].map((name) => configMap(ns, name));
      await apply(tracked(ns, objects));
      const { client } = stage();
      await client.patch(ConfigMap, `${ns}/c`, { metadata: { labels: { [ApplySetLabel.partOf]: null } } });
      await client.delete(ConfigMap, `${ns}/d`);
      const report = await apply(tracked(ns, objects.slice(0, 2)));
      expect(reasonsIn(report)).toMatchObject({
        [`ConfigMap ${ns}/c`]: "skipped: NotOurs",
        [`ConfigMap ${ns}/d`]: "skipped: Gone",
      });
      expect(await stage().exists(ConfigMap, `${ns}/c`)).toBe(true);
      expect(await apply(tracked(ns, objects.slice(0, 2)))).toMatchObject({ complete: true, objects: { length: 2 } });
    });

    it("leaves Namespaces and definitions, with all that others keep there, unless told", async () => {
      const ns = await stage().namespace();
      const extra = `${ns}-extra`;
      const budget = all;
      await apply(tracked(ns, [configMap(ns, "a"), namespace(extra)]));
      const kept = await apply(tracked(ns, [configMap(ns, "a")], { budget }));
      expect(reasonsIn(kept)).toMatchObject({ [`Namespace ${extra}`]: "held back: Container" });
      expect(kept.complete).toBe(true);
      const removed = await apply(tracked(ns, [configMap(ns, "a")], { budget, containers: "remove" }));
      expect(deedsIn(removed)).toContain(`pruned Namespace ${extra}`);
      const found = await stage()
        .client.get(Namespace, extra)
        .catch(() => undefined);
      expect(found === undefined || found.metadata.deletionTimestamp !== undefined).toBe(true);
    });

    it("goes on after a run that died in the middle, and loses nothing", async () => {
      const ns = await stage().namespace();
      const objects = Array.from({ length: 20 }, (_, i) => configMap(ns, `c-${i}`));
      const stop = new AbortController();
      let done = 0;
      const dead = await stage()
        .engine({ atOnce: 2 })
        .apply(tracked(ns, objects), { signal: stop.signal, onReport: () => ++done === 7 && stop.abort() });
      expect(dead.complete).toBe(false);
      // Half of what went in is not wanted any more: the record knows of it although the run never ended.
      const rest = [...objects.slice(0, 2), ...objects.slice(10)];
      const report = await apply(tracked(ns, rest));
      expect(report.complete).toBe(true);
      const { items } = await stage().client.list(ConfigMap, { namespace: ns, labelSelector: ApplySetLabel.partOf });
      expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(
        rest.map(({ metadata }) => metadata.name).sort(),
      );
    });
  });

  describe("the record", () => {
    it("is an ApplySet that other tools understand and leave alone", async () => {
      const ns = await stage().namespace();
      await apply(tracked(ns, [configMap(ns, "a")]));
      const { metadata } = await stage().configMap(`${ns}/the-set`);
      expect(metadata.annotations).toMatchObject({
        [ApplySetAnnotation.tooling]: "capstan/v1.2.3",
        [ApplySetAnnotation.groupKinds]: "ConfigMap",
        [ApplySetAnnotation.namespaces]: "",
      });
      const member = await stage().configMap(`${ns}/a`);
      expect(member.metadata.labels?.[ApplySetLabel.partOf]).toBe(metadata.labels?.[ApplySetLabel.id]);
    });

    it.each([
      ["is no record", {}, /is no record of a set/],
      [
        "belongs to another tool",
        { annotations: { [ApplySetAnnotation.tooling]: "kubectl/v1.33" }, labels: { [ApplySetLabel.id]: "x" } },
        /belongs to kubectl\/v1.33/,
      ],
      [
        "carries another id",
        { annotations: { [ApplySetAnnotation.tooling]: "capstan/v1" }, labels: { [ApplySetLabel.id]: "x" } },
        /another set/,
      ],
    ])("is not taken from a ConfigMap that %s", async (_, metadata, why) => {
      const ns = await stage().namespace();
      await stage().client.create(ConfigMap, { metadata: { name: "the-set", namespace: ns, ...metadata } });
      await expect(apply(tracked(ns, [configMap(ns, "a")]))).rejects.toThrow(why);
      expect(await stage().exists(ConfigMap, `${ns}/a`)).toBe(false);
    });

    it("that cannot be read is not guessed at", async () => {
      const ns = await stage().namespace();
      await apply(tracked(ns, [configMap(ns, "a"), configMap(ns, "b")]));
      await stage().client.patch(ConfigMap, `${ns}/the-set`, { data: { members: "garbage" } });
      await expect(apply(tracked(ns, [configMap(ns, "a")]))).rejects.toThrow(/cannot be read/);
      expect(await stage().exists(ConfigMap, `${ns}/b`)).toBe(true);
    });

    it("needs its namespace", async () => {
      await expect(apply(tracked("nowhere-at-all", [configMap("nowhere-at-all", "a")]))).rejects.toThrow(
        /its namespace does not exist/,
      );
    });
  });

  describe("sets", () => {
    it("keep an object that is applied by itself, because nobody means to take it out that way", async () => {
      const ns = await stage().namespace();
      await apply(tracked(ns, [configMap(ns, "a", { k: "1" })]));
      await apply({ wishes: wishes(configMap(ns, "a", { k: "2" })) });
      const { metadata, data } = await stage().configMap(`${ns}/a`);
      expect([data, metadata.labels]).toEqual([{ k: "2" }, { [ApplySetLabel.partOf]: expect.any(String) }]);
      const again = await apply(tracked(ns, [configMap(ns, "a", { k: "2" })]));
      expect(deedsIn(again)).toEqual([`unchanged ConfigMap ${ns}/a`]);
    });

    it("do not take each other's objects, unless told", async () => {
      const ns = await stage().namespace();
      await apply(tracked(ns, [configMap(ns, "a")]));
      const other = configMapSet({ client: stage().client, name: "other-set", namespace: ns, version: "1" });
      const set: ObjectSet = { wishes: wishes(configMap(ns, "a")), tracking: { ...other, prune: true } };
      expect(reasonsIn(await apply(set))).toEqual({ [`ConfigMap ${ns}/a`]: "refused: OtherSet" });
      const forced = await apply({ ...set, strategy: { type: "ServerSideApply", force: true } });
      expect(deedsIn(forced)).toEqual([`updated ConfigMap ${ns}/a`]);
      // The first set finds that it has lost the object, and lets it be.
      expect(reasonsIn(await apply(tracked(ns, [], { budget: all })))).toEqual({
        [`ConfigMap ${ns}/a`]: "skipped: NotOurs",
      });
      expect(await stage().exists(ConfigMap, `${ns}/a`)).toBe(true);
    });

    it("by owner share objects: the last one to leave removes", async () => {
      const ns = await stage().namespace();
      const records = new Map<string, readonly ObjectId[]>();
      const owner = async (name: string): Promise<OwnerReference> => {
        const { metadata } = await stage().client.create(ConfigMap, { metadata: { name, namespace: ns } });
        return { apiVersion: "v1", kind: "ConfigMap", name, uid: metadata.uid ?? "" };
      };
      const owned = (reference: OwnerReference, objects: readonly DynamicObject[]): ObjectSet => ({
        wishes: wishes(...objects),
        strategy: { type: "Update" },
        owner: { mode: "owned", reference },
        tracking: {
          membership: { owner: reference, isRival: ({ kind }) => kind === reference.kind },
          inventory: {
            read: async () => records.get(reference.name) ?? [],
            write: async (members) => void records.set(reference.name, members),
          },
          prune: true,
          budget: all,
        },
      });
      const [one, two] = [await owner("one"), await owner("two")];
      await apply(owned(one, [configMap(ns, "shared")]));
      await apply(owned(two, [configMap(ns, "shared")]));
      expect(reasonsIn(await apply(owned(one, [])))).toEqual({ [`ConfigMap ${ns}/shared`]: "updated: Released" });
      const { metadata } = await stage().configMap(`${ns}/shared`);
      expect(metadata.ownerReferences?.map(({ name }) => name)).toEqual(["two"]);
      expect(deedsIn(await apply(owned(two, [])))).toEqual([`pruned ConfigMap ${ns}/shared`]);
      expect([...records.values()]).toEqual([[], []]);
    });
  });
}
