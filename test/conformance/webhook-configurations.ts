/** Configurations of webhooks: what is accepted, and where they are found. */
import { describe, expect, it } from "vitest";
import type { Reply } from "../support/raw.ts";
import type { Staged } from "./stage.ts";
import { configurations, core, type Role } from "./webhook-stage.ts";

const ROLES: readonly Role[] = ["mutating", "validating"];
const GROUP = "admissionregistration.k8s.io";
const HOOK = {
  name: "x.example.com",
  clientConfig: { url: "https://127.0.0.1/x" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  rules: core(["pods"], ["CREATE"]),
};
const ruled = (more: object) => ({ rules: [{ ...HOOK.rules[0], ...more }] });
const served = (service: object) => ({ clientConfig: { service: { name: "a", namespace: "b", ...service } } });
const condition = (expression: string, name = "a") => ({ name, expression });

/** Causes without the place of the webhook, which is the same for all. */
function causesOf({ body }: Reply): string[] {
  const causes = body.details?.causes ?? [];
  return causes.map(({ field = "", reason }) => `${field.replace("webhooks[0].", "")} ${reason}`).toSorted();
}

export function webhookConfigurationsSuite(stage: Staged): void {
  const tried = (role: Role, ...webhooks: object[]) =>
    stage().admin.post(`${configurations(role)}?dryRun=All`, {
      metadata: { name: "tried" },
      webhooks: webhooks.map((more) => ({ ...HOOK, ...more })),
    });

  it("admission-webhooks.defaults: are filled in with what most webhooks mean", async () => {
    for (const role of ROLES) {
      const { body } = await tried(role, { clientConfig: { service: { name: "a", namespace: "b" } } });
      expect(body.webhooks).toMatchObject([
        {
          failurePolicy: "Fail",
          matchPolicy: "Equivalent",
          timeoutSeconds: 10,
          namespaceSelector: {},
          objectSelector: {},
          clientConfig: { service: { port: 443 } },
          rules: [{ scope: "*" }],
          ...(role === "mutating" && { reinvocationPolicy: "Never" }),
        },
      ]);
    }
  });

  it.each<[string, object, string[]]>([
    ["no name", { name: "" }, ["name FieldValueRequired"]],
    ["a short name", { name: "a.b" }, ["name FieldValueInvalid"]],
    ["no side effects", { sideEffects: undefined }, ["sideEffects FieldValueRequired"]],
    ["unknown side effects", { sideEffects: "Unknown" }, ["sideEffects FieldValueNotSupported"]],
    ["too much patience", { timeoutSeconds: 31 }, ["timeoutSeconds FieldValueInvalid"]],
    ["an unknown policy", { failurePolicy: "Maybe" }, ["failurePolicy FieldValueNotSupported"]],
    ["an unknown match", { matchPolicy: "Maybe" }, ["matchPolicy FieldValueNotSupported"]],
    ["no review version", { admissionReviewVersions: [] }, ["admissionReviewVersions FieldValueRequired"]],
    ["no known version", { admissionReviewVersions: ["v9"] }, ["admissionReviewVersions FieldValueInvalid"]],
    ["no address", { clientConfig: {} }, ["clientConfig FieldValueRequired"]],
    ["plain HTTP", { clientConfig: { url: "http://x/y" } }, ["clientConfig.url FieldValueInvalid"]],
    ["no host", { clientConfig: { url: "https:///y" } }, ["clientConfig.url FieldValueInvalid"]],
    ["a user", { clientConfig: { url: "https://u:p@x/y" } }, ["clientConfig.url FieldValueInvalid"]],
    ["a query", { clientConfig: { url: "https://x/y?z=1" } }, ["clientConfig.url FieldValueInvalid"]],
    ["no URL", { clientConfig: { url: "https://x:y" } }, ["clientConfig.url FieldValueRequired"]],
    [
      "a nameless Service",
      served({ name: "", namespace: "" }),
      ["clientConfig.service.name FieldValueRequired", "clientConfig.service.namespace FieldValueRequired"],
    ],
    ["a broken path", served({ path: "/a//b" }), ["clientConfig.service.path FieldValueInvalid"]],
    ["a port too high", served({ port: 70_000 }), ["clientConfig.service.port FieldValueInvalid"]],
    ["no resources", ruled({ resources: [] }), ["rules[0].resources FieldValueRequired"]],
    ["a star and more", ruled({ resources: ["*", "pods"] }), ["rules[0].resources FieldValueInvalid"]],
    ["all parts and one", ruled({ resources: ["pods/*", "pods/status"] }), ["rules[0].resources[1] FieldValueInvalid"]],
    ["an unknown operation", ruled({ operations: ["READ"] }), ["rules[0].operations[0] FieldValueNotSupported"]],
    ["an unknown scope", ruled({ scope: "Some" }), ["rules[0].scope FieldValueNotSupported"]],
    [
      "a selector of nothing",
      { objectSelector: { matchExpressions: [{ key: "a", operator: "In" }] } },
      ["objectSelector.matchExpressions[0].values FieldValueRequired"],
    ],
    [
      "a condition that does not compile",
      { matchConditions: [condition("nope == 1")] },
      ["matchConditions[0].expression FieldValueInvalid"],
    ],
    [
      "a condition that is no question",
      { matchConditions: [condition("1")] },
      ["matchConditions[0].expression FieldValueInvalid"],
    ],
    [
      "a condition that is there twice",
      { matchConditions: [condition("true"), condition("true")] },
      ["matchConditions[1].name FieldValueDuplicate"],
    ],
  ])("admission-webhooks.configuration-refusals: are refused with %s", async (_, more, causes) => {
    for (const role of ROLES) {
      const reply = await tried(role, more);
      expect(reply.code).toBe(422);
      expect(causesOf(reply)).toEqual(causes);
    }
  });

  it("admission-webhooks.compilation-errors: are told what is wrong with a condition, and where", async () => {
    const { body } = await tried("validating", { matchConditions: [condition("request.nope == ''")] });
    expect(body.details?.causes?.[0]?.message).toBe(
      "Invalid value: \"request.nope == ''\": compilation failed: ERROR: <input>:1:8: undefined field 'nope'\n | request.nope == ''\n | .......^",
    );
  });

  it("admission-webhooks.generation: count their changes", async () => {
    const { admin } = stage();
    const name = "suite-generation";
    const { body } = await admin.post(configurations("validating"), { metadata: { name }, webhooks: [] });
    expect(body.metadata.generation).toBe(1);
    const labelled = await admin.patch(configurations("validating", name), { metadata: { labels: { a: "b" } } });
    expect(labelled.body.metadata.generation).toBe(1);
    const changed = await admin.patch(configurations("validating", name), {
      webhooks: [{ ...HOOK, rules: [] }],
    });
    expect(changed.body.metadata.generation).toBe(2);
    await admin.delete(configurations("validating", name));
  });

  describe("in discovery", () => {
    it("admission-webhooks.discovery: are found in all documents that lead to them", async () => {
      const { admin } = stage();
      const { body: all } = await admin.get("/apis");
      const group = (all.groups as { name: string; versions: { groupVersion: string }[] }[]).find(
        ({ name }) => name === GROUP,
      );
      expect(group?.versions.map(({ groupVersion }) => groupVersion)).toContain(`${GROUP}/v1`);
      const { body: one } = await admin.get(`/apis/${GROUP}`);
      expect(one.versions).toContainEqual({ groupVersion: `${GROUP}/v1`, version: "v1" });
      const { body: resources } = await admin.get(`/apis/${GROUP}/v1`);
      for (const role of ROLES) {
        const kind = `${role === "mutating" ? "Mutating" : "Validating"}WebhookConfiguration`;
        expect(resources.resources).toContainEqual(
          expect.objectContaining({ name: `${kind.toLowerCase()}s`, kind, namespaced: false }),
        );
      }
      const { body: openapi } = await admin.get(`/openapi/v3/apis/${GROUP}/v1`);
      expect(Object.keys(openapi.paths as object)).toEqual(
        expect.arrayContaining(ROLES.map((role) => configurations(role))),
      );
    });
  });
}
