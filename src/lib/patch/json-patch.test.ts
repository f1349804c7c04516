import { describe, expect, it } from "vitest";
import { applyJsonPatch, PatchError, type PatchFailure, parseJsonPatch } from "./index.ts";

function apply(document: unknown, patch: unknown, limits = {}): unknown {
  return applyJsonPatch(document, parseJsonPatch(patch), limits);
}

function failureOf(work: () => unknown): PatchFailure | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof PatchError) return error.failure;
    throw error;
  }
  return undefined;
}

describe("operations", () => {
  it.each([
    ["add a field", { a: 1 }, [{ op: "add", path: "/b", value: 2 }], { a: 1, b: 2 }],
    ["add replaces a field", { a: 1 }, [{ op: "add", path: "/a", value: [] }], { a: [] }],
    ["add without a value adds null", {}, [{ op: "add", path: "/a" }], { a: null }],
    ["add inside a list", { a: [1, 3] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2, 3] }],
    ["add at the end", { a: [1] }, [{ op: "add", path: "/a/-", value: 2 }], { a: [1, 2] }],
    ["add at the length", { a: [1] }, [{ op: "add", path: "/a/1", value: 2 }], { a: [1, 2] }],
    ["negative indexes count from the end", { a: [1, 2] }, [{ op: "remove", path: "/a/-1" }], { a: [1] }],
    ["remove", { a: 1, b: 2 }, [{ op: "remove", path: "/a" }], { b: 2 }],
    ["replace in a list", { a: [1, 2] }, [{ op: "replace", path: "/a/0", value: 9 }], { a: [9, 2] }],
    ["replace sets a missing field, as Kubernetes does", {}, [{ op: "replace", path: "/a", value: 1 }], { a: 1 }],
    ["replace the document", { a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }], { b: 2 }],
    ["move", { a: { x: 1 }, b: [] }, [{ op: "move", from: "/a/x", path: "/b/0" }], { a: {}, b: [1] }],
    [
      "copy is deep",
      { a: { x: 1 } },
      [
        { op: "copy", from: "/a", path: "/b" },
        { op: "add", path: "/b/x", value: 2 },
      ],
      { a: { x: 1 }, b: { x: 2 } },
    ],
    [
      "test, whatever the order of keys",
      { a: { x: 1, y: 2 } },
      [{ op: "test", path: "/a", value: { y: 2, x: 1 } }],
      { a: { x: 1, y: 2 } },
    ],
    ["a missing field passes a test for null", {}, [{ op: "test", path: "/a", value: null }], {}],
    [
      "escapes",
      { "a/b": 1, "m~n": 2 },
      [
        { op: "remove", path: "/a~1b" },
        { op: "replace", path: "/m~0n", value: 3 },
      ],
      { "m~n": 3 },
    ],
    ["~01 is ~1 and not a slash", { "~1": 1 }, [{ op: "remove", path: "/~01" }], {}],
    ["the empty key", { "": 1 }, [{ op: "remove", path: "/" }], {}],
  ])("%s", (_, document, patch, result) => {
    expect(apply(document, patch)).toEqual(result);
  });
});

describe("failures", () => {
  it.each([
    ["not a list", { op: "add" }, "Malformed"],
    ["an operation that is none", ["add"], "Malformed"],
    ["an unknown operation", [{ op: "merge", path: "/a" }], "Malformed"],
    ["no path", [{ op: "add", value: 1 }], "Malformed"],
    ["no from", [{ op: "move", path: "/a" }], "Malformed"],
    ["a missing parent", [{ op: "add", path: "/x/y", value: 1 }], "MissingPath"],
    ["through a scalar", [{ op: "add", path: "/n/y", value: 1 }], "MissingPath"],
    ["removing what is not there", [{ op: "remove", path: "/x" }], "MissingPath"],
    ["moving what is not there", [{ op: "move", from: "/x", path: "/y" }], "MissingPath"],
    ["beyond the end", [{ op: "add", path: "/list/3", value: 1 }], "MissingPath"],
    ["before the start", [{ op: "remove", path: "/list/-3" }], "MissingPath"],
    ["an index that is none", [{ op: "add", path: "/list/x", value: 1 }], "MissingPath"],
    ["a path without a slash", [{ op: "add", path: "x", value: 1 }], "MissingPath"],
    ["moving a parent into its child", [{ op: "move", from: "/o", path: "/o/x" }], "MissingPath"],
    ["a failed test", [{ op: "test", path: "/n", value: 2 }], "TestFailed"],
    ["prototypes are no fields", [{ op: "add", path: "/constructor/prototype/polluted", value: 1 }], "MissingPath"],
    ["__proto__ is no field", [{ op: "add", path: "/__proto__/polluted", value: 1 }], "MissingPath"],
  ] as const)("%s", (_, patch, failure) => {
    const document = { n: 1, list: [1, 2], o: {} };
    expect(failureOf(() => apply(document, patch))).toBe(failure);
    expect(document).toEqual({ n: 1, list: [1, 2], o: {} });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("stops copies that double again and again", () => {
    const double = { op: "copy", from: "/a", path: "/a/-" };
    const patch = Array.from({ length: 64 }, () => double);
    expect(failureOf(() => apply({ a: ["x"] }, patch))).toBe("TooLarge");
  });
});

describe("safety", () => {
  it("adds __proto__ as a field like any other", () => {
    const result = apply({}, [{ op: "add", path: "/__proto__", value: { polluted: true } }]) as object;
    expect(Object.keys(result)).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("changes neither the document nor the patch", () => {
    const value = { x: 1 };
    const document = { a: { b: 1 } };
    const result = apply(document, [
      { op: "add", path: "/c", value },
      { op: "add", path: "/c/y", value: 2 },
      { op: "remove", path: "/a/b" },
    ]);
    expect(result).toEqual({ a: {}, c: { x: 1, y: 2 } });
    expect([document, value]).toEqual([{ a: { b: 1 } }, { x: 1 }]);
  });
});
