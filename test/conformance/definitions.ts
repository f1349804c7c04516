/** Custom resource definitions, and the resources they bring. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body, Reply } from "../support/raw.ts";
import { inGroup, refusal, refused, type Staged } from "./stage.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = `g${randomBytes(3).toString("hex")}.example.com`;

const SPEC = {
  type: "object",
  required: ["color"],
  properties: {
    color: { type: "string", enum: ["red", "green", "blue"] },
    replicas: { type: "integer", format: "int32", minimum: 0, default: 1 },
    note: { type: "string", maxLength: 5, pattern: "^[a-z]*$" },
    sizes: { type: "object", additionalProperties: { type: "object", properties: { cm: { type: "integer" } } } },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    parts: {
      type: "array",
      maxItems: 3,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string" }, size: { type: "integer", default: 3 } },
      },
    },
    port: { "x-kubernetes-int-or-string": true },
    big: { type: "integer", format: "int64" },
  },
};
const STATUS = { type: "object", properties: { replicas: { type: "integer" }, selector: { type: "string" } } };
const schemaOf = (spec: object, status: object = STATUS) => ({
  openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec, status } },
});

const definition = (plural: string, kind: string, versions: object[], more: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Namespaced",
    names: {
      plural,
      singular: kind.toLowerCase(),
      kind,
      listKind: `${kind}List`,
      shortNames: [`${plural.slice(0, 3)}x`],
    },
    versions,
    ...more,
  },
});

const VERSION = {
  name: "v1",
  served: true,
  storage: true,
  schema: schemaOf(SPEC),
  subresources: {
    status: {},
    scale: {
      specReplicasPath: ".spec.replicas",
      statusReplicasPath: ".status.replicas",
      labelSelectorPath: ".status.selector",
    },
  },
  selectableFields: [{ jsonPath: ".spec.color" }],
  additionalPrinterColumns: [
    { name: "Color", type: "string", jsonPath: ".spec.color" },
    { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
};

export function definitionsSuite(stage: Staged): void {
  let space: string;
  const widgets = (name?: string, version = "v1") => inGroup(GROUP, version, "widgets", space, name);
  const widget = (name: string, spec: object, version = "v1") => ({
    apiVersion: `${GROUP}/${version}`,
    kind: "Widget",
    metadata: { name },
    spec,
  });
  const conditionsOf = ({ body }: Reply) =>
    (body.status as { conditions?: { type: string; status: string; reason: string }[] }).conditions ?? [];
  const established = (name: string) =>
    eventually(async () => {
      const reply = await stage().admin.get(`${DEFINITIONS}/${name}`);
      expect(conditionsOf(reply)).toContainEqual(expect.objectContaining({ type: "Established", status: "True" }));
      return reply.body;
    });

  beforeAll(async () => {
    space = await stage().namespace();
    const older = { ...VERSION, name: "v1alpha1", storage: false, deprecated: true };
    await stage().admin.post(DEFINITIONS, definition("widgets", "Widget", [older, VERSION]));
    await established(`widgets.${GROUP}`);
    await eventually(async () => {
      // A real server serves a new kind a moment after it says so.
      const made = await stage().admin.post(widgets(), widget("ready", { color: "red" }));
      expect([201, 409]).toContain(made.code);
    });
  });
  afterAll(async () => {
    await stage().admin.delete(`${DEFINITIONS}/widgets.${GROUP}`);
  });

  describe("a definition", () => {
    it("crd.established: is accepted and established, with its names and its stored version in the status", async () => {
      const body = await established(`widgets.${GROUP}`);
      expect(body.status).toMatchObject({
        storedVersions: ["v1"],
        acceptedNames: {
          plural: "widgets",
          singular: "widget",
          kind: "Widget",
          listKind: "WidgetList",
          shortNames: ["widx"],
        },
      });
      expect(conditionsOf({ body } as Reply)).toContainEqual(
        expect.objectContaining({ type: "NamesAccepted", status: "True", reason: "NoConflicts" }),
      );
      expect(body.metadata.finalizers ?? []).toEqual([]);
      expect(body.metadata.generation).toBe(1);
    });

    it("crd.default-names: fills in names that follow from others", async () => {
      const { spec, ...rest } = definition("fillers", "Filler", [
        { name: "v1", served: true, storage: true, schema: schemaOf({ type: "object" }) },
      ]);
      const { body } = await stage().admin.post(`${DEFINITIONS}?dryRun=All`, {
        ...rest,
        spec: { ...spec, names: { plural: "fillers", kind: "Filler" } },
      });
      expect(body.spec).toMatchObject({
        names: { singular: "filler", listKind: "FillerList" },
        conversion: { strategy: "None" },
      });
    });

    // Two versions with schemas of their own: if they were equal, a real server would speak of one at the top.
    const wrong = (version: object) =>
      definition("wrongs", "Wrong", [
        { name: "v1", served: true, storage: true, ...version },
        { name: "v2", served: true, storage: false, schema: schemaOf({ type: "object" }) },
      ]);
    it.each([
      ["no schema", wrong({}), "spec.versions[0].schema.openAPIV3Schema FieldValueRequired"],
      [
        "a node without a type",
        wrong({ schema: schemaOf({ type: "object", properties: { a: {} } }) }),
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].type FieldValueRequired",
      ],
      [
        "another root",
        wrong({ schema: { openAPIV3Schema: { type: "string" } } }),
        "spec.versions[0].schema.openAPIV3Schema.type FieldValueInvalid",
      ],
      [
        "a default of another type",
        wrong({ schema: schemaOf({ type: "object", properties: { a: { type: "integer", default: "x" } } }) }),
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].default FieldValueTypeInvalid",
      ],
      [
        "a list key without a property that must be there",
        wrong({
          schema: schemaOf({
            type: "object",
            properties: {
              a: {
                type: "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                items: { type: "object", properties: { k: { type: "string" } } },
              },
            },
          }),
        }),
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[a].items.properties[k].default FieldValueRequired",
      ],
    ])("crd.schema-refusals: is refused with %s", async (_, body, cause) => {
      const reply = await stage().admin.post(DEFINITIONS, body);
      expect(refusal(reply)).toMatchObject({ code: 422, reason: "Invalid" });
      expect(refusal(reply).causes).toContain(cause);
    });

    it("crd.name-refusals: is refused under another name than that of its resource", async () => {
      const body = { ...wrong({ schema: schemaOf({ type: "object" }) }), metadata: { name: "other" } };
      expect(refusal(await stage().admin.post(DEFINITIONS, body)).causes).toContain("metadata.name FieldValueInvalid");
    });

    it("crd.stored-version: needs exactly one stored version", async () => {
      const version = { served: true, schema: schemaOf({ type: "object" }) };
      const none = definition("wrongs", "Wrong", [{ ...version, name: "v1", storage: false }]);
      expect(refusal(await stage().admin.post(DEFINITIONS, none)).causes).toContain("spec.versions FieldValueInvalid");
      const two = definition("wrongs", "Wrong", [
        { ...version, name: "v1", storage: true },
        { ...version, name: "v2", storage: true },
      ]);
      expect(refusal(await stage().admin.post(DEFINITIONS, two)).causes).toContain("spec.versions FieldValueInvalid");
    });

    it("crd.name-conflicts: does not get names that another one has", async () => {
      const version = { name: "v1", served: true, storage: true, schema: schemaOf({ type: "object" }) };
      const { spec, ...rest } = definition("gadgets", "Widget", [version]);
      await stage().admin.post(DEFINITIONS, {
        ...rest,
        spec: { ...spec, names: { ...spec.names, singular: "gadget" } },
      });
      await eventually(async () => {
        const reply = await stage().admin.get(`${DEFINITIONS}/gadgets.${GROUP}`);
        expect(conditionsOf(reply)).toContainEqual(
          expect.objectContaining({
            type: "NamesAccepted",
            status: "False",
            reason: expect.stringMatching(/Conflict$/),
          }),
        );
        expect(conditionsOf(reply)).toContainEqual(expect.objectContaining({ type: "Established", status: "False" }));
      });
      await stage().admin.delete(`${DEFINITIONS}/gadgets.${GROUP}`);
    });

    it("crd.deletion: takes its objects along", async () => {
      const { admin } = stage();
      const version = { name: "v1", served: true, storage: true, schema: schemaOf({ type: "object" }) };
      const path = `${DEFINITIONS}/briefs.${GROUP}`;
      await admin.post(DEFINITIONS, definition("briefs", "Brief", [version]));
      await established(`briefs.${GROUP}`);
      const briefs = inGroup(GROUP, "v1", "briefs", space);
      await eventually(async () => {
        const made = await admin.post(briefs, {
          apiVersion: `${GROUP}/v1`,
          kind: "Brief",
          metadata: { name: "held", finalizers: ["example.com/f"] },
          spec: {},
        });
        expect(made.code).toBe(201);
      });
      const marked = await admin.delete(path);
      expect(marked.body.metadata.finalizers).toEqual(["customresourcecleanup.apiextensions.k8s.io"]);
      await eventually(async () => {
        expect((await admin.get(`${briefs}/held`)).body.metadata.deletionTimestamp).toBeTruthy();
        expect(conditionsOf(await admin.get(path))).toContainEqual(
          expect.objectContaining({ type: "Terminating", status: "True" }),
        );
      });
      await admin.patch(`${briefs}/held`, { metadata: { finalizers: null } });
      await eventually(async () => expect((await admin.get(path)).code).toBe(404));
      await eventually(async () => expect((await admin.get(briefs)).code).toBe(404));
    });
  });

  describe("its resources", () => {
    it("crd.published: are in discovery and OpenAPI", async () => {
      await eventually(async () => {
        const { body } = await stage().admin.get(`/apis/${GROUP}`);
        expect(body).toMatchObject({
          kind: "APIGroup",
          versions: [{ version: "v1" }, { version: "v1alpha1" }],
          preferredVersion: { version: "v1" },
        });
        const resources = (await stage().admin.get(`/apis/${GROUP}/v1`)).body.resources as {
          name: string;
          verbs: string[];
        }[];
        expect(resources.map(({ name }) => name)).toEqual(["widgets", "widgets/status", "widgets/scale"]);
        expect(resources[0]?.verbs).toEqual([
          "delete",
          "deletecollection",
          "get",
          "list",
          "patch",
          "create",
          "update",
          "watch",
        ]);
      });
      await eventually(async () => {
        const { body } = await stage().admin.get(`/openapi/v3/apis/${GROUP}/v1`);
        const { schemas } = body.components as { schemas: Record<string, Record<string, unknown>> };
        const name = `${GROUP.split(".").reverse().join(".")}.v1.Widget`;
        expect(schemas[name]).toMatchObject({
          properties: { spec: { properties: { color: { type: "string" } } } },
          "x-kubernetes-group-version-kind": [{ group: GROUP, version: "v1", kind: "Widget" }],
        });
        const item = (body.paths as Record<string, { patch?: { requestBody?: { content: object } } }>)[
          `/apis/${GROUP}/v1/namespaces/{namespace}/widgets/{name}`
        ];
        expect(Object.keys(item?.patch?.requestBody?.content ?? {})).not.toContain(
          "application/strategic-merge-patch+json",
        );
      });
    });

    it("crd.pruning-and-defaults: lose unknown fields and get defaults", async () => {
      const { code, body, headers } = await stage().admin.post(
        widgets(),
        widget("pruned", {
          color: "red",
          unknown: 1,
          free: { any: { thing: [1] } },
          parts: [{ name: "a", lost: true }],
          port: "http",
        }),
      );
      expect(code).toBe(201);
      expect(headers.warning).toContain('unknown field \\"spec.unknown\\"');
      expect(body.spec).toEqual({
        color: "red",
        replicas: 1,
        free: { any: { thing: [1] } },
        parts: [{ name: "a", size: 3 }],
        port: "http",
      });
      expect(body.metadata.generation).toBe(1);
      const strict = await stage().admin.post(
        `${widgets()}?fieldValidation=Strict`,
        widget("strict", { color: "red", unknown: 1 }),
      );
      expect(refusal(strict)).toEqual(refused(400, "BadRequest"));
      expect(strict.body.message).toContain('strict decoding error: unknown field "spec.unknown"');
    });

    it("crd.integers: keep integers exactly", async () => {
      const text = JSON.stringify(widget("exact", { color: "red", big: 0 })).replace(
        '"big":0',
        '"big":9007199254740993',
      );
      const made = await stage().admin.post(widgets(), text);
      expect(made.text).toContain('"big":9007199254740993');
      expect((await stage().admin.get(widgets("exact"))).text).toContain('"big":9007199254740993');
    });

    it.each([
      ["an unknown value", { color: "pink" }, ["spec.color FieldValueNotSupported"]],
      ["a missing field", {}, ["spec.color FieldValueRequired"]],
      ["another type", { color: 1 }, ["spec.color FieldValueTypeInvalid"]],
      ["too little", { color: "red", replicas: -1 }, ["spec.replicas FieldValueInvalid"]],
      ["too much text", { color: "red", note: "abcdef" }, ["spec.note FieldValueTooLong"]],
      ["text of another shape", { color: "red", note: "A" }, ["spec.note FieldValueInvalid"]],
      [
        "too many items",
        { color: "red", parts: ["a", "b", "c", "d"].map((name) => ({ name })) },
        ["spec.parts FieldValueTooMany"],
      ],
      [
        "a wrong map value",
        { color: "red", sizes: { "a.b": { cm: "x" } } },
        ["spec.sizes.a.b.cm FieldValueTypeInvalid"],
      ],
      ["an item twice", { color: "red", parts: [{ name: "a" }, { name: "a" }] }, ["spec.parts[1] FieldValueDuplicate"]],
    ])("crd.validation: are refused with %s", async (_, spec, causes) => {
      const reply = await stage().admin.post(widgets(), widget("refused", spec));
      expect(refusal(reply)).toMatchObject({ code: 422, reason: "Invalid" });
      expect(refusal(reply).causes).toEqual(expect.arrayContaining(causes));
      expect(reply.body.details).toMatchObject({ name: "refused", group: GROUP, kind: "Widget" });
    });

    it("crd.identity: are refused as another kind, in another version, or as nothing", async () => {
      for (const body of [{ metadata: { name: "x" } }, { ...widget("x", {}), apiVersion: `${GROUP}/v2` }]) {
        expect(refusal(await stage().admin.post(widgets(), body))).toEqual(refused(400, "BadRequest"));
      }
      const other = await stage().admin.post(widgets(), { ...widget("x", {}), kind: "Gadget" });
      expect(refusal(other)).toEqual(refused(422, "Invalid", "kind FieldValueInvalid"));
    });

    it("crd.update-version: need a resourceVersion in a PUT", async () => {
      const reply = await stage().admin.put(widgets("ready"), widget("ready", { color: "red" }));
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "metadata.resourceVersion FieldValueInvalid"));
    });

    it("crd.formats: have no protobuf and no strategic merge", async () => {
      expect(refusal(await stage().admin.patch(widgets("ready"), {}, "strategic"))).toEqual(
        refused(415, "UnsupportedMediaType"),
      );
      const accept = "application/vnd.kubernetes.protobuf";
      expect((await stage().admin.get(widgets("ready"), { accept })).code).toBe(406);
      expect((await stage().admin.get(widgets("ready"), { accept: `${accept},application/json` })).code).toBe(200);
    });

    it("crd.status: keep status and the rest apart", async () => {
      const { body: made } = await stage().admin.post(widgets(), {
        ...widget("apart", { color: "red" }),
        status: { replicas: 5 },
      });
      expect(made.status).toBeUndefined();
      const status = await stage().admin.patch(`${widgets("apart")}/status`, {
        metadata: { labels: { lost: "yes" } },
        spec: { color: "blue" },
        status: { replicas: 2, selector: "a=b" },
      });
      expect(status.body).toMatchObject({
        spec: { color: "red" },
        status: { replicas: 2 },
        metadata: { generation: 1 },
      });
      expect(status.body.metadata.labels).toBeUndefined();
      const main = await stage().admin.patch(widgets("apart"), { spec: { replicas: 4 }, status: { replicas: 9 } });
      expect(main.body).toMatchObject({ spec: { replicas: 4 }, status: { replicas: 2 }, metadata: { generation: 2 } });

      const scale = await stage().admin.get(`${widgets("apart")}/scale`);
      expect(scale.body).toMatchObject({
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        spec: { replicas: 4 },
        status: { replicas: 2, selector: "a=b" },
      });
      const scaled = await stage().admin.patch(`${widgets("apart")}/scale`, { spec: { replicas: 3 } });
      expect(scaled.body.spec).toEqual({ replicas: 3 });
      expect((await stage().admin.get(widgets("apart"))).body).toMatchObject({
        spec: { replicas: 3 },
        metadata: { generation: 3 },
      });
    });

    it("crd.columns: are shown in their columns", async () => {
      const { body } = await stage().admin.get(widgets("ready"), {
        accept: "application/json;as=Table;g=meta.k8s.io;v=v1",
      });
      expect(body.columnDefinitions).toMatchObject([
        { name: "Name", type: "string", format: "name" },
        { name: "Color", type: "string", priority: 0 },
        { name: "Replicas", type: "integer", priority: 1 },
        { name: "Age", type: "date" },
      ]);
      expect((body.rows as { cells: unknown[] }[])[0]?.cells).toEqual([
        "ready",
        "red",
        1,
        expect.stringMatching(/^\d+s/),
      ]);
    });

    it("crd.selectable-fields: are selected by the fields that the definition names", async () => {
      await stage().admin.post(widgets(), widget("blue", { color: "blue" }));
      const { body } = await stage().admin.get(`${widgets()}?fieldSelector=spec.color%3Dblue`);
      expect(body.items.map(({ metadata }: Body) => metadata.name)).toEqual(["blue"]);
      expect(body.items[0]).toMatchObject({ kind: "Widget", apiVersion: `${GROUP}/v1` });
      const other = await stage().admin.get(`${widgets()}?fieldSelector=spec.replicas%3D1`);
      expect(refusal(other)).toEqual(refused(400, "BadRequest"));
    });

    it("crd.versions: are the same in every version, with a warning in one that is deprecated", async () => {
      const old = await stage().admin.get(widgets("ready", "v1alpha1"));
      expect(old.body).toMatchObject({ apiVersion: `${GROUP}/v1alpha1`, metadata: { name: "ready" } });
      expect(old.headers.warning).toContain("deprecated");
      const made = await stage().admin.post(
        widgets(undefined, "v1alpha1"),
        widget("older", { color: "green" }, "v1alpha1"),
      );
      expect(made.body.apiVersion).toBe(`${GROUP}/v1alpha1`);
      expect((await stage().admin.get(widgets("older"))).body.apiVersion).toBe(`${GROUP}/v1`);
      expect((await stage().admin.get(widgets("older", "v2"))).code).toBe(404);
    });
  });
}
