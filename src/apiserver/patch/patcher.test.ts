import { describe, expect, it } from "vitest";
import { ApiError } from "../errors.ts";
import { type DocumentPatch, patcher, resultRefusal } from "./index.ts";

const KIND = { group: "", version: "v1", kind: "ConfigMap" };
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", finalizers: ["a"] }, data: { a: "1" } };

function outcome(type: DocumentPatch["type"], patch: unknown): unknown {
  try {
    return patcher({ type, patch }, KIND)(object);
  } catch (error) {
    if (error instanceof ApiError) return [error.code, error.status.reason];
    throw error;
  }
}

describe("what a patch leaves", () => {
  it.each<[because: string, type: DocumentPatch["type"], patch: unknown, changed: unknown]>([
    [
      "a merge patch replaces lists",
      "merge",
      { metadata: { finalizers: ["b"] } },
      { metadata: { name: "c", finalizers: ["b"] } },
    ],
    [
      "a strategic patch merges them",
      "strategic",
      { metadata: { finalizers: ["b"] } },
      { metadata: { name: "c", finalizers: ["b", "a"] } },
    ],
    ["a JSON patch operates", "json", [{ op: "add", path: "/data/b", value: "2" }], { data: { a: "1", b: "2" } }],
    ["a strategic patch cannot change what an object is", "strategic", { apiVersion: "v2", kind: null }, {}],
    ["a strategic patch may be null", "strategic", null, {}],
    ["a JSON patch may be null", "json", null, {}],
  ])("%s", (_, type, patch, changed) => {
    expect(outcome(type, patch)).toEqual({ ...object, ...(changed as object) });
  });
});

describe("refusals", () => {
  const many = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/kind", value: "ConfigMap" }));
  it.each<[because: string, type: DocumentPatch["type"], patch: unknown, code: number, reason: string]>([
    ["a merge patch that is a list", "merge", [], 400, "BadRequest"],
    ["a merge patch that is null", "merge", null, 400, "BadRequest"],
    ["a strategic patch that is a list", "strategic", [], 400, "BadRequest"],
    ["a JSON patch that is an object", "json", { op: "x" }, 400, "BadRequest"],
    ["an operation that is a number", "json", [5], 400, "BadRequest"],
    ["a path that is a number", "json", [{ op: "add", path: 5 }], 400, "BadRequest"],
    [
      "an operation that there is not, because it reads well and cannot be done",
      "json",
      [{ op: "x", path: "/a" }],
      422,
      "Invalid",
    ],
    ["an operation without path", "json", [{ op: "add", value: 1 }], 422, "Invalid"],
    ["a test that fails", "json", [{ op: "test", path: "/data/a", value: "2" }], 422, "Invalid"],
    ["a parent that is missing", "json", [{ op: "add", path: "/x/y", value: 1 }], 422, "Invalid"],
    ["more operations than anybody needs", "json", many, 413, "RequestEntityTooLarge"],
  ])("%s", (_, type, patch, code, reason) => {
    expect(outcome(type, patch)).toEqual([code, reason]);
  });

  it("says nothing of the patch before it is applied, because a missing object comes first", () => {
    expect(() => patcher({ type: "json", patch: {} }, KIND)).not.toThrow();
  });

  it("blames the patch for what it leaves", () => {
    const { status } = resultRefusal({ type: "strategic", patch: { spec: { x: [1] } } }, "no such field");
    const message = 'Invalid value: "map[spec:map[x:[1]]]": no such field';
    expect(status).toMatchObject({
      code: 422,
      reason: "Invalid",
      message: ` "" is invalid: patch: ${message}`,
      details: { causes: [{ reason: "FieldValueInvalid", field: "patch", message }] },
    });
  });
});
