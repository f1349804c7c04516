/** Nothing when nothing changed, and only what did when something did. */
import { describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import type { DynamicObject, Kind } from "#api/meta";
import { type Client, createCache, type Drift, type LiveCache, type ObjectCache } from "#kube";
import { eventually } from "../../support/eventually.ts";
import { configMap, deployment, secret, service, wishes } from "./objects.ts";
import { type ApplyStage, deedsIn, MANAGER, writesIn } from "./stage.ts";

export function quietCases(stage: () => ApplyStage): void {
  const everySort = (ns: string) => ({
    wishes: wishes(
      configMap(ns, "c"),
      secret(ns, "s", { password: "hunter2" }),
      deployment(ns, "web"),
      service(ns, "web"),
      ...Array.from({ length: 25 }, (_, i) => configMap(ns, `many-${i}`)),
    ),
  });

  describe("a second apply", () => {
    it("of unchanged manifests writes nothing, although the engine is another one", async () => {
      const ns = await stage().namespace();
      const first = await stage().requestsOf((client) => stage().engine({ client }).apply(everySort(ns)));
      expect(writesIn(first)).toHaveLength(29);
      const second = await stage().requestsOf(async (client) => {
        const report = await stage().engine({ client }).apply(everySort(ns));
        expect(new Set(report.objects.map(({ action }) => action))).toEqual(new Set(["unchanged"]));
      });
      expect(writesIn(second)).toEqual([]);
      // 26 ConfigMaps are listed; the rest is asked for by name.
      const reads = second.filter(({ requestURI }) => requestURI.includes(`/namespaces/${ns}/`));
      expect(reads.map(({ verb }) => verb).sort()).toEqual(["get", "get", "get", "list"]);
    });

    it("with caches asks for nothing at all", async () => {
      const ns = await stage().namespace();
      await withCaches(stage(), ns, async ({ client, cacheOf }) => {
        const engine = stage().engine({ client, cacheOf });
        await engine.apply(everySort(ns));
        expect((await engine.apply(everySort(ns))).complete).toBe(true);

        const restarted = stage().engine({ client, cacheOf });
        await eventually(async () => {
          const report = await restarted.apply(everySort(ns));
          expect(new Set(report.objects.map(({ action }) => action))).toEqual(new Set(["unchanged"]));
        });
        const calls: string[] = [];
        const watched = watchedClient(client, calls);
        const quiet = stage().engine({ client: watched, cacheOf });
        await quiet.apply(everySort(ns));
        // What kinds there are is learned once by every engine; objects come from the caches.
        expect(calls.filter((call) => !call.startsWith("raw"))).toEqual([]);
        calls.length = 0;
        expect((await quiet.apply(everySort(ns))).complete).toBe(true);
        expect(calls).toEqual([]);
      });
    });

    it("of a changed manifest writes that one, takes away what it no longer says, and tells what changes", async () => {
      const ns = await stage().namespace();
      const engine = () => stage().engine();
      await engine().apply({ wishes: wishes(configMap(ns, "a", { x: "1", y: "1" }), configMap(ns, "b")) });
      const report = await engine().apply({ wishes: wishes(configMap(ns, "a", { x: "2" }), configMap(ns, "b")) });
      expect(deedsIn(report)).toEqual([`updated ConfigMap ${ns}/a`, `unchanged ConfigMap ${ns}/b`]);
      expect(report.objects[0]?.changes).toEqual([
        { path: ".data.x", before: "1", after: "2" },
        { path: ".data.y", before: "1" },
      ]);
      expect((await stage().configMap(`${ns}/a`)).data).toEqual({ x: "2" });
    });

    it("mends what somebody else changed, and leaves what somebody else added", async () => {
      const ns = await stage().namespace();
      const set = { wishes: wishes(configMap(ns, "a", { x: "1" })) };
      await stage().engine().apply(set);
      await stage().client.patch(ConfigMap, `${ns}/a`, { data: { x: "other", z: "added" } }, { fieldManager: "human" });
      const refused = await stage().engine().apply(set);
      expect(refused.objects[0]).toMatchObject({
        action: "refused",
        conflicts: [{ manager: "human", field: ".data.x" }],
      });

      const forced = { ...set, strategy: { type: "ServerSideApply", force: true } } as const;
      expect(deedsIn(await stage().engine().apply(forced))).toEqual([`updated ConfigMap ${ns}/a`]);
      expect((await stage().configMap(`${ns}/a`)).data).toEqual({ x: "1", z: "added" });
      expect(deedsIn(await stage().engine().apply(forced))).toEqual([`unchanged ConfigMap ${ns}/a`]);
    });

    it("notices that a field was removed and that an object was", async () => {
      const ns = await stage().namespace();
      const set = { wishes: wishes(configMap(ns, "a", { x: "1", y: "1" }), configMap(ns, "b")) };
      await stage().engine().apply(set);
      await stage().client.patch(ConfigMap, `${ns}/a`, { data: { y: null } }, { fieldManager: "human" });
      await stage().client.delete(ConfigMap, `${ns}/b`);
      expect(deedsIn(await stage().engine().apply(set))).toEqual([
        `updated ConfigMap ${ns}/a`,
        `created ConfigMap ${ns}/b`,
      ]);
    });

    it("becomes answerable for what was there before as it should be, once", async () => {
      const ns = await stage().namespace();
      await stage().client.create(ConfigMap, { metadata: { name: "a", namespace: ns }, data: { k: "v" } });
      const set = { wishes: wishes(configMap(ns, "a")) };
      const adopted = await stage().engine().apply(set);
      expect(adopted.objects[0]).toMatchObject({ action: "updated", reason: "Adopted", changes: [] });
      expect((await stage().engine().apply(set)).objects[0]).toMatchObject({ action: "unchanged" });
    });
  });

  describe("conflicts", () => {
    it("are named by manager and field, of Secrets too, whose values stay hidden", async () => {
      const ns = await stage().namespace();
      const set = { wishes: wishes(secret(ns, "s", { password: "hunter2" })) };
      await stage().engine({ fieldManager: "first" }).apply(set);
      const other = { wishes: wishes(secret(ns, "s", { password: "hunter3" })) };
      const report = await stage().engine({ fieldManager: "second" }).apply(other);
      expect(report.objects[0]).toMatchObject({
        action: "refused",
        reason: "Conflict",
        message: "first claims .data.password",
        conflicts: [{ manager: "first", field: ".data.password" }],
      });
    });
  });

  describe("drift", () => {
    it("is told by object, so that only those are applied again, and our own writes are none", async () => {
      const ns = await stage().namespace();
      await withCaches(stage(), ns, async ({ client, cacheOf }) => {
        const set = { wishes: wishes(configMap(ns, "a"), configMap(ns, "b"), deployment(ns, "web")) };
        const engine = stage().engine({ client, cacheOf });
        const drifts: Drift[] = [];
        const told = () => drifts.map(({ id, found }) => `${found} ${id.name}`);
        const stop = await engine.followDrift(set, (drift) => drifts.push(drift));
        expect(told().sort()).toEqual(["missing a", "missing b", "missing web"]);
        drifts.length = 0;

        await engine.apply(set);
        await stage().client.patch(ConfigMap, `${ns}/a`, { data: { k: "drifted" } }, { fieldManager: "human" });
        await eventually(() => expect(told()).toContain("changed a"));
        await stage().client.delete(ConfigMap, `${ns}/b`);
        await eventually(() => expect(told()).toContain("missing b"));
        expect(new Set(told())).toEqual(new Set(["changed a", "missing b"]));

        const names = new Set(drifts.map(({ id }) => id.name));
        const mended = await engine.apply(
          { ...set, strategy: { type: "ServerSideApply", force: true } },
          { only: ({ name }) => names.has(name) },
        );
        expect(deedsIn(mended)).toEqual([`updated ConfigMap ${ns}/a`, `created ConfigMap ${ns}/b`]);
        stop();
        const count = drifts.length;
        await stage().client.delete(ConfigMap, `${ns}/b`);
        await eventually(() => expect(cacheOf(ConfigMap as Kind)?.get(`${ns}/b`)).toBeUndefined());
        expect(drifts).toHaveLength(count);
      });
    });
  });

  it("answers for its fields by the name it was given", async () => {
    const ns = await stage().namespace();
    await stage()
      .engine()
      .apply({ wishes: wishes(configMap(ns, "a")) });
    const { managedFields = [] } = (await stage().configMap(`${ns}/a`)).metadata;
    expect(managedFields.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([`${MANAGER} Apply`]);
  });
}

/** Caches of the kinds that are asked for, filled and following, for as long as `work` takes. */
async function withCaches(
  { client }: ApplyStage,
  namespace: string,
  work: (parts: { client: Client; cacheOf: (kind: Kind) => LiveCache | undefined }) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const caches = new Map<string, ObjectCache<DynamicObject>>();
  for (const [group, kind, plural] of [
    ["", "ConfigMap", "configmaps"],
    ["", "Secret", "secrets"],
    ["", "Service", "services"],
    ["apps", "Deployment", "deployments"],
  ] as const) {
    const cache = createCache<DynamicObject>({
      client,
      kind: { group, version: "v1", kind, plural, namespaced: true },
      scope: { namespace },
    });
    cache.start(stop.signal);
    caches.set(plural, cache);
  }
  try {
    await Promise.all([...caches.values()].map((cache) => cache.whenSynced()));
    await work({ client, cacheOf: ({ plural }) => caches.get(plural) });
  } finally {
    stop.abort();
  }
}

/** The client, noting what is asked of it. */
function watchedClient(client: Client, calls: string[]): Client {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        calls.push(`${String(name)} ${typeof args[0] === "string" ? args[0] : ""}`);
        return value.apply(target, args);
      };
    },
  });
}
