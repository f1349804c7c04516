import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { differenceOf } from "./diff.ts";

const NOTE = "note";
const object = (content: object, metadata: object = {}, kind = "ConfigMap"): DynamicObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name: "x", ...metadata },
  ...content,
});
const changes = (before: DynamicObject | undefined, after: DynamicObject | undefined) =>
  differenceOf(before, after, NOTE).changes;

describe("changes", () => {
  it.each([
    ["a field", { a: 1 }, { a: 2 }, [{ path: ".spec.a", before: 1, after: 2 }]],
    ["a field that comes", {}, { a: { b: [1] } }, [{ path: ".spec.a.b[0]", after: 1 }]],
    ["a field that goes", { a: "x" }, {}, [{ path: ".spec.a", before: "x" }]],
    ["an empty map that comes", {}, { a: {} }, [{ path: ".spec.a", after: {} }]],
    ["a key with dots", { "a.b/c": 1 }, { "a.b/c": 2 }, [{ path: '.spec["a.b/c"]', before: 1, after: 2 }]],
    [
      "an item by its name, wherever it stands",
      {
        c: [
          { name: "a", v: 1 },
          { name: "b", v: 1 },
        ],
      },
      {
        c: [
          { name: "b", v: 2 },
          { name: "a", v: 1 },
        ],
      },
      [{ path: ".spec.c[name=b].v", before: 1, after: 2 }],
    ],
    [
      "an item by its place where it has no name",
      { c: [1, 2] },
      { c: [1, 3] },
      [{ path: ".spec.c[1]", before: 2, after: 3 }],
    ],
    ["a value of another type", { a: 1 }, { a: { b: 1 } }, [{ path: ".spec.a", before: 1, after: { b: 1 } }]],
    ["nothing", { a: [{ b: 1n }] }, { a: [{ b: 1 }] }, []],
  ])("%s", (_, before, after, expected) => {
    expect(changes(object({ spec: before }), object({ spec: after }))).toEqual(expected);
  });

  it("leave out what the server counts, the status, and the engine's own note", () => {
    const after = object(
      { status: { phase: "Active" } },
      { resourceVersion: "2", uid: "u", generation: 3, annotations: { [NOTE]: "h" }, managedFields: [] },
    );
    expect(changes(object({}), after)).toEqual([]);
  });

  it("tell all of what comes into being but its name", () => {
    expect(changes(undefined, object({ data: { a: "b" } }, { namespace: "n" }))).toEqual([
      { path: ".data.a", after: "b" },
    ]);
  });

  it("are bounded in number and length", () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, "v"]));
    const { changes: listed, more } = differenceOf(object({}), object({ data: many }), NOTE);
    expect([listed.length, more]).toEqual([200, 300]);
    const [long] = changes(object({}), object({ data: { k: "x".repeat(5_000) } }));
    expect(String(long?.after)).toMatch(/^x{1000}… \(5000 characters\)$/);
  });
});

describe("secrets", () => {
  const secret = (data: object, metadata: object = {}) => object({ data }, metadata, "Secret");
  const masked = [{ path: ".data.password", before: "*** (before)", after: "*** (after)" }];

  it("show that a value changes, and not which", () => {
    expect(changes(secret({ password: "aHVudGVyMg==" }), secret({ password: "aHVudGVyMw==" }))).toEqual(masked);
    expect(changes(undefined, secret({ password: "aHVudGVyMg==" }))).toEqual([
      { path: ".data.password", after: "***" },
    ]);
    expect(changes(secret({ password: "aHVudGVyMg==" }), secret({}))).toEqual([
      { path: ".data.password", before: "***" },
    ]);
  });

  it("are masked in stringData, inside of other objects, and in what kubectl noted", () => {
    const texts = [
      changes(undefined, object({ stringData: { password: "hunter2" } }, {}, "Secret")),
      changes(undefined, object({ spec: { manifests: [secret({ password: "hunter2" })] } }, {}, "ManifestWork")),
      changes(
        undefined,
        object({}, { annotations: { "kubectl.kubernetes.io/last-applied-configuration": '{"data":"hunter2"}' } }),
      ),
    ];
    for (const text of texts) {
      expect(text).toHaveLength(text.length === 1 ? 1 : 4);
      expect(JSON.stringify(text)).not.toContain("hunter2");
    }
  });

  it("show labels and types as those of any object", () => {
    expect(changes(secret({}), secret({}, { labels: { a: "b" } }))).toEqual([
      { path: ".metadata.labels.a", after: "b" },
    ]);
  });
});
