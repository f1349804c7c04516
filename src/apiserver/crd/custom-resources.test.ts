import { describe, expect, it } from "vitest";
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from "#api/apiextensions";
import { crd } from "#api/apiextensions";
import type { DynamicObject } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";
import { clone } from "#lib/json";
import type { RequestContext, Resource } from "../resource.ts";
import { type CustomResourceOptions, customResources, establish, structuralErrors } from "./index.ts";

const NOW = new Date("2026-01-01T01:00:00Z");
const context: RequestContext = {
  user: { username: "u", groups: [] },
  now: NOW,
  dryRun: false,
  fieldManager: "m",
  warn: () => {},
};

/** An established definition of Widgets whose spec has those properties. */
function widgets(
  spec: OpenApiSchema,
  version: Partial<CustomResourceDefinitionVersion> = {},
): CustomResourceDefinition {
  const definition = crd({
    group: "example.com",
    names: { plural: "widgets", kind: "Widget", singular: "widget", shortNames: ["wd"], categories: ["all"] },
    scope: "Namespaced",
    versions: [
      { name: "v1", served: true, storage: true, schema: { type: "object", properties: { spec, status: OPEN } } },
    ],
  });
  definition.spec.versions = definition.spec.versions.map((only) => ({ ...only, ...version }));
  for (const { schema } of definition.spec.versions)
    expect(structuralErrors(schema?.openAPIV3Schema ?? {}, "")).toEqual([]);
  return { ...definition, status: establish(definition, [], [], NOW) };
}

const OPEN: OpenApiSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function only(definition: CustomResourceDefinition, options?: CustomResourceOptions): Resource {
  const [resource] = customResources(definition, options);
  if (!resource) throw new Error("the definition brings nothing");
  return resource;
}

const widget = (spec: unknown, more: object = {}) =>
  ({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "w" },
    spec,
    ...more,
  }) as unknown as DynamicObject;

/** An object on its way through decoding, defaulting and validation. */
function admit(schema: OpenApiSchema, spec: unknown, old?: unknown) {
  const { strategy } = only(widgets(schema));
  const { object, unknownFields } = strategy.decode(widget(spec));
  strategy.default(object);
  const errors =
    old === undefined
      ? strategy.validateCreate(object, context)
      : strategy.validateUpdate(object, widget(old), context);
  return {
    spec: object.spec,
    unknownFields,
    errors: errors.map(({ reason, field }) => `${reason.replace("FieldValue", "")} ${field}`),
  };
}

const fields = (properties: Record<string, OpenApiSchema>, rules: OpenApiSchema = {}): OpenApiSchema => ({
  type: "object",
  properties,
  ...rules,
});

describe("pruning", () => {
  const schema = fields({
    a: { type: "string" },
    open: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { known: fields({ a: { type: "string" } }) },
    },
    list: { type: "array", items: fields({ a: { type: "string" } }) },
    map: { type: "object", additionalProperties: fields({ a: { type: "string" } }) },
    any: { type: "object", additionalProperties: true },
    embedded: { ...fields({ data: { type: "string" } }), "x-kubernetes-embedded-resource": true },
  });

  it("removes what the schema does not know and says where it was", () => {
    const { spec, unknownFields } = admit(schema, {
      a: "",
      b: 1,
      open: { x: 1, known: { a: "", y: 2 } },
      list: [{ a: "", b: 1 }],
      map: { k: { a: "", b: 1 } },
      any: { thing: [1] },
    });
    expect(spec).toEqual({
      a: "",
      open: { x: 1, known: { a: "" } },
      list: [{ a: "" }],
      map: { k: { a: "" } },
      any: { thing: [1] },
    });
    expect(unknownFields).toEqual(["spec.b", "spec.open.known.y", "spec.list[0].b", "spec.map.k.b"]);
  });

  it("knows the metadata of objects and of objects embedded in them", () => {
    const { strategy } = only(widgets(schema));
    const embedded = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", color: "red" }, data: "", more: 1 };
    const { object, unknownFields } = strategy.decode(
      widget({ embedded }, { metadata: { name: "w", labels: { a: "b" }, creationTimestamp: null, hue: 1 } }),
    );
    expect(object.metadata).toEqual({ name: "w", labels: { a: "b" } });
    expect(object.spec).toEqual({
      embedded: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: "" },
    });
    expect(unknownFields.sort()).toEqual(["metadata.hue", "spec.embedded.metadata.color", "spec.embedded.more"]);
  });

  it("answers 400 for metadata of the wrong type", () => {
    const { strategy } = only(widgets(schema));
    expect(() => strategy.decode(widget({}, { metadata: { name: "w", labels: { a: 1 } } }))).toThrow(
      /cannot unmarshal/,
    );
  });

  it("leaves its input alone, because a patched object shares with the stored one", () => {
    const { strategy } = only(widgets(schema));
    const body = widget({ a: "", b: 1, list: [{ c: 1 }] });
    const before = clone(body);
    strategy.decode(body);
    expect(body).toEqual(before);
  });

  it("treats hostile keys as keys", () => {
    const spec = JSON.parse('{"__proto__":{"a":1},"constructor":1,"map":{"__proto__":{"a":"","b":1}}}');
    const { spec: kept, unknownFields } = admit(schema, spec);
    expect(unknownFields.sort()).toEqual(["spec.__proto__", "spec.constructor", "spec.map.__proto__.b"]);
    expect(JSON.stringify(kept)).toBe('{"map":{"__proto__":{"a":""}}}');
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });
});

describe("defaulting", () => {
  const schema = fields({
    replicas: { type: "integer", default: 1 },
    time: { type: "string", format: "date-time" },
    maybe: { type: "string", nullable: true },
    deep: {
      ...fields({ a: { type: "string", default: "x" }, b: fields({ c: { type: "boolean", default: false } }) }),
      default: { b: {} },
    },
    list: { type: "array", items: fields({ size: { type: "integer", default: 3 }, gone: { type: "string" } }) },
  });

  it("fills in what is missing, also inside defaults and lists", () => {
    expect(admit(schema, { list: [{}] }).spec).toEqual({
      replicas: 1,
      deep: { a: "x", b: { c: false } },
      list: [{ size: 3 }],
    });
  });

  it("removes nulls that mean nothing, because Go clients write them, and replaces those that have a default", () => {
    const { spec, errors } = admit(schema, { replicas: null, time: null, maybe: null, list: [{ gone: null }] });
    expect(errors).toEqual([]);
    expect(spec).toMatchObject({ replicas: 1, maybe: null, list: [{ size: 3 }] });
    expect(spec).not.toHaveProperty("time");
  });

  it("shows a stored object with defaults and leaves it as it is stored", () => {
    const { strategy } = only(widgets(schema));
    const stored = Object.freeze(widget(Object.freeze({ list: [] })));
    expect(strategy.present(stored).spec).toMatchObject({ replicas: 1 });
    const complete = strategy.present(stored);
    expect(strategy.present(complete)).toBe(complete); // nothing to do, nothing to copy
  });
});

describe("validation", () => {
  it.each<[string, OpenApiSchema, unknown, string[]]>([
    ["type", { type: "integer" }, "x", ["TypeInvalid spec.f"]],
    ["integers with a fraction", { type: "integer" }, 1.5, ["TypeInvalid spec.f"]],
    ["integers beyond 2^53", { type: "integer", format: "int64" }, 2n ** 62n, []],
    ["int64", { type: "integer", format: "int64" }, 2n ** 64n, ["Invalid spec.f"]],
    ["int32", { type: "integer", format: "int32" }, 2 ** 31, ["Invalid spec.f"]],
    ["enum", { type: "string", enum: ["a"] }, "b", ["NotSupported spec.f"]],
    ["pattern", { type: "string", pattern: "^a$" }, "b", ["Invalid spec.f"]],
    ["format", { type: "string", format: "date-time" }, "soon", ["TypeInvalid spec.f"]],
    ["a format nobody knows", { type: "string", format: "poem" }, "x", []],
    ["minimum", { type: "number", minimum: 0 }, -1, ["Invalid spec.f"]],
    ["exclusive minimum", { type: "number", minimum: 0, exclusiveMinimum: true }, 0, ["Invalid spec.f"]],
    ["maximum", { type: "number", maximum: 1 }, 2, ["Invalid spec.f"]],
    ["multipleOf", { type: "number", multipleOf: 0.1 }, 0.3, []],
    ["minLength", { type: "string", minLength: 2 }, "😀", ["Invalid spec.f"]],
    ["maxLength in code points", { type: "string", maxLength: 2 }, "😀😀", []],
    ["maxLength", { type: "string", maxLength: 2 }, "abc", ["TooLong spec.f"]],
    ["maxItems", { type: "array", maxItems: 1, items: { type: "string" } }, ["a", "b"], ["TooMany spec.f"]],
    ["minItems", { type: "array", minItems: 1, items: { type: "string" } }, [], ["Invalid spec.f"]],
    [
      "items",
      { type: "array", items: fields({ n: { type: "string" } }) },
      [{ n: "" }, { n: 1 }],
      ["TypeInvalid spec.f[1].n"],
    ],
    ["required", fields({ a: { type: "string" } }, { required: ["a"] }), {}, ["Required spec.f.a"]],
    [
      "maxProperties",
      { type: "object", additionalProperties: true, maxProperties: 1 },
      { a: 1, b: 2 },
      ["TooMany spec.f"],
    ],
    ["minProperties", { type: "object", additionalProperties: true, minProperties: 1 }, {}, ["Invalid spec.f"]],
    [
      "map values",
      { type: "object", additionalProperties: { type: "string" } },
      { "a.b": 1 },
      ["TypeInvalid spec.f.a.b"],
    ],
    ["integer or string", { "x-kubernetes-int-or-string": true }, true, ["TypeInvalid spec.f"]],
    ["integer or string: integer", { "x-kubernetes-int-or-string": true }, 3, []],
    ["null where it is allowed", { type: "string", nullable: true, minLength: 1 }, null, []],
    ["anyOf", { type: "string", anyOf: [{ minLength: 3 }, { pattern: "^a" }] }, "b", ["Invalid spec.f"]],
    ["anyOf: one fits", { type: "string", anyOf: [{ minLength: 3 }, { pattern: "^a" }] }, "a", []],
    ["oneOf", { type: "string", oneOf: [{ minLength: 1 }, { pattern: "^a" }] }, "a", ["Invalid spec.f"]],
    [
      "allOf",
      { type: "string", allOf: [{ minLength: 2 }, { pattern: "^b" }] },
      "a",
      ["Invalid spec.f", "Invalid spec.f"],
    ],
    ["not", { type: "string", not: { enum: ["a"] } }, "a", ["Invalid spec.f"]],
    [
      "a set",
      { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      ["a", "b", "a"],
      ["Duplicate spec.f[2]"],
    ],
    [
      "a list by key",
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name", "port"],
        items: fields({ name: { type: "string" }, port: { type: "integer", default: 80 } }, { required: ["name"] }),
      },
      [{ name: "a" }, { name: "a", port: 81 }, { name: "a", port: 80 }],
      ["Duplicate spec.f[2]"],
    ],
    [
      "an embedded object",
      { ...OPEN, "x-kubernetes-embedded-resource": true },
      { kind: "not a kind" },
      ["Required spec.f.apiVersion", "Invalid spec.f.kind"],
    ],
  ])("%s", (_, f, value, errors) => {
    expect(admit(fields({ f }), { f: value }).errors).toEqual(errors);
  });

  it("lets a schema narrow the names of objects", () => {
    const definition = widgets(fields({}));
    const schema = definition.spec.versions[0]?.schema?.openAPIV3Schema;
    if (schema?.properties)
      schema.properties.metadata = { type: "object", properties: { name: { type: "string", pattern: "^x" } } };
    expect(only(definition).strategy.validateCreate(widget({}), context)).toMatchObject([{ field: "metadata.name" }]);
  });

  it("ignores on update what was wrong before and did not change", () => {
    const schema = fields({
      color: { type: "string", enum: ["red"] },
      size: { type: "integer", minimum: 1 },
      parts: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: fields({ name: { type: "string" }, n: { type: "integer", minimum: 1 } }, { required: ["name"] }),
      },
    });
    const old = { color: "blue", size: 1, parts: [{ name: "a", n: 0 }] };
    const moved = {
      color: "blue",
      size: 2,
      parts: [
        { name: "b", n: 1 },
        { name: "a", n: 0 },
      ],
    };
    expect(admit(schema, moved, old).errors).toEqual([]);
    expect(admit(schema, { ...moved, color: "green", size: 0 }, old).errors).toEqual([
      "NotSupported spec.color",
      "Invalid spec.size",
    ]);
  });
});

describe("further validators", () => {
  const schema = fields({ a: { type: "string" } }, { required: ["a"] });
  const { strategy } = only(widgets(schema), {
    validators: () => [
      (object) => (object.spec ? [{ reason: "FieldValueInvalid", field: "spec", message: "never" }] : []),
    ],
  });

  it("run on objects that are well formed", () => {
    expect(strategy.validateCreate(widget({ a: "" }), context)).toMatchObject([{ message: "never" }]);
  });

  it("are skipped, and said to be, on objects that are not", () => {
    expect(strategy.validateCreate(widget({}), context).map(({ field }) => field)).toEqual(["spec.a", "<nil>"]);
  });
});

describe("the resources of a definition", () => {
  it("has one per served version, kept in one place and shown in its own version", () => {
    const definition = widgets(fields({}));
    const [v1] = definition.spec.versions;
    definition.spec.versions = [
      { ...v1, name: "v1beta1", served: true, storage: false, deprecated: true },
      { ...v1, name: "v1", served: true, storage: true },
      { ...v1, name: "v0", served: false, storage: false },
    ];
    const resources = customResources(definition);
    expect(resources.map(({ version, storage, deprecation }) => [version, storage, deprecation])).toEqual([
      ["v1beta1", "example.com/widgets", "example.com/v1beta1 Widget is deprecated"],
      ["v1", "example.com/widgets", undefined],
    ]);
    const [beta] = resources;
    const draft = widget({}, { apiVersion: "example.com/v1beta1" });
    beta?.strategy.prepareForCreate(draft, context);
    expect(draft.apiVersion).toBe("example.com/v1");
    expect(beta?.strategy.present(draft).apiVersion).toBe("example.com/v1beta1");
  });

  it("is called as the definition says", () => {
    expect(only(widgets(fields({})))).toMatchObject({
      kind: "Widget",
      listKind: "WidgetList",
      singular: "widget",
      namespaced: true,
      shortNames: ["wd"],
      categories: ["all"],
      builtin: false,
    });
  });

  it("is nothing before its names were accepted", () => {
    expect(customResources({ ...widgets(fields({})), status: {} })).toEqual([]);
  });

  it("takes no new objects once the definition is deleted", () => {
    const definition = widgets(fields({}));
    definition.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    expect(only(definition).verbs).not.toContain("create");
    expect(only(definition).verbs).toContain("patch");
  });

  it("selects by the fields that the definition names", () => {
    const { strategy } = only(
      widgets(fields({ n: { type: "integer" } }), { selectableFields: [{ jsonPath: ".spec.n" }] }),
    );
    const select = strategy.selectableFields["spec.n"];
    expect([select?.(widget({ n: 4 })), select?.(widget({}))]).toEqual(["4", ""]);
  });
});

describe("/status", () => {
  const resource = only(widgets(fields({ a: { type: "string" } }), { subresources: { status: {} } }));
  const status = resource.subresources.find(({ name }) => name === "status");

  it("is apart from the object: the object keeps the status, and the status keeps the object", () => {
    const current = widget({ a: "old" }, { status: { n: 1 } });
    const created = clone(current);
    resource.strategy.prepareForCreate(created, context);
    expect(created).not.toHaveProperty("status");

    const updated = widget({ a: "new" }, { status: { n: 2 } });
    resource.strategy.prepareForUpdate(updated, current, context);
    expect(updated).toMatchObject({ spec: { a: "new" }, status: { n: 1 } });

    const reported = widget({ a: "new" }, { metadata: { name: "w", labels: { a: "b" } }, status: { n: 2 } });
    status?.edit?.prepare(reported, current, context);
    expect(reported).toEqual(widget({ a: "old" }, { status: { n: 2 } }));
  });

  it("belongs to the object where the definition has no such subresource", () => {
    const { strategy, subresources } = only(widgets(fields({})));
    const created = widget({}, { status: { n: 1 } });
    strategy.prepareForCreate(created, context);
    expect(created.status).toEqual({ n: 1 });
    expect(subresources).toEqual([]);
  });
});

describe("/scale", () => {
  const scale = {
    specReplicasPath: ".spec.size.n",
    statusReplicasPath: ".status.n",
    labelSelectorPath: ".status.selector",
  };
  const resource = only(widgets(OPEN, { subresources: { scale } }));
  const view = resource.subresources.find(({ name }) => name === "scale")?.view;

  it("reads zero where nothing is said", () => {
    expect(view?.read(widget({}))).toMatchObject({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      spec: {},
      status: { replicas: 0 },
    });
  });

  it("writes the wish where the definition says, and makes the way there", () => {
    const draft = widget({});
    view?.write(draft, { spec: { replicas: 4 } } as unknown as DynamicObject);
    expect(draft.spec).toEqual({ size: { n: 4 } });
  });

  it("refuses fewer than none", () => {
    expect(() => view?.write(widget({}), { spec: { replicas: -1 } } as unknown as DynamicObject)).toThrow(
      /spec.replicas/,
    );
  });
});

describe("the table", () => {
  const row = (columns: CustomResourceDefinitionVersion["additionalPrinterColumns"], object: DynamicObject) =>
    only(widgets(OPEN, { ...(columns && { additionalPrinterColumns: columns }) })).table.row(object, NOW);
  const object = widget(
    {
      urls: [{ url: "a" }, { url: "b" }],
      n: 3,
      text: "x",
      when: "2026-01-01T00:58:00Z",
      list: [1, { a: 2 }],
      no: null,
    },
    { metadata: { name: "w", creationTimestamp: "2026-01-01T00:00:00Z" } },
  );

  it("shows name and age where the definition asks for nothing else", () => {
    expect(row(undefined, object)).toEqual(["w", "60m"]);
  });

  it.each<[string, "string" | "integer" | "number" | "boolean" | "date", string | number | boolean | null]>([
    [".spec.urls[*].url", "string", "a"],
    [".spec.list", "string", '[1,{"a":2}]'],
    [".spec.n", "string", "3"],
    [".spec.n", "integer", 3],
    [".spec.text", "integer", null],
    [".spec.n", "boolean", null],
    [".spec.when", "date", "2m"],
    [".spec.text", "date", "<invalid>"],
    [".spec.missing", "string", null],
    [".spec.no", "string", null],
  ])("%s as %s is %s", (jsonPath, type, cell) => {
    expect(row([{ name: "C", type, jsonPath }], object)).toEqual(["w", cell]);
  });
});
