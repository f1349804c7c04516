import { describe, expect, it } from "vitest";
import { type KubeObject, keyOf, kind } from "#api/meta";
import { fakeCluster, runUntilQuiet, startControllers } from "../../test/support/index.ts";
import { type Controller, done, managedBy, ownerKeys, predicates, type Trigger, withCleanUp } from "./index.ts";
import { again } from "./types.ts";

interface Widget extends KubeObject {
  spec?: { size: number };
}
const Widget = kind<Widget>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});

function object(metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a", namespace: "ns", ...metadata } };
}

describe("predicates", () => {
  const { versionChanged, generationChanged, labelsChanged, annotationsChanged, selectedBy } = predicates;
  const mine = { labels: { team: "mine" } };

  it.each([
    ["a new version", versionChanged, { resourceVersion: "1" }, { resourceVersion: "2" }, true],
    ["the same told again", versionChanged, { resourceVersion: "1" }, { resourceVersion: "1" }, false],
    ["another wish", generationChanged, { generation: 1 }, { generation: 2 }, true],
    ["only another status", generationChanged, { generation: 1 }, { generation: 1, resourceVersion: "2" }, false],
    ["another label", labelsChanged, {}, mine, true],
    ["labels in another order", labelsChanged, { labels: { a: "", b: "" } }, { labels: { b: "", a: "" } }, false],
    ["no labels and none", labelsChanged, {}, { labels: {} }, false],
    ["another annotation", annotationsChanged, { annotations: { a: "1" } }, { annotations: { a: "2" } }, true],
    ["an object that is selected", selectedBy("team=mine"), mine, mine, true],
    ["one that leaves the selection", selectedBy("team=mine"), mine, {}, true],
    ["one that never was in it", selectedBy("team=mine"), {}, {}, false],
    ["both, and one fails", predicates.allOf(labelsChanged, generationChanged), {}, mine, false],
    ["either, and one holds", predicates.anyOf(labelsChanged, generationChanged), {}, mine, true],
    ["the opposite", predicates.not(labelsChanged), {}, mine, false],
  ])("%s", (_, predicate, before, after, passes) => {
    expect(predicate(object(before), object(after))).toBe(passes);
  });

  it("that compare let coming and going pass", () => {
    expect(generationChanged(undefined, object())).toBe(true);
    expect(generationChanged(object(), undefined)).toBe(true);
  });

  it("keep a controller asleep", async () => {
    const hub = fakeCluster([Widget, { metadata: { name: "a", namespace: "ns" }, spec: { size: 1 } }]);
    const seen: string[] = [];
    const running = startControllers([
      watching(hub.cache(Widget).keyedBy(keyOf, { when: generationChanged }), (key) => seen.push(key)),
    ]);
    await running.quiet();
    hub.put(Widget, { metadata: { name: "a", namespace: "ns", labels: { new: "label" } }, spec: { size: 1 } });
    await running.quiet();
    expect(seen).toEqual(["ns/a"]);
    hub.put(Widget, { metadata: { name: "a", namespace: "ns" }, spec: { size: 2 } });
    await running.quiet();
    expect(seen).toEqual(["ns/a", "ns/a"]);
    await running.stop();
  });
});

describe("owners", () => {
  const owned = (apiVersion: string, controller: boolean) =>
    object({
      ownerReferences: [{ apiVersion, kind: "Widget", name: "boss", uid: "u", ...(controller && { controller }) }],
    });

  it.each([
    ["the manager, in whatever version", owned("example.com/v1alpha1", true), {}, ["ns/boss"]],
    ["not another group's kind of the same name", owned("elsewhere.com/v1", true), {}, []],
    ["not one who does not manage it", owned("example.com/v1", false), {}, []],
    ["unless anybody counts", owned("example.com/v1", false), { any: true }, ["ns/boss"]],
    ["nobody", object(), {}, []],
  ])("who has to look: %s", (_, of, options, keys) => {
    expect(ownerKeys(Widget, options)(of)).toEqual(keys);
  });

  it("of cluster-scoped kinds are named without a namespace", () => {
    expect(ownerKeys({ ...Widget, namespaced: false })(owned("example.com/v1", true))).toEqual(["boss"]);
  });

  it("manage alone, and in their own namespace only", () => {
    const boss = object({ name: "boss", uid: "u1" });
    const managed = managedBy(object(), boss);
    expect(managed.metadata.ownerReferences).toMatchObject([{ name: "boss", uid: "u1", controller: true }]);
    expect(managedBy(managed, boss)).toEqual(managed);
    expect(() => managedBy(managed, object({ name: "rival", uid: "u2" }))).toThrow(
      "Widget ns/a is managed by Widget boss already, not by Widget ns/rival",
    );
    expect(() => managedBy(object({ namespace: "other" }), boss)).toThrow("not in its namespace");
  });
});

describe("an object with something to clean up", () => {
  const FINALIZER = "example.com/clean";

  function cleaning(hub: ReturnType<typeof fakeCluster>, isClean: () => boolean) {
    const steps: string[] = [];
    const widgets = hub.cache(Widget);
    const controller: Controller = {
      name: "cleaning",
      triggers: [widgets.keyedBy(keyOf)],
      async reconcile(key) {
        const object = widgets.get(key);
        if (!object) return done;
        return withCleanUp({
          cluster: hub,
          kind: Widget,
          object,
          finalizer: FINALIZER,
          async reconcile({ metadata: { finalizers } }) {
            steps.push(`reconcile ${finalizers}`);
            return done;
          },
          async cleanUp() {
            steps.push("clean up");
            return isClean() ? done : again(1_000);
          },
        });
      },
    };
    return { controller, steps };
  }

  it("is reconciled only once it cannot vanish, and written no second time", async () => {
    const hub = fakeCluster([Widget, { metadata: { name: "a", namespace: "ns" } }]);
    const { controller, steps } = cleaning(hub, () => true);
    await runUntilQuiet(controller);
    expect(new Set(steps)).toEqual(new Set([`reconcile ${FINALIZER}`]));
    expect(hub.writes).toHaveLength(1);
    await runUntilQuiet(controller);
    expect(hub.writes).toHaveLength(1);
  });

  it("stays until it is clean, and then goes", async () => {
    const metadata = { name: "a", namespace: "ns", finalizers: [FINALIZER], deletionTimestamp: "2026-01-01T00:00:00Z" };
    const hub = fakeCluster([Widget, { metadata }]);
    let isClean = false;
    const { controller, steps } = cleaning(hub, () => isClean);
    await runUntilQuiet(controller);
    expect(hub.read(Widget, "ns/a")).toBeDefined();
    isClean = true;
    await runUntilQuiet(controller);
    expect(hub.read(Widget, "ns/a")).toBeUndefined();
    expect(new Set(steps)).toEqual(new Set(["clean up"]));
  });

  it("has nothing to clean up when it never had the finalizer", async () => {
    const metadata = { name: "a", namespace: "ns", finalizers: ["x/y"], deletionTimestamp: "2026-01-01T00:00:00Z" };
    const hub = fakeCluster([Widget, { metadata }]);
    const { controller, steps } = cleaning(hub, () => true);
    await runUntilQuiet(controller);
    expect([steps, hub.writes]).toEqual([[], []]);
  });
});

function watching(trigger: Trigger<string>, look: (key: string) => void): Controller {
  return {
    name: "watching",
    triggers: [trigger],
    async reconcile(key) {
      look(key);
      return done;
    },
  };
}
