import { describe, expect, it } from "vitest";
import type { OpenApiSchema } from "#api/schema";
import { structuralErrors } from "./index.ts";

/** What is wrong with a property `x` of that schema: reason, and path from the property on. */
function wrongWith(x: OpenApiSchema): string[] {
  const schema = { type: "object", properties: { x } };
  return structuralErrors(schema, "schema").map(
    ({ reason, field }) => `${reason.replace("FieldValue", "")} ${field.replace("schema.properties[x]", "x")}`,
  );
}

const named = (properties: Record<string, OpenApiSchema>, required: string[] = []): OpenApiSchema => ({
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["name"],
  items: { type: "object", properties, required },
});

describe("structuralErrors", () => {
  it.each<[string, OpenApiSchema]>([
    ["a scalar", { type: "string", pattern: "^[a-z]+$", enum: ["a"] }],
    ["an open object", { type: "object", "x-kubernetes-preserve-unknown-fields": true }],
    ["anything at all", { "x-kubernetes-preserve-unknown-fields": true }],
    ["a map", { type: "object", additionalProperties: { type: "integer" } }],
    [
      "an integer or a string, told twice as generators do",
      {
        "x-kubernetes-int-or-string": true,
        anyOf: [{ type: "integer" }, { type: "string" }],
        pattern: "^\\d+%?$",
      },
    ],
    [
      "alternatives about fields that exist",
      {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "string" } },
        oneOf: [{ required: ["a"], properties: { a: { minLength: 1 } } }, { required: ["b"] }],
      },
    ],
    ["a list by key", named({ name: { type: "string" } }, ["name"])],
    ["a list by a key with a default", named({ name: { type: "string", default: "a" } })],
    ["a set", { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } }],
    [
      "an embedded resource",
      { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
    ],
  ])("accepts %s", (_, schema) => {
    expect(wrongWith(schema)).toEqual([]);
  });

  it.each<[string, OpenApiSchema, string[]]>([
    ["a field without type", {}, ["Required x.type"]],
    ["an unknown type", { type: "text" }, ["NotSupported x.type"]],
    ["a list without items", { type: "array" }, ["Required x.items"]],
    ["items without type", { type: "array", items: {} }, ["Required x.items.type"]],
    ["a reference", { type: "object", $ref: "#/x" } as OpenApiSchema, ["Forbidden x.$ref"]],
    [
      "uniqueItems, which costs too much",
      { type: "array", items: { type: "string" }, uniqueItems: true },
      ["Forbidden x.uniqueItems"],
    ],
    ["a closed object", { type: "object", additionalProperties: false }, ["Forbidden x.additionalProperties"]],
    [
      "properties beside additionalProperties",
      { type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "string" } },
      ["Forbidden x.additionalProperties"],
    ],
    ["a broken pattern", { type: "string", pattern: "(" }, ["Invalid x.pattern"]],
    ["a type inside an alternative", { type: "string", anyOf: [{ type: "string" }] }, ["Forbidden x.anyOf[0].type"]],
    ["a default inside an alternative", { type: "string", not: { default: "a" } }, ["Forbidden x.not.default"]],
    [
      "an alternative about a field that does not exist",
      { type: "object", allOf: [{ properties: { a: { minLength: 1 } } }] },
      ["Required x.allOf[0].properties[a]"],
    ],
    ["a key that may be missing", named({ name: { type: "string" } }), ["Required x.items.properties[name].default"]],
    ["a key that is no field", named({}), ["Invalid x.x-kubernetes-list-map-keys[0]"]],
    [
      "a key that is an object",
      named({ name: { type: "object" } }, ["name"]),
      ["Invalid x.items.properties[name].type"],
    ],
    ["a default of the wrong type", { type: "string", default: 3 }, ["TypeInvalid x.default"]],
    [
      "a default with unknown fields",
      { type: "object", properties: { a: { type: "string" } }, default: { b: "" } },
      ["Invalid x.default"],
    ],
    [
      "an embedded resource that constrains labels",
      {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
      },
      ["Forbidden x.properties[metadata]"],
    ],
  ])("refuses %s", (_, schema, errors) => {
    expect(wrongWith(schema)).toEqual(errors);
  });

  it("lets the root constrain the name of an object, and nothing else of its metadata", () => {
    const schema = (properties: Record<string, OpenApiSchema>): OpenApiSchema => ({
      type: "object",
      properties: { metadata: { type: "object", properties } },
    });
    expect(structuralErrors(schema({ name: { type: "string", maxLength: 8 } }), "s")).toEqual([]);
    expect(structuralErrors(schema({ labels: { type: "object" } }), "s")).toMatchObject([
      { field: "s.properties[metadata]" },
    ]);
  });

  it("wants an object at the root", () => {
    expect(structuralErrors({ type: "string" }, "s")).toMatchObject([{ reason: "FieldValueInvalid", field: "s.type" }]);
    expect(structuralErrors({}, "s")).toMatchObject([{ reason: "FieldValueRequired", field: "s.type" }]);
  });

  it("refuses a schema that is nested without end, because every walk recurses", () => {
    let schema: OpenApiSchema = { type: "object" };
    for (let level = 0; level < 600; level++) schema = { type: "object", properties: { a: schema } };
    expect(structuralErrors(schema, "s")).toMatchObject([{ reason: "FieldValueForbidden", field: "s" }]);
    let junctors: OpenApiSchema = {};
    for (let level = 0; level < 600; level++) junctors = { not: junctors };
    expect(wrongWith({ type: "string", ...junctors })[0]).toMatch(/^Forbidden/);
  });
});
