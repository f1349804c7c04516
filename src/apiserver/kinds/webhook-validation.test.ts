import { describe, expect, it } from "vitest";
import { created, find, shown } from "./testing/drafts.ts";

const HOOK = {
  name: "x.example.com",
  clientConfig: { url: "https://127.0.0.1/x" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
};
const withRule = (more: object) => ({ rules: [{ ...HOOK.rules[0], ...more }] });
const withService = (service: object) => ({ clientConfig: { service: { name: "a", namespace: "b", ...service } } });
const flaws = (kind: string, ...hooks: object[]) =>
  shown(created(find(kind), { webhooks: hooks.map((more) => ({ ...HOOK, ...more })) }).errors).map((flaw) =>
    flaw.replace("webhooks[0].", ""),
  );

describe("webhook configurations", () => {
  it("are filled in with what most webhooks mean", () => {
    const { object } = created(find("MutatingWebhookConfiguration"), {
      webhooks: [{ ...HOOK, clientConfig: { service: { name: "a", namespace: "b" } } }],
    });
    expect(object.webhooks).toMatchObject([
      {
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        timeoutSeconds: 10,
        reinvocationPolicy: "Never",
        namespaceSelector: {},
        objectSelector: {},
        clientConfig: { service: { port: 443 } },
        rules: [{ scope: "*" }],
      },
    ]);
  });

  it.each<[string, object, string[]]>([
    ["nothing wrong", {}, []],
    ["no name", { name: "" }, ["name: Required"]],
    ["a short name", { name: "a.b" }, ["name: Invalid"]],
    ["nothing said of side effects", { sideEffects: undefined }, ["sideEffects: Required"]],
    ["side effects", { sideEffects: "Some" }, ["sideEffects: NotSupported"]],
    ["too much patience", { timeoutSeconds: 31 }, ["timeoutSeconds: Invalid"]],
    ["no patience", { timeoutSeconds: 0 }, ["timeoutSeconds: Invalid"]],
    ["an unknown policy of failure", { failurePolicy: "Maybe" }, ["failurePolicy: NotSupported"]],
    ["an unknown policy of matches", { matchPolicy: "Maybe" }, ["matchPolicy: NotSupported"]],
    ["no version of the conversation", { admissionReviewVersions: [] }, ["admissionReviewVersions: Required"]],
    [
      "no known version of the conversation",
      { admissionReviewVersions: ["v9", "v9", "A"] },
      [
        "admissionReviewVersions[1]: Invalid",
        "admissionReviewVersions[2]: Invalid",
        "admissionReviewVersions: Invalid",
      ],
    ],
    ["no address", { clientConfig: {} }, ["clientConfig: Required"]],
    [
      "two addresses",
      { clientConfig: { url: "https://x/y", service: { name: "a", namespace: "b" } } },
      ["clientConfig: Required"],
    ],
    ["an address in the clear", { clientConfig: { url: "http://x/y" } }, ["clientConfig.url: Invalid"]],
    ["no host", { clientConfig: { url: "https:///y" } }, ["clientConfig.url: Invalid"]],
    ["no scheme", { clientConfig: { url: "x/y" } }, ["clientConfig.url: Invalid", "clientConfig.url: Invalid"]],
    ["a user", { clientConfig: { url: "https://u:p@x/y" } }, ["clientConfig.url: Invalid"]],
    ["a query", { clientConfig: { url: "https://x/y?a=b" } }, ["clientConfig.url: Invalid"]],
    ["a fragment", { clientConfig: { url: "https://x/y#a" } }, ["clientConfig.url: Invalid"]],
    ["a port that is none", { clientConfig: { url: "https://x:y" } }, ["clientConfig.url: Required"]],
    [
      "a Service without a name",
      withService({ name: "", namespace: "" }),
      ["clientConfig.service.name: Required", "clientConfig.service.namespace: Required"],
    ],
    ["a port too high", withService({ port: 70_000 }), ["clientConfig.service.port: Invalid"]],
    [
      "a broken path",
      withService({ path: "/a//B/" }),
      ["clientConfig.service.path: Invalid", "clientConfig.service.path: Invalid"],
    ],
    ["a path of nothing", withService({ path: "//" }), ["clientConfig.service.path: Invalid"]],
    [
      "an empty rule",
      { rules: [{}] },
      [
        "rules[0].operations: Required",
        "rules[0].apiGroups: Required",
        "rules[0].apiVersions: Required",
        "rules[0].resources: Required",
      ],
    ],
    [
      "operations beside all of them",
      withRule({ operations: ["*", "CREATE", "Nope"] }),
      ["rules[0].operations: Invalid", "rules[0].operations[2]: NotSupported"],
    ],
    ["groups beside all of them", withRule({ apiGroups: ["*", "a"] }), ["rules[0].apiGroups: Invalid"]],
    [
      "versions beside all of them",
      withRule({ apiVersions: ["*", ""] }),
      ["rules[0].apiVersions: Invalid", "rules[0].apiVersions[1]: Required"],
    ],
    [
      "resources beside everything",
      withRule({ resources: ["*/*", "a", ""] }),
      ["rules[0].resources[2]: Required", "rules[0].resources: Invalid"],
    ],
    ["resources beside all of them", withRule({ resources: ["*", "pods"] }), ["rules[0].resources: Invalid"]],
    [
      "parts beside all of them",
      withRule({ resources: ["pods/*", "pods/status", "*/scale", "x/scale"] }),
      ["rules[0].resources[1]: Invalid", "rules[0].resources[3]: Invalid"],
    ],
    ["an unknown scope", withRule({ scope: "Nope" }), ["rules[0].scope: NotSupported"]],
    [
      "selectors that select nothing",
      {
        namespaceSelector: {
          matchExpressions: [
            { key: "a", operator: "In" },
            { key: "a", operator: "Nope" },
          ],
        },
      },
      [
        "namespaceSelector.matchExpressions[0].values: Required",
        "namespaceSelector.matchExpressions[1].operator: Invalid",
      ],
    ],
    [
      "labels that are none",
      { objectSelector: { matchLabels: { a: "b c" } } },
      ["objectSelector.matchLabels: Invalid"],
    ],
    [
      "conditions that do not compile",
      { matchConditions: [{ name: "a", expression: "nope" }] },
      ["matchConditions[0].expression: Invalid"],
    ],
  ])("are looked at: %s", (_, more, expected) => {
    expect(flaws("MutatingWebhookConfiguration", more)).toEqual(expected);
    expect(flaws("ValidatingWebhookConfiguration", more)).toEqual(expected);
  });

  it("are refused when a webhook has the name of another", () => {
    expect(flaws("MutatingWebhookConfiguration", {}, {})).toEqual(["webhooks[1].name: Duplicate"]);
  });

  it("know the policy of being asked again, where objects can be changed", () => {
    expect(flaws("MutatingWebhookConfiguration", { reinvocationPolicy: "Maybe" })).toEqual([
      "reinvocationPolicy: NotSupported",
    ]);
  });
});
