import { describe, expect, it } from "vitest";
import { ApiError } from "../errors.ts";
import { normalize } from "./index.ts";

function pod(spec: object): Record<string, unknown> {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec };
}

describe("unknown fields", () => {
  it("go, and are named by their path", () => {
    const { object, unknownFields } = normalize("core/v1#Pod", {
      ...pod({ foo: 1, containers: [{ name: "c", bar: true, resources: { limits: { cpu: "1" }, x: 1 } }] }),
      top: 1,
    });

    expect(unknownFields.sort()).toEqual([
      "spec.containers[0].bar",
      "spec.containers[0].resources.x",
      "spec.foo",
      "top",
    ]);
    expect(object.spec).toEqual({ containers: [{ name: "c", resources: { limits: { cpu: "1" } } }] });
  });

  it("are told apart by case, because the decoder is case sensitive", () => {
    expect(normalize("core/v1#ConfigMap", { Data: { a: "b" } }).unknownFields).toEqual(["Data"]);
  });

  it("may be called __proto__ or constructor and change nothing", () => {
    const hostile = JSON.parse('{"__proto__":{"a":1},"constructor":1,"metadata":{"labels":{"__proto__":"x"}}}');
    const { object, unknownFields } = normalize("core/v1#ConfigMap", hostile);
    expect(unknownFields).toEqual(["__proto__", "constructor"]);
    expect(JSON.stringify(object)).toBe('{"metadata":{"labels":{"__proto__":"x"}}}');
  });
});

describe("empty fields", () => {
  it("show as kube-apiserver shows them: structs stay, plain zeros under omitempty go", () => {
    const { object } = normalize("apps/v1#Deployment", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d", labels: {}, creationTimestamp: null, finalizers: [] },
      spec: {
        replicas: 0,
        paused: false,
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i", env: null }] } },
      },
    });
    expect(object).toEqual({
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata: { name: "d" },
      spec: {
        replicas: 0,
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: { containers: [{ name: "c", image: "i", resources: {} }] },
        },
        strategy: {},
      },
      status: {},
    });
  });

  it.each([
    [
      "a pointer to zero stays",
      "coordination.k8s.io/v1#LeaseSpec",
      { leaseDurationSeconds: 0 },
      { leaseDurationSeconds: 0 },
    ],
    ["a pointer to an empty struct stays", "core/v1#VolumeSource", { emptyDir: {} }, { emptyDir: {} }],
    [
      "a required list that is not there is null",
      "rbac.authorization.k8s.io/v1#Role",
      {},
      { metadata: {}, rules: null },
    ],
    [
      "an empty required list is null, because protobuf cannot tell",
      "rbac.authorization.k8s.io/v1#Role",
      { rules: [] },
      { metadata: {}, rules: null },
    ],
    [
      "a null in a list of strings is an empty string",
      "core/v1#Container",
      { name: "c", args: [null] },
      { name: "c", args: [""], resources: {} },
    ],
    [
      "a null in a map of strings is an empty string",
      "core/v1#ConfigMap",
      { data: { a: null } },
      { metadata: {}, data: { a: "" } },
    ],
    [
      "an absent time of a condition is null",
      "core/v1#NodeCondition",
      { type: "Ready", status: "True" },
      { type: "Ready", status: "True", lastHeartbeatTime: null, lastTransitionTime: null },
    ],
    ["an unset port target is 0", "core/v1#ServicePort", { port: 80 }, { port: 80, targetPort: 0 }],
    [
      "additionalProperties: false stays",
      "apiextensions.k8s.io/v1#JSONSchemaProps",
      { additionalProperties: false, default: null, enum: [null] },
      { additionalProperties: false, enum: [null] },
    ],
  ])("%s", (_, type, given, shown) => {
    expect(normalize(type, given).object).toEqual(shown);
  });
});

describe("values", () => {
  it.each([
    [
      "Time without zone",
      "meta/v1#ObjectMeta",
      { creationTimestamp: "2026-01-02T03:04:05+02:00" },
      { creationTimestamp: "2026-01-02T01:04:05Z" },
    ],
    [
      "Time loses its fraction",
      "meta/v1#ObjectMeta",
      { creationTimestamp: "2026-01-02T03:04:05.999Z" },
      { creationTimestamp: "2026-01-02T03:04:05Z" },
    ],
    [
      "MicroTime keeps six decimals",
      "coordination.k8s.io/v1#LeaseSpec",
      { renewTime: "2026-01-02T03:04:05.000001+01:00" },
      { renewTime: "2026-01-02T02:04:05.000001Z" },
    ],
    ["IntOrString keeps both", "networking.k8s.io/v1#NetworkPolicyPort", { port: "http" }, { port: "http" }],
    [
      "quantities are canonical",
      "core/v1#ResourceRequirements",
      { limits: { memory: "1024Mi", cpu: 2 } },
      { limits: { cpu: "2", memory: "1Gi" } },
    ],
    ["base64 is canonical", "core/v1#Secret", { data: { a: "YWJj\nZA==" } }, { metadata: {}, data: { a: "YWJjZA==" } }],
    [
      "int64 beyond 2^53 stays exact",
      "meta/v1#ObjectMeta",
      { generation: 9007199254740993n },
      { generation: 9007199254740993n },
    ],
  ])("%s", (_, type, given, shown) => {
    expect(normalize(type, given).object).toEqual(shown);
  });

  it("shares nothing with what was given, because drafts are changed in place", () => {
    const given = { data: { a: { b: 1 } }, revision: 1 };
    const { object } = normalize("apps/v1#ControllerRevision", given);
    expect(object.data).toEqual(given.data);
    expect((object.data as { a: object }).a).not.toBe(given.data.a);
  });
});

describe("wrong types", () => {
  it.each([
    [
      "core/v1#ConfigMap",
      { metadata: { annotations: { a: 1 } } },
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.annotations of type string',
    ],
    [
      "core/v1#ConfigMap",
      { metadata: { labels: "x" } },
      "json: cannot unmarshal string into Go struct field ObjectMeta.metadata.labels of type map[string]string",
    ],
    [
      "apps/v1#Deployment",
      { spec: { replicas: 1.5 } },
      "cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
    ],
    ["apps/v1#Deployment", { spec: { replicas: 2147483648 } }, "of type int32"],
    [
      "apps/v1#Deployment",
      { spec: { template: { spec: { containers: {} } } } },
      "cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
    ],
    ["apps/v1#Deployment", { spec: { template: { spec: { containers: [7] } } } }, "of type v1.Container"],
    ["apps/v1#Deployment", { spec: { paused: "true" } }, "of type bool"],
    [
      "core/v1#Secret",
      { data: { a: "%%%" } },
      'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
    ],
    ["core/v1#Secret", { data: { a: "YWJ" } }, "illegal base64 data"],
    [
      "coordination.k8s.io/v1#Lease",
      { spec: { renewTime: "2026-11-15T21:00:00Z" } },
      'parsing time "2026-11-15T21:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ],
    ["core/v1#Pod", { metadata: { creationTimestamp: "2026-02-30T00:00:00Z" } }, "parsing time"],
    ["core/v1#Pod", { metadata: { creationTimestamp: 5 } }, "cannot unmarshal number into Go value of type string"],
    ["core/v1#ResourceRequirements", { limits: { cpu: "lots" } }, "quantities must match"],
    ["core/v1#ResourceRequirements", { limits: { cpu: {} } }, "quantities must match"],
    ["core/v1#Pod", [], "cannot unmarshal array into Go value of type v1.Pod"],
  ])("%s %j is refused", (type, given, message) => {
    const refused = caught(() => normalize(type, given));
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({
      code: 400,
      status: { reason: "BadRequest" },
      message: expect.stringContaining(message),
    });
  });

  it("refuses bottomless values instead of running out of stack", () => {
    let schema: object = {};
    for (let depth = 0; depth < 50_000; depth++) schema = { not: schema };
    expect(caught(() => normalize("apiextensions.k8s.io/v1#JSONSchemaProps", schema))).toMatchObject({ code: 400 });
    expect(caught(() => normalize("apps/v1#ControllerRevision", { data: schema }))).toMatchObject({ code: 400 });
  });
});

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
