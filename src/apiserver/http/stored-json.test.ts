import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { Resource } from "../resource.ts";
import { listJson } from "./stored-json.ts";

const resource = (builtin: boolean) =>
  ({ group: "", version: "v1", kind: "ConfigMap", listKind: "ConfigMapList", builtin }) as Resource;

const object = (name: string, size: number): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { padding: "ä".repeat(size) },
});

/** What is sent, read as a client does. */
function read(items: DynamicObject[], builtin: boolean): unknown {
  const { body } = listJson({ items, revision: 7 }, { resourceVersion: "7" }, resource(builtin));
  return JSON.parse(Buffer.concat(Array.isArray(body) ? body : [body]).toString("utf8"));
}

function expected(items: DynamicObject[], builtin: boolean): unknown {
  const shown = items.map(({ apiVersion, kind, ...rest }) => (builtin ? rest : { apiVersion, kind, ...rest }));
  return { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "7" }, items: shown };
}

describe("a list out of stored objects", () => {
  it("has the items of a built-in kind without their type, in whichever order it is stored", () => {
    const usual = object("a", 1);
    const { apiVersion, kind, ...rest } = object("b", 1);
    for (const item of [usual, { kind, apiVersion, ...rest }, { ...rest, kind, apiVersion }] as DynamicObject[]) {
      expect(read([item], true)).toEqual(expected([item], true));
      expect(read([item], false)).toEqual(expected([item], false));
    }
  });

  it("is empty and still a list", () => {
    expect(read([], true)).toEqual(expected([], true));
  });

  it("is right after any changes, and in any pages, because most of it is put together from earlier lists", () => {
    const change = fc.record({
      at: fc.nat(),
      do: fc.constantFrom("insert", "replace", "remove"),
      size: fc.constantFrom(1, 1_000, 40_000),
    });
    const story = fc.record({
      builtin: fc.boolean(),
      sizes: fc.array(fc.constantFrom(10, 3_000, 20_000), { maxLength: 30 }),
      changes: fc.array(change, { maxLength: 20 }),
      page: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(story, ({ builtin, sizes, changes, page }) => {
        const items = sizes.map((size, index) => object(`o${index}`, size));
        expect(read(items, builtin)).toEqual(expected(items, builtin));
        for (const [index, { at, do: what, size }] of changes.entries()) {
          const place = at % (items.length + 1);
          const news = what === "remove" ? [] : [object(`n${index}`, size)];
          items.splice(place, what === "insert" ? 0 : 1, ...news);
          const start = at % (page * 2);
          const some = items.slice(start, start + page);
          expect(read(some, builtin)).toEqual(expected(some, builtin));
          expect(read(items, builtin)).toEqual(expected(items, builtin));
        }
      }),
      { numRuns: 60 },
    );
  });
});
