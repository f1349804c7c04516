import { describe, expect, it } from "vitest";
import { int32, object, optional } from "#api/schema";
import { crd } from "./index.ts";

const gadget = crd({
  group: "example.com",
  names: { plural: "gadgets", kind: "Gadget", shortNames: ["gd"] },
  scope: "Namespaced",
  versions: [
    {
      name: "v1",
      served: true,
      storage: true,
      schema: object({ spec: object({ size: optional(int32()) }) }).schema,
      status: true,
      columns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
      selectableFields: [".spec.size"],
    },
  ],
});

describe("crd", () => {
  it("is named after plural and group, and names what the caller left out", () => {
    expect(gadget.metadata.name).toBe("gadgets.example.com");
    expect(gadget.spec.names).toEqual({
      plural: "gadgets",
      kind: "Gadget",
      shortNames: ["gd"],
      singular: "gadget",
      listKind: "GadgetList",
    });
  });

  it("adds what every object has to the schema", () => {
    const schema = gadget.spec.versions[0]?.schema?.openAPIV3Schema;
    expect(Object.keys(schema?.properties ?? {})).toEqual(["apiVersion", "kind", "metadata", "spec"]);
    expect(schema?.required).toEqual(["spec"]);
  });

  it("writes subresources, columns and selectable fields only where they are asked for", () => {
    expect(gadget.spec.versions[0]).toMatchObject({
      subresources: { status: {} },
      additionalPrinterColumns: [{ name: "Size" }],
      selectableFields: [{ jsonPath: ".spec.size" }],
    });
    const bare = crd({
      group: "example.com",
      names: { plural: "gadgets", kind: "Gadget" },
      scope: "Cluster",
      versions: [{ name: "v1", served: true, storage: true, schema: { type: "object" } }],
    });
    expect(Object.keys(bare.spec.versions[0] ?? {})).toEqual(["name", "served", "storage", "schema"]);
  });
});
