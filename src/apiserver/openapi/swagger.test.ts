import { describe, expect, it } from "vitest";
import { WireReader } from "../types/wire.ts";
import type { Schema } from "./schemas.ts";
import { swaggerOf, swaggerSchema } from "./swagger.ts";
import { encodeSwagger } from "./swagger-protobuf.ts";

const V3 = "#/components/schemas/";
const kinds = (...groups: string[]) => groups.map((group) => ({ group, version: "v1", kind: "DeleteOptions" }));

describe("a type in the words of v2", () => {
  const rows: [string, Schema, Schema][] = [
    ["points elsewhere", { $ref: `${V3}a.B` }, { $ref: "#/definitions/a.B" }],
    [
      "may have something beside a reference",
      { allOf: [{ $ref: `${V3}a.B` }], default: {}, "x-kubernetes-map-type": "atomic" },
      { $ref: "#/definitions/a.B", default: {}, "x-kubernetes-map-type": "atomic" },
    ],
    [
      "keeps what both versions know",
      { type: "string", minLength: 1, pattern: "a", enum: ["a"] },
      { type: "string", minLength: 1, pattern: "a", enum: ["a"] },
    ],
    [
      "reaches into fields, items and values",
      {
        type: "object",
        required: ["a"],
        properties: { a: { type: "array", items: { $ref: `${V3}x` } } },
        additionalProperties: { $ref: `${V3}y` },
      },
      {
        type: "object",
        required: ["a"],
        properties: { a: { type: "array", items: { $ref: "#/definitions/x" } } },
        additionalProperties: { $ref: "#/definitions/y" },
      },
    ],
    ["has no alternatives", { type: "object", oneOf: [{ required: ["a"] }], not: {}, anyOf: [] }, { type: "object" }],
    [
      "is open where null is allowed, because v2 would refuse the null",
      { type: "object", nullable: true, properties: { a: {} }, description: "d" },
      { description: "d" },
    ],
    [
      "is open where unknown fields are kept, because v2 would refuse them",
      { type: "object", properties: { a: { type: "string" } }, "x-kubernetes-preserve-unknown-fields": true },
      { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    ],
    ["is no array without saying of what", { type: "array" }, {}],
  ];
  it.each(rows)("%s", (_, v3, v2) => {
    expect(swaggerSchema(v3)).toEqual(v2);
  });
});

describe("the document of v2", () => {
  const operation = {
    tags: ["apps_v1"],
    operationId: "patch",
    parameters: [{ name: "fieldValidation", in: "query", schema: { type: "string", uniqueItems: true } }],
    requestBody: { content: { "a/b": { schema: { $ref: `${V3}Patch` } } }, required: true },
    responses: {
      200: { description: "OK", content: { "application/json": { schema: { $ref: `${V3}Thing` } } } },
      401: { description: "Unauthorized" },
    },
    "x-kubernetes-action": "patch",
  };
  const document = swaggerOf([
    {
      paths: {
        "/things/{name}": {
          patch: operation,
          parameters: [{ name: "name", in: "path", required: true, schema: { type: "string", uniqueItems: true } }],
        },
      },
      schemas: {
        Thing: { type: "object", properties: { a: { type: "integer", format: "int32" } }, "x-a": [{ b: 1 }] },
        DeleteOptions: { type: "object", "x-kubernetes-group-version-kind": kinds("apps") },
      },
    },
    {
      paths: {},
      schemas: { DeleteOptions: { type: "object", "x-kubernetes-group-version-kind": kinds("batch", "apps") } },
    },
  ]);

  it("has bodies among the parameters and media types beside them", () => {
    expect(document.paths["/things/{name}"]).toEqual({
      patch: {
        tags: ["apps_v1"],
        operationId: "patch",
        consumes: ["a/b"],
        produces: ["application/json"],
        parameters: [
          { name: "body", in: "body", required: true, schema: { $ref: "#/definitions/Patch" } },
          { name: "fieldValidation", in: "query", type: "string", uniqueItems: true },
        ],
        responses: {
          200: { description: "OK", schema: { $ref: "#/definitions/Thing" } },
          401: { description: "Unauthorized" },
        },
        "x-kubernetes-action": "patch",
      },
      parameters: [{ name: "name", in: "path", required: true, type: "string", uniqueItems: true }],
    });
  });

  it("says of a type that many groups share all of its kinds", () => {
    expect(document.definitions.DeleteOptions).toMatchObject({
      "x-kubernetes-group-version-kind": kinds("apps", "batch"),
    });
  });

  it("reads as gnostic's message, where Go clients look for parameters and types", () => {
    const bytes = encodeSwagger(document);
    expect(textsAt(bytes, [1])).toEqual(["2.0"]);
    expect(textsAt(bytes, [2, 1])).toEqual(["Kubernetes"]);
    // paths.path[].name, then .value.patch.parameters[].parameter.non_body_parameter.query_parameter_sub_schema.name
    expect(textsAt(bytes, [8, 2, 1])).toEqual(["/things/{name}"]);
    expect(textsAt(bytes, [8, 2, 2, 8, 8, 1, 2, 3, 4])).toEqual(["fieldValidation"]);
    expect(textsAt(bytes, [8, 2, 2, 8, 7])).toEqual(["a/b"]);
    expect(textsAt(bytes, [8, 2, 2, 8, 9, 1, 1])).toEqual(["200", "401"]);
    expect(textsAt(bytes, [8, 2, 2, 9, 1, 2, 4, 4])).toEqual(["name"]);
    // definitions.additional_properties[].name, .value.type.value, .value.properties[].name, .value.vendor_extension
    expect(textsAt(bytes, [9, 1, 1])).toEqual(["DeleteOptions", "Thing"]);
    expect(textsAt(bytes, [9, 1, 2, 22, 1])).toEqual(["object", "object"]);
    expect(textsAt(bytes, [9, 1, 2, 25, 1, 1])).toEqual(["a"]);
    expect(textsAt(bytes, [9, 1, 2, 25, 1, 2, 2])).toEqual(["int32"]);
    expect(textsAt(bytes, [9, 1, 2, 31, 2, 2])).toContain('[{"b":1}]');
  });
});

/** The texts at the end of a path of field numbers. */
function textsAt(bytes: Uint8Array, [first, ...rest]: readonly number[]): string[] {
  const reader = new WireReader(bytes);
  const found: string[] = [];
  while (!reader.done) {
    const { number, wire } = reader.tag();
    if (number !== first || wire !== 2) reader.skip(wire);
    else if (rest.length === 0) found.push(reader.string());
    else found.push(...textsAt(reader.bytes(), rest));
  }
  return found;
}
