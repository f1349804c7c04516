import { describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ConfigMap } from "#api/core";
import type { Kind } from "#api/meta";
import { type Client, KubeError, type WatchOptions } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../../../../test/support/eventually.ts";
import { fakeCluster } from "../../../../test/support/index.ts";
import { Followed, type Target } from "./followed.ts";

const target = (name: string, namespace = "one"): Target => ({
  kind: ConfigMap as unknown as Kind,
  id: { group: "", version: "v1", kind: "ConfigMap", namespace, name },
});
const definition = (name: string): Target => ({
  kind: CustomResourceDefinition as unknown as Kind,
  id: { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition", name },
});

function stage() {
  const clock = new ManualClock();
  const cluster = fakeCluster({ clock }, [ConfigMap, { metadata: { name: "a", namespace: "one" }, data: { k: "1" } }]);
  const watches: { scope: string; signal: AbortSignal | undefined }[] = [];
  const told: string[] = [];
  const faults = { isRefused: false };
  const client: Client = {
    ...cluster.client,
    watch: async (kind, options: WatchOptions = {}) => {
      if (faults.isRefused) throw new KubeError("unreachable", "nobody there");
      const { namespace = "", fieldSelector = "", signal } = options;
      watches.push({ scope: `${kind.plural} ${namespace}${fieldSelector}`, signal });
      return cluster.client.watch(kind, options);
    },
  };
  const followed = new Followed({ client, clock, log: silentLog, onChange: (holder) => told.push(holder) });
  const open = () => watches.filter(({ signal }) => !signal?.aborted).map(({ scope }) => scope);
  const settle = (holder: string) => followed.settle(holder, new AbortController().signal);
  return { clock, cluster, followed, told, faults, open, settle };
}

describe("copies", () => {
  it("are shared by those who have something in the same place, and end with the last of them", async () => {
    const { followed, open, settle } = stage();
    followed.hold("w1", [target("a"), target("b")]);
    followed.hold("w2", [target("c")]);
    followed.hold("w3", [target("a", "two")]);
    for (const holder of ["w1", "w2", "w3"]) await settle(holder);
    expect(open()).toEqual(["configmaps one", "configmaps two"]);
    followed.release("w1");
    expect(open()).toEqual(["configmaps one", "configmaps two"]);
    followed.release("w2");
    expect(open()).toEqual(["configmaps two"]);
    followed.close();
    expect(open()).toEqual([]);
  });

  it("of definitions hold one each, because definitions are large", async () => {
    const { followed, open, settle } = stage();
    followed.hold("w", [definition("gadgets.example.com")]);
    await settle("w");
    expect(open()).toEqual(["customresourcedefinitions metadata.name=gadgets.example.com"]);
    followed.close();
  });

  it("tell of an object those who follow it, and nobody else", async () => {
    const { followed, cluster, told, settle } = stage();
    followed.hold("w1", [target("a")]);
    followed.hold("w2", [target("b")]);
    for (const holder of ["w1", "w2"]) await settle(holder);
    expect(told).toEqual([]);
    cluster.put(ConfigMap, { metadata: { name: "a", namespace: "one" }, data: { k: "2" } });
    await eventually(() => expect(told).toEqual(["w1"]));
    cluster.put(ConfigMap, { metadata: { name: "b", namespace: "one" } });
    await eventually(() => expect(told).toEqual(["w1", "w2"]));
    cluster.drop(ConfigMap, "one/a");
    await eventually(() => expect(told).toEqual(["w1", "w2", "w1"]));
    followed.close();
  });

  it("that cannot be filled are done without until they can, and then tell", async () => {
    const { clock, followed, told, faults, settle } = stage();
    faults.isRefused = true;
    followed.hold("w", [target("a")]);
    await settle("w");
    expect(followed.isFollowing("w")).toBe(false);
    expect(followed.cachesOf("w")(ConfigMap as unknown as Kind)?.synced).toBe(false);
    const found = await followed.find(target("a"), new AbortController().signal);
    expect(found).toMatchObject({ data: { k: "1" } });
    faults.isRefused = false;
    await eventually(() => {
      clock.advance(1_000);
      expect(followed.isFollowing("w")).toBe(true);
    });
    expect(told).toEqual(["w"]);
    followed.close();
  });

  it("are read by an engine for its own work only", async () => {
    const { followed, settle } = stage();
    followed.hold("w", [target("a")]);
    await settle("w");
    const cache = followed.cachesOf("w")(ConfigMap as unknown as Kind);
    expect([cache?.synced, cache?.get("one/a")?.metadata.name, cache?.get("one/b")]).toEqual([true, "a", undefined]);
    expect(followed.cachesOf("other")(ConfigMap as unknown as Kind)).toBeUndefined();
    followed.close();
  });
});
