import { describe, expect, it } from "vitest";
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { succession } from "./succession.ts";

const ours: ManagedFieldsEntry = {
  manager: "heir",
  operation: "Apply",
  apiVersion: "v1",
  fieldsV1: { "f:data": { "f:a": {} } },
};
const theirs: ManagedFieldsEntry = {
  manager: "former",
  operation: "Update",
  apiVersion: "v1",
  fieldsV1: { "f:data": { ".": {}, "f:a": {}, "f:b": {} } },
};

const object = (...managedFields: ManagedFieldsEntry[]): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "b", managedFields },
});

describe("the fields of somebody who wrote whole objects", () => {
  it("become those of the heir, so that it can let go of them", () => {
    expect(succession("heir", ["former"], object(ours, theirs))).toEqual({
      managedFields: [{ ...ours, fieldsV1: { "f:data": { ".": {}, "f:a": {}, "f:b": {} } } }],
      isMore: true,
    });
  });

  it("bring nothing new where the heir has applied all of them", () => {
    const same = { ...theirs, fieldsV1: { "f:data": { "f:a": {} } } };
    expect(succession("heir", ["former"], object(ours, same))).toEqual({ managedFields: [ours], isMore: false });
  });

  it.each([
    ["nobody was there before", [ours]],
    ["it is somebody else", [ours, { ...theirs, manager: "autoscaler" }]],
    ["they applied them", [ours, { ...theirs, operation: "Apply" as const }]],
    ["they are of a subresource", [ours, { ...theirs, subresource: "status" }]],
    ["they speak of another version of the kind", [ours, { ...theirs, apiVersion: "v2" }]],
    ["the heir has applied nothing", [theirs]],
  ])("stay where %s", (_, entries) => {
    expect(succession("heir", ["former"], object(...entries))).toBeUndefined();
  });
});
