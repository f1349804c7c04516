import { describe, expect, it } from "vitest";
import type { AppliedManifestWork, AppliedResource } from "#api/work";
import { comingMark, listedIn } from "./applied-work.ts";

const resource = (name: string): AppliedResource => ({ version: "v1", resource: "configmaps", namespace: "a", name });

function record(annotations: Record<string, string>, appliedResources?: AppliedResource[]): AppliedManifestWork {
  return {
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "AppliedManifestWork",
    metadata: { name: "hash-w", annotations },
    ...(appliedResources && { status: { appliedResources } }),
  };
}

describe("what a record lists", () => {
  it("is what it was made for, until something is listed", () => {
    const marks = comingMark([resource("b"), resource("a")]);
    expect(listedIn(record(marks)).map(({ name }) => name)).toEqual(["a", "b"]);
    expect(listedIn(record(marks, [resource("c")])).map(({ name }) => name)).toEqual(["c"]);
    expect(listedIn(record(marks, []))).toEqual([]);
  });

  it.each([
    ["no JSON", "{"],
    ["no list", '{"name":"a"}'],
    ["no resources", '[1,null,{"name":"a"}]'],
  ])("is nothing where somebody has written %s", (_, text) => {
    expect(listedIn(record({ "work.capstan.dev/coming": text }))).toEqual([]);
  });

  it("does not fit into an annotation if it is long", () => {
    expect(comingMark(Array.from({ length: 1_000 }, (_, index) => resource(`object-${index}`)))).toEqual({});
    expect(comingMark([])).toEqual({});
  });
});
