import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { applyJsonPatch } from "#lib/patch";
import { clusterMutation } from "./cluster-mutation.ts";

const NOW = new Date("2026-03-04T05:06:07Z");
const STAMP = "2026-03-04T05:06:07Z";
const OLD = "2025-01-01T00:00:00Z";
const SET = "cluster.open-cluster-management.io/clusterset";

const cluster = (spec: unknown = {}, metadata: object = {}): DynamicObject =>
  ({ apiVersion: "v1", kind: "ManagedCluster", metadata: { name: "c1", ...metadata }, spec }) as DynamicObject;

/** The object as it is written, or the refusal. */
function written(object: DynamicObject, oldObject: DynamicObject | null = null, defaultSet = true) {
  const operation = oldObject ? "UPDATE" : "CREATE";
  const ruling = clusterMutation({ operation, object, oldObject }, { now: NOW, defaultSet });
  return ruling.allowed ? (applyJsonPatch(object, [...(ruling.patch ?? [])]) as DynamicObject) : ruling;
}
const taintsOf = (result: ReturnType<typeof written>) =>
  "spec" in result ? (result.spec as { taints?: unknown[] }).taints : result;

describe("the time of a taint", () => {
  const taint = { key: "a", value: "v", effect: "NoSelect" };
  const timed = { ...taint, timeAdded: OLD };

  it("is that of the creation, whatever somebody says", () => {
    expect(taintsOf(written(cluster({ taints: [taint, { ...timed, key: "b" }] })))).toEqual([
      { ...taint, timeAdded: STAMP },
      { ...taint, key: "b", timeAdded: STAMP },
    ]);
  });

  it.each([
    ["new", [{ key: "b", effect: "NoSelect" }]],
    ["of another value", [{ ...taint, value: "w" }]],
    ["of another effect", [{ ...taint, effect: "PreferNoSelect" }]],
  ])("is now for one that is %s", (_, taints) => {
    const result = taintsOf(written(cluster({ taints }), cluster({ taints: [timed] })));
    expect(result).toEqual(taints.map((each) => ({ ...each, timeAdded: STAMP })));
  });

  it("stays as it is, in whichever form, while the taint does", () => {
    const other = { ...taint, timeAdded: "2025-01-01T00:00:00.000Z" };
    expect(taintsOf(written(cluster({ taints: [other] }), cluster({ taints: [timed] })))).toEqual([other]);
    expect(taintsOf(written(cluster({ taints: [taint] }), cluster({ taints: [taint] }))), "from before us").toEqual([
      taint,
    ]);
  });

  it.each([
    ["a new one", [{ key: "b", effect: "NoSelect", timeAdded: OLD }], '"b"'],
    ["a changed one", [{ ...timed, value: "w" }], '"a"'],
    ["another time of one that did not change", [{ ...taint, timeAdded: STAMP }], '"a"'],
    ["none of one that did not change", [taint], '"a"'],
  ])("cannot be set: %s", (_, taints, named) => {
    const refusal = written(cluster({ taints }), cluster({ taints: [timed] }));
    expect(refusal).toMatchObject({ allowed: false, code: 400, reason: "BadRequest" });
    expect(JSON.stringify(refusal)).toContain("It is not allowed to set TimeAdded of Taint");
    expect((refusal as { message: string }).message).toContain(named);
  });
});

describe("the set of a cluster", () => {
  it.each([
    ["no labels", {}],
    ["labels as null", { labels: null }],
    ["other labels", { labels: { a: "b" } }],
    ["an empty set", { labels: { [SET]: "" } }],
  ])("is default with %s", (_, metadata) => {
    const result = written(cluster({}, metadata)) as DynamicObject;
    expect(result.metadata.labels).toMatchObject({ [SET]: "default" });
    const kept = (metadata as { labels?: { a?: string } | null }).labels?.a;
    expect(result.metadata.labels?.a).toBe(kept);
  });

  it("is given back when somebody takes it away, and stays when somebody chose it", () => {
    const removed = written(cluster({}, { labels: {} }), cluster({}, { labels: { [SET]: "mine" } })) as DynamicObject;
    expect(removed.metadata.labels).toEqual({ [SET]: "default" });
    const chosen = written(cluster({}, { labels: { [SET]: "mine" } })) as DynamicObject;
    expect(chosen.metadata.labels).toEqual({ [SET]: "mine" });
  });

  it("is nobody's while the gate is closed, or for a cluster that goes", () => {
    expect((written(cluster(), null, false) as DynamicObject).metadata.labels).toBeUndefined();
    const going = cluster({}, { deletionTimestamp: STAMP });
    expect((written(going, going) as DynamicObject).metadata.labels).toBeUndefined();
  });
});

it("lets no cluster be lost at once for a lease of no time", () => {
  expect(written(cluster({ leaseDurationSeconds: 0 }))).toMatchObject({ spec: { leaseDurationSeconds: 60 } });
  expect(written(cluster({ leaseDurationSeconds: 5 }))).toMatchObject({ spec: { leaseDurationSeconds: 5 } });
});

it.each([[null], ["text"], [{ taints: "x" }], [{ taints: [1, null, []] }], [{ taints: { 0: {} } }]])(
  "leaves it to the server to say what is wrong with a spec of %j",
  (spec) => {
    expect(written(cluster(spec, { labels: { [SET]: "a" } }))).toMatchObject({ kind: "ManagedCluster" });
    expect(written(cluster(spec, { labels: [] }), cluster(spec))).toMatchObject({ kind: "ManagedCluster" });
  },
);
