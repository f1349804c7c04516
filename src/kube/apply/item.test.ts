import { describe, expect, it } from "vitest";
import { type DynamicObject, kind } from "#api/meta";
import { idOf } from "./identity.ts";
import { type Item, kindFromDefinition, Relations } from "./item.ts";

const widgets = kind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

function item(object: DynamicObject, index = 0): Item {
  const where = object.kind === "Widget" ? widgets : undefined;
  return {
    index,
    object,
    strategy: { type: "ServerSideApply" },
    owner: undefined,
    source: undefined,
    id: idOf(object),
    kind: where,
  };
}

const hook = { service: { namespace: "system", name: "hook" } };
const definition: DynamicObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { kind: "Widget", plural: "widgets" },
    versions: [
      { name: "v1", served: true },
      { name: "v0", served: false },
    ],
    conversion: { strategy: "Webhook", webhook: { clientConfig: hook } },
  },
};
const apiService: DynamicObject = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  metadata: { name: "v1.metrics.example.com" },
  spec: { group: "metrics.example.com", version: "v1", ...hook },
};
const configuration: DynamicObject = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "widgets" },
  webhooks: [
    {
      clientConfig: hook,
      rules: [{ apiGroups: ["example.com"], apiVersions: ["*"], resources: ["*"], operations: ["*"] }],
    },
  ],
};
const object = (apiVersion: string, kindName: string, namespace?: string): DynamicObject => ({
  apiVersion,
  kind: kindName,
  metadata: { name: namespace ? "x" : "demo", ...(namespace && { namespace }) },
});

describe("objects of a set", () => {
  const all = [definition, apiService, configuration, object("v1", "Namespace"), object("v1", "Service", "system")].map(
    item,
  );
  const relations = new Relations(all);
  const widget = item(object("example.com/v1", "Widget", "demo"));
  const nameOf = (found: Item | undefined) => found?.object.metadata.name;

  it("stand on their namespace, their definition, their API, and the webhooks that judge and convert them", () => {
    expect(nameOf(relations.namespaceOf(widget))).toBe("demo");
    expect(nameOf(relations.definitionOf(widget))).toBe("widgets.example.com");
    expect(nameOf(relations.providerOf(item(object("metrics.example.com/v1", "Metric", "demo"))))).toBe(
      "v1.metrics.example.com",
    );
    expect(relations.guardsOf(widget).map(nameOf)).toEqual(["widgets"]);
    expect(relations.convertersOf(widget)).toEqual([hook.service]);
    expect(nameOf(relations.serviceOf({ namespace: "system", name: "x" }))).toBe("x");
  });

  it("stand on nothing that the set does not bring", () => {
    const other = item(object("example.com/v0", "Widget", "elsewhere"));
    expect(relations.namespaceOf(other)).toBeUndefined();
    expect(relations.definitionOf(other)).toBeUndefined();
    expect(relations.providerOf(other)).toBeUndefined();
    expect(relations.convertersOf(other)).toEqual([]);
  });

  it("are known by their definition before they are served", () => {
    expect(kindFromDefinition(definition, "v1")).toEqual(widgets);
    expect(kindFromDefinition({ ...definition, spec: { names: 1 } }, "v1")).toBeUndefined();
  });
});
