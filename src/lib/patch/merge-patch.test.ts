import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equal } from "#lib/json";
import { applyMergePatch, mergeDiff } from "./index.ts";

describe("applyMergePatch", () => {
  it.each([
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "foo" }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])("%j with %j is %j", (document, patch, result) => {
    expect(applyMergePatch(document, patch)).toEqual(result);
  });

  it("leaves the document and all prototypes alone", () => {
    const document = Object.freeze({ a: Object.freeze({ b: 1 }) });
    const patch = JSON.parse('{"__proto__":{"polluted":true},"a":{"constructor":{"prototype":{"polluted":true}}}}');
    const result = applyMergePatch(document, patch) as Record<string, unknown>;
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.keys(result)).toEqual(["a", "__proto__"]);
    expect(document).toEqual({ a: { b: 1 } });
  });
});

describe("mergeDiff", () => {
  it.each([
    ["equal", { a: { b: [1] } }, { a: { b: [1] } }, undefined],
    ["a removed field", { a: 1, b: { c: 1 } }, { b: {} }, { a: null, b: { c: null } }],
    ["an added object", {}, { a: { b: 1 } }, { a: { b: 1 } }],
    ["a list, whole", { a: [1, 2] }, { a: [1, 3] }, { a: [1, 3] }],
    ["an empty object where nothing was", {}, { a: {} }, { a: {} }],
    ["an object for a scalar", { a: 1 }, { a: { b: 2 } }, { a: { b: 2 } }],
    ["undefined is absent", { a: 1 }, { a: undefined, b: undefined }, { a: null }],
    ["undefined inside lists is absent", { a: [{ b: 1 }] }, { a: [{ b: 1, c: undefined }] }, undefined],
    ["null is absent", { a: null }, { b: null }, undefined],
    [
      "keys of every object's prototype are ordinary",
      {},
      { constructor: 1, toString: 2 },
      { constructor: 1, toString: 2 },
    ],
  ])("%s", (_, before, after, patch) => {
    expect(mergeDiff(before, after)).toEqual(patch);
  });

  const value = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 4 },
      fc.integer(),
      fc.string({ maxLength: 3 }),
      fc.boolean(),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), tie("json"), { maxKeys: 3 }),
    ),
  })).json;

  it("applied to what was gives what should be", () => {
    fc.assert(
      fc.property(value, value, (before, after) => {
        const patch = mergeDiff(before, after);
        return equal(patch === undefined ? before : applyMergePatch(before, patch), after);
      }),
    );
  });
});
