import { describe, expect, it } from "vitest";
import { type DynamicObject, kind } from "#api/meta";
import { keeping } from "./projection.ts";

const Widget = kind<DynamicObject>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});
const metadata = { name: "a", labels: { app: "a" }, managedFields: [{ manager: "m" }] };
const widget: DynamicObject = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata,
  spec: { replicas: 2, template: { image: "i", env: [] } },
  status: { ready: true },
} as DynamicObject;
const lean = { name: "a", labels: { app: "a" } };

describe("what is kept of an object", () => {
  it.each([
    ["all but managedFields", {}, { ...widget, metadata: lean }],
    ["all", { managedFields: true }, widget],
    ["its metadata", { projection: "metadata" }, { ...identity(), metadata: lean }],
    ["its metadata, whole", { projection: "metadata", managedFields: true }, { ...identity(), metadata }],
    [
      "fields by their paths",
      { projection: ["spec.replicas", "spec.template.image", "status"] },
      { ...identity(), metadata: lean, spec: { replicas: 2, template: { image: "i" } }, status: { ready: true } },
    ],
    [
      "no trace of paths that lead nowhere",
      { projection: ["spec.none.at.all", "data"] },
      { ...identity(), metadata: lean, spec: {} },
    ],
    [
      "nothing through a name like __proto__",
      { projection: ["__proto__.x", "constructor.name"] },
      { ...identity(), metadata: lean },
    ],
  ] as const)("%s", (_, parts, expected) => {
    expect(keeping(Widget, parts)(widget)).toEqual(expected);
  });

  it("calls an object by its own kind, though the server sent only metadata", () => {
    const partial = { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata", metadata: lean } as DynamicObject;
    expect(keeping(Widget, { projection: "metadata" })(partial)).toEqual({ ...identity(), metadata: lean });
  });
});

function identity() {
  return { apiVersion: "example.com/v1", kind: "Widget" };
}
