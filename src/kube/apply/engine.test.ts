import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { fakeCluster } from "../../../test/support/index.ts";
import type { Client } from "../types.ts";
import { createApplyEngine } from "./index.ts";

const resource = (kind: string, namespaced = false) => ({
  name: `${kind.toLowerCase()}s`,
  kind,
  namespaced,
  verbs: ["get"],
});
/** What the server says it serves, in every group: enough for kinds to be found. */
const SERVED = JSON.stringify({
  resources: [
    resource("ConfigMap", true),
    resource("Secret", true),
    resource("Namespace"),
    resource("CustomResourceDefinition"),
    resource("ValidatingWebhookConfiguration"),
    resource("APIService"),
  ],
});

/** A server in memory, and how many calls it had to answer at once at most. */
function measured() {
  const { client: memory } = fakeCluster([ConfigMap]);
  const load = { now: 0, most: 0, writes: 0 };
  const client = new Proxy(memory, {
    get(target, name) {
      const value: unknown = name === "raw" ? async () => SERVED : Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]) => {
        load.most = Math.max(load.most, ++load.now);
        if (name === "patch") load.writes++;
        // Others get their turn, as with a real server.
        await new Promise((resolve) => setImmediate(resolve));
        return Promise.resolve(value.apply(target, args)).finally(() => load.now--);
      };
    },
  }) as Client;
  return { client, load };
}

const configMap = (name: string, data: Record<string, string>): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
});

describe("ten thousand objects", () => {
  it("go in a few at a time, and the second time not at all", async () => {
    const { client, load } = measured();
    const wishes = Array.from({ length: 10_000 }, (_, i) => ({ object: configMap(`c-${i}`, { k: String(i) }) }));
    const engine = createApplyEngine({ client, fieldManager: "test", atOnce: 8 });
    const first = await engine.apply({ wishes });
    expect(first.complete).toBe(true);
    expect(load).toMatchObject({ most: 8, writes: 10_000 });
    const second = await engine.apply({ wishes });
    expect(new Set(second.objects.map(({ action }) => action))).toEqual(new Set(["unchanged"]));
    expect(load.writes).toBe(10_000);
  }, 60_000);
});

describe("objects of a mebibyte", () => {
  it("are applied, and told of in a few words", async () => {
    const { client } = measured();
    const engine = createApplyEngine({ client, fieldManager: "test" });
    const wish = (letter: string) => ({ wishes: [{ object: configMap("big", { k: letter.repeat(1024 * 1024) }) }] });
    await engine.apply(wish("a"));
    const { objects } = await engine.apply(wish("b"));
    expect(objects[0]?.action).toBe("updated");
    expect(JSON.stringify(objects[0]?.changes).length).toBeLessThan(3_000);
  });
});

describe("whatever is written", () => {
  it("is told as trouble with that object, and never stops the others", async () => {
    const kinds = [
      ["v1", "ConfigMap"],
      ["v1", "Secret"],
      ["v1", "Namespace"],
      ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
      ["admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"],
      ["apiregistration.k8s.io/v1", "APIService"],
    ] as const;
    const types = ["ServerSideApply", "Update", "CreateOnly"] as const;
    const content = fc.dictionary(
      fc.constantFrom("spec", "data", "webhooks", "stringData", "metadata"),
      fc.jsonValue(),
    );
    const nested = fc.dictionary(
      fc.constantFrom("names", "versions", "group", "conversion", "rules", "service"),
      fc.jsonValue(),
    );
    const metadata = fc.record({
      name: fc.constantFrom("a", "b", ""),
      labels: fc.jsonValue(),
      ownerReferences: fc.jsonValue(),
    });
    const written = fc.record({ kind: fc.constantFrom(...kinds), content, nested, metadata, isNested: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(written, { maxLength: 8 }), fc.constantFrom(...types), async (objects, type) => {
        const { client } = measured();
        const wishes = objects.map(
          ({ kind: [apiVersion, kind], content: fields, nested: spec, metadata: meta, isNested }) => ({
            object: {
              apiVersion,
              kind,
              metadata: meta,
              ...fields,
              ...(isNested && { spec, webhooks: [spec] }),
            } as unknown as DynamicObject,
          }),
        );
        const good = { object: configMap("good", { k: "v" }) };
        const { objects: told } = await createApplyEngine({ client, fieldManager: "test" }).apply({
          wishes: [...wishes, good],
          strategy: { type },
        });
        expect(told).toHaveLength(wishes.length + 1);
        expect(told.at(-1)?.action).toBe("created");
      }),
      { numRuns: 200 },
    );
  });
});

describe("caches", () => {
  it("are those of a cluster as controllers have it, and spare every question", async () => {
    const cluster = fakeCluster([ConfigMap]);
    const asked: string[] = [];
    const client = new Proxy(cluster.client, {
      get(target, name) {
        const value: unknown = name === "raw" ? async () => SERVED : Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          asked.push(String(name));
          return value.apply(target, args);
        };
      },
    }) as Client;
    const stop = new AbortController();
    cluster.cache(ConfigMap).start(stop.signal);
    await cluster.cache(ConfigMap).whenSynced();
    const engine = createApplyEngine({ client, fieldManager: "test", cacheOf: (kind) => cluster.cache(kind) });
    const set = { wishes: [{ object: configMap("a", { k: "1" }) }, { object: configMap("b", { k: "1" }) }] };
    await engine.apply(set);
    expect(asked).toEqual(["raw", "patch", "patch"]);
    asked.length = 0;
    // The caches hear of it a moment later; until then it is not known whether what was created is there.
    await new Promise((resolve) => setImmediate(resolve));
    expect((await engine.apply(set)).complete).toBe(true);
    expect(asked).toEqual([]);
    stop.abort();
  });
});
