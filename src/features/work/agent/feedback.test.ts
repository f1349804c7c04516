import { describe, expect, it } from "vitest";
import { type DynamicObject, kind } from "#api/meta";
import type { FeedbackRule } from "#api/work";
import { feedbackOf } from "./feedback.ts";

const Deployment = kind({ group: "apps", version: "v1", kind: "Deployment", plural: "deployments", namespaced: true });
const Job = kind({ group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true });
const object = (status: object): DynamicObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "a" },
  status,
});
const path = (name: string, jsonPath: string, version?: string): FeedbackRule => ({
  type: "JSONPaths",
  jsonPaths: [{ name, path: jsonPath, ...(version && { version }) }],
});

describe("well-known values", () => {
  it("of a Deployment are counts, and those that are not there yet are left out", () => {
    const { values, errors } = feedbackOf(
      [{ type: "WellKnownStatus" }],
      object({ replicas: 3, readyReplicas: 1 }),
      Deployment,
    );
    expect(errors).toEqual([]);
    expect(values).toEqual([
      { name: "ReadyReplicas", fieldValue: { type: "Integer", integer: 1 } },
      { name: "Replicas", fieldValue: { type: "Integer", integer: 3 } },
    ]);
  });

  it("of a Job are found in its conditions", () => {
    const status = { succeeded: 1, conditions: [{ type: "Complete", status: "True" }] };
    expect(feedbackOf([{ type: "WellKnownStatus" }], object(status), Job).values).toEqual([
      { name: "JobComplete", fieldValue: { type: "String", string: "True" } },
      { name: "JobSucceeded", fieldValue: { type: "Integer", integer: 1 } },
    ]);
  });

  it("of a kind that nobody knows are an error that names the kind", () => {
    const Widget = kind({ group: "example.com", version: "v2", kind: "Widget", plural: "widgets", namespaced: true });
    expect(feedbackOf([{ type: "WellKnownStatus" }], object({}), Widget).errors).toEqual([
      "cannot find the wellknown statuses for resource with gvk example.com/v2, Kind=Widget",
    ]);
  });
});

describe("values by path", () => {
  const status = { n: 5, s: "x", b: false, f: 1.5, list: [1, 2], deep: { a: { b: "c" } }, none: null };
  it.each([
    [".status.n", { type: "Integer", integer: 5 }],
    [".status.s", { type: "String", string: "x" }],
    [".status.b", { type: "Boolean", boolean: false }],
    [".status.deep.a.b", { type: "String", string: "c" }],
    [".metadata.name", { type: "String", string: "a" }],
    [".status.list[*]", { type: "Integer", integer: 1 }],
  ])("%s", (jsonPath, fieldValue) => {
    expect(feedbackOf([path("v", jsonPath)], object(status), Deployment)).toEqual({
      values: [{ name: "v", fieldValue }],
      errors: [],
    });
  });

  it.each([[".status.missing"], [".status.none"], [".nothing.at.all"]])(
    "%s has none, and that is no error",
    (jsonPath) => {
      expect(feedbackOf([path("v", jsonPath)], object(status), Deployment)).toEqual({ values: [], errors: [] });
    },
  );

  it("that are structures or fractions are errors, or JSON where that is wanted", () => {
    const rules = [path("f", ".status.f"), path("deep", ".status.deep"), path("all", ".status.list[*]")];
    const { errors } = feedbackOf(rules, object(status), Deployment);
    expect(errors).toEqual([
      "the type float64 of the value for f is not found",
      "the type object of the value for deep is not found",
    ]);
    const { values } = feedbackOf(rules, object(status), Deployment, { raw: true });
    expect(values.map(({ fieldValue }) => fieldValue.jsonRaw)).toEqual(["1.5", '{"a":{"b":"c"}}', "[1,2]"]);
    const [error] = feedbackOf([path("deep", ".status.deep")], object(status), Deployment, {
      raw: true,
      maxRawLength: 5,
    }).errors;
    expect(error).toContain("at most 5");
  });

  it("meant for another version, or written wrongly, are errors, and the others are still reported", () => {
    const rules = [path("old", ".status.n", "v1beta1"), path("wrong", ".status["), path("n", ".status.n", "v1")];
    const { values, errors } = feedbackOf(rules, object(status), Deployment);
    expect(values.map(({ name }) => name)).toEqual(["n"]);
    expect(errors[0]).toContain("v1beta1");
    expect(errors[1]).toContain(".status[");
  });

  it("of one name are reported once, because the API allows no two", () => {
    const { values } = feedbackOf([path("v", ".status.n"), path("v", ".status.s")], object(status), Deployment);
    expect(values).toHaveLength(1);
  });
});
