import { describe, expect, it } from "vitest";
import { type DynamicObject, kind } from "#api/meta";
import { judges, servicesBehind } from "./webhooks.ts";

const widgets = kind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });
const rule = { apiGroups: ["example.com"], apiVersions: ["v1"], resources: ["widgets"], operations: ["CREATE"] };
const service = { namespace: "ns", name: "hook" };

function configuration(...webhooks: object[]): DynamicObject {
  const apiVersion = "admissionregistration.k8s.io/v1";
  return { apiVersion, kind: "ValidatingWebhookConfiguration", metadata: { name: "x" }, webhooks };
}

describe("whom a configuration judges", () => {
  it.each<[object, boolean, string]>([
    [{}, true, "it names the kind"],
    [{ apiGroups: ["*"], resources: ["*/*"], apiVersions: ["*"], operations: ["*"] }, true, "it names every kind"],
    [{ apiGroups: ["other.com"] }, false, "it names another group"],
    [{ apiVersions: ["v2"] }, false, "it names another version"],
    [{ resources: ["widgets/status"] }, false, "it names only a part of the object"],
    [{ operations: ["DELETE"] }, false, "it judges only deletions"],
  ])("%o: %s, because %s", (change, expected) => {
    expect(judges(configuration({ rules: [{ ...rule, ...change }] }), widgets)).toBe(expected);
  });
});

describe("what stands behind a registration", () => {
  it("is each Service once, and no URL", () => {
    const hooks = configuration(
      { clientConfig: { service } },
      { clientConfig: { service: { ...service, path: "/other" } } },
      { clientConfig: { url: "https://127.0.0.1:1" } },
    );
    expect(servicesBehind(hooks)).toEqual([service]);
  });

  it("is the Service of an APIService, and nothing for one that the server serves itself", () => {
    const apiService = (spec: object): DynamicObject => ({
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1.x" },
      spec,
    });
    expect(servicesBehind(apiService({ service, group: "x", version: "v1" }))).toEqual([service]);
    expect(servicesBehind(apiService({ group: "x", version: "v1" }))).toEqual([]);
  });

  it("is nothing for other objects", () => {
    expect(servicesBehind({ apiVersion: "v1", kind: "Service", metadata: { name: "x" }, spec: { service } })).toEqual(
      [],
    );
  });
});
