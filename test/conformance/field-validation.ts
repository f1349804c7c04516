/** Fields that nobody knows, or that are there twice: refused, reported or forgiven, as asked. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = `v${randomBytes(3).toString("hex")}.example.com`;

export function fieldValidationSuite(stage: Staged): void {
  let space: string;
  const deployments = (name?: string) => inGroup("apps", "v1", "deployments", space, name);
  const configMaps = (name?: string) => at(space, "configmaps", name);
  const plans = (name?: string) => inGroup(GROUP, "v1", "plans", space, name);
  const plan = (name: string, spec: object, metadata: object = {}) => ({
    apiVersion: `${GROUP}/v1`,
    kind: "Plan",
    metadata: { name, ...metadata },
    spec,
  });

  beforeAll(async () => {
    space = await stage().namespace();
    const inner = { type: "object", properties: { known: { type: "string" } } };
    const spec = { type: "object", properties: { size: { type: "integer" }, parts: { type: "array", items: inner } } };
    await stage().admin.post(DEFINITIONS, {
      metadata: { name: `plans.${GROUP}` },
      spec: {
        group: GROUP,
        scope: "Namespaced",
        names: { plural: "plans", singular: "plan", kind: "Plan", listKind: "PlanList" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
          },
        ],
      },
    });
    await eventually(async () =>
      expect([201, 409]).toContain((await stage().admin.post(plans(), plan("ready", {}))).code),
    );
  });
  afterAll(async () => {
    await stage().admin.delete(`${DEFINITIONS}/plans.${GROUP}`);
  });

  it("field-validation.paths: names unknown fields by where they are, in lists too", async () => {
    const { spec, ...rest } = deployment("paths");
    const [container] = spec.template.spec.containers;
    const odd = {
      ...rest,
      spec: {
        ...spec,
        odd: 1,
        template: {
          ...spec.template,
          spec: { containers: [{ ...container, odd: 2, ports: [{ containerPort: 1, odd: 3 }] }] },
        },
      },
    };
    const reply = await stage().admin.post(`${deployments()}?fieldValidation=Strict`, odd);
    expect(refusal(reply)).toEqual(refused(400, "BadRequest"));
    for (const path of [
      "spec.odd",
      "spec.template.spec.containers[0].odd",
      "spec.template.spec.containers[0].ports[0].odd",
    ]) {
      expect(reply.body.message).toContain(`unknown field "${path}"`);
    }
    expect((await stage().admin.get(deployments("paths"))).code).toBe(404);
  });

  it("field-validation.case: does not know a field that is spelled otherwise", async () => {
    const body = { metadata: { name: "spelled" }, Data: { a: "1" } };
    const strict = await stage().admin.post(`${configMaps()}?fieldValidation=Strict`, body);
    expect(strict.body.message).toContain('unknown field "Data"');
    const silent = await stage().admin.post(`${configMaps()}?fieldValidation=Ignore`, body);
    expect([silent.code, silent.body.data]).toEqual([201, undefined]);
  });

  it("field-validation.update: looks at a PUT as at a POST", async () => {
    const { body } = await stage().admin.post(configMaps(), { metadata: { name: "put" } });
    const odd = { ...body, odd: 1 };
    const strict = await stage().admin.put(`${configMaps("put")}?fieldValidation=Strict`, odd);
    expect(refusal(strict)).toEqual(refused(400, "BadRequest"));
    const warned = await stage().admin.put(configMaps("put"), odd);
    expect([warned.code, warned.headers.warning]).toEqual([200, '299 - "unknown field \\"odd\\""']);
  });

  it.each([
    ["merge", { odd: 1, data: { a: "1" } }],
    ["strategic", { odd: 1, data: { a: "1" } }],
    ["json", [{ op: "add", path: "/odd", value: 1 }]],
  ] as const)("field-validation.patch: looks at what a %s patch brings", async (type, patch) => {
    await stage().admin.post(configMaps(), { metadata: { name: `patched-${type}` } });
    const path = configMaps(`patched-${type}`);
    const strict = await stage().admin.patch(`${path}?fieldValidation=Strict`, patch, type);
    expect(refusal(strict)).toEqual(refused(422, "Invalid", "patch FieldValueInvalid"));
    expect(strict.body.message).toContain('unknown field "odd"');
    const warned = await stage().admin.patch(path, patch, type);
    expect([warned.code, warned.headers.warning]).toEqual([200, '299 - "unknown field \\"odd\\""']);
    expect(warned.body).not.toHaveProperty("odd");
    const silent = await stage().admin.patch(`${path}?fieldValidation=Ignore`, patch, type);
    expect([silent.code, silent.headers.warning]).toEqual([200, undefined]);
  });

  it("field-validation.apply: refuses what an apply does not know, whatever it is asked", async () => {
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, odd: 1 };
    for (const mode of ["Strict", "Warn", "Ignore"]) {
      const path = `${configMaps("applied")}?fieldManager=me&fieldValidation=${mode}`;
      expect((await stage().admin.patch(path, body, "apply")).code).toBeGreaterThanOrEqual(400);
    }
  });

  it("field-validation.apply-repeated: refuses, reports or forgives a key that an applied text has twice", async () => {
    const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"twice"},"data":{"a":"1","a":"2"}}`;
    const path = (mode: string) => `${configMaps("twice")}?fieldManager=me&fieldValidation=${mode}`;
    const strict = await stage().admin.patch(path("Strict"), text, "apply");
    expect(refusal(strict)).toEqual(refused(400, "BadRequest"));
    const warned = await stage().admin.patch(path("Warn"), text, "apply");
    expect(warned.code).toBe(201);
    expect(warned.headers.warning).toMatch(/already set in map/);
    const silent = await stage().admin.patch(path("Ignore"), text, "apply");
    expect([silent.code, silent.headers.warning]).toEqual([200, undefined]);
  });

  it("field-validation.custom: looks at custom objects by their schema, metadata and all", async () => {
    const odd = plan("odd", { size: 1, odd: 2, parts: [{ known: "a", odd: 3 }] }, { odd: 4 });
    const strict = await stage().admin.post(`${plans()}?fieldValidation=Strict`, odd);
    expect(refusal(strict)).toEqual(refused(400, "BadRequest"));
    for (const path of ["spec.odd", "spec.parts[0].odd", "metadata.odd"]) {
      expect(strict.body.message).toContain(`unknown field "${path}"`);
    }
    const warned = await stage().admin.post(plans(), odd);
    expect(warned.code).toBe(201);
    expect(warned.headers.warning).toContain('unknown field \\"spec.odd\\"');
    expect(warned.body.spec).toEqual({ size: 1, parts: [{ known: "a" }] });
    const silent = await stage().admin.post(`${plans()}?fieldValidation=Ignore`, plan("silent", { odd: 2 }));
    expect([silent.code, silent.headers.warning]).toEqual([201, undefined]);
  });

  it("field-validation.custom-repeated: sees a key that a custom object has twice", async () => {
    const text = `{"apiVersion":"${GROUP}/v1","kind":"Plan","metadata":{"name":"twice"},"spec":{"size":1,"size":2}}`;
    const strict = await stage().admin.post(`${plans()}?fieldValidation=Strict`, text);
    expect(strict.body.message).toContain('duplicate field "spec.size"');
    const warned = await stage().admin.post(plans(), text);
    expect(warned.headers.warning).toContain('duplicate field \\"spec.size\\"');
    expect(warned.body.spec).toEqual({ size: 2 });
  });

  it("field-validation.yaml: looks at YAML as at JSON", async () => {
    const yaml = "metadata:\n  name: yaml\ndata:\n  a: one\n  a: two\nodd: 1\n";
    const type = "application/yaml";
    const strict = await stage().admin.post(`${configMaps()}?fieldValidation=Strict`, yaml, { type });
    expect(refusal(strict)).toEqual(refused(400, "BadRequest"));
    expect(strict.body.message).toContain('unknown field "odd"');
    expect(strict.body.message).toContain('key "a" already set in map');
    expect((await stage().admin.post(configMaps(), yaml, { type })).code).toBe(201);
  });
}
