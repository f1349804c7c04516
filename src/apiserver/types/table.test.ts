import { describe, expect, it } from "vitest";
import { fieldsOf, structOf, typeKeys, typeOf } from "./index.ts";

describe("typeOf", () => {
  it.each([
    ["", "v1", "Pod", "core/v1#Pod"],
    ["apps", "v1", "Deployment", "apps/v1#Deployment"],
    ["", "v1", "Status", "meta/v1#Status"],
    ["meta.k8s.io", "v1", "PartialObjectMetadata", "meta/v1#PartialObjectMetadata"],
    ["batch", "v1", "DeleteOptions", "meta/v1#DeleteOptions"],
    ["policy", "v1", "Eviction", "policy/v1#Eviction"],
    ["", "v1", "Container", undefined], // a struct, but no kind
    ["apps", "v2", "Deployment", undefined],
    ["", "v1", "__proto__", undefined],
  ])("of %j %s %s is %s", (group, version, kind, key) => {
    expect(typeOf(group, version, kind)).toBe(key);
  });
});

it("shows the fields of inlined structs among those of their parent", () => {
  const names = fieldsOf("core/v1#Volume").map(({ name }) => name);
  expect(names).toContain("name");
  expect(names).toContain("configMap");
});

it("knows every type that a field names, so that no body can lead out of the table", () => {
  for (const key of typeKeys()) {
    for (const field of fieldsOf(key)) {
      let type = field.type;
      while (type.kind === "list" || type.kind === "map") type = type.of;
      if (type.kind === "struct") expect(structOf(type.key), `${key}.${field.name}`).toBeDefined();
    }
  }
});

it("tells pointers from values, because a pointer to zero is shown", () => {
  const replicas = (key: string) => structOf(key)?.byName.get("replicas")?.pointer;
  expect(replicas("apps/v1#DeploymentSpec")).toBe(true);
  expect(replicas("apps/v1#DeploymentStatus")).toBe(false);
});
