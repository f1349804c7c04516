/** The types of custom kinds, from the schemas of their definitions. */
import type { OpenApiSchema } from "#api/schema";
import { builtinType } from "./builtin-types.ts";
import { DEDUCED, type ListType, type MapType, UNTYPED, type ValueType } from "./value-type.ts";

const OBJECT_META = "meta/v1#ObjectMeta";

/** The type of a whole object; apiVersion, kind and metadata are the server's, whatever the schema says of them. */
export function customType(schema: OpenApiSchema): ValueType {
  return typeOf({ ...schema, type: "object", "x-kubernetes-embedded-resource": true }, false);
}

/** `open` is whether something above keeps fields that nobody described. */
function typeOf(schema: OpenApiSchema, open: boolean): ValueType {
  const keeps = open || schema["x-kubernetes-preserve-unknown-fields"] === true;
  switch (schema.type ?? "") {
    case "object":
      return { map: mapType(schema, keeps) };
    case "array":
      return { list: listType(schema, keeps) };
    case "integer":
    case "number":
      return { scalar: "numeric" };
    case "boolean":
      return { scalar: "boolean" };
    case "string":
      return { scalar: schema.format && schema.format !== "byte" ? "untyped" : "string" };
    default:
      return { scalar: "untyped", list: listType(schema, keeps), map: mapType(schema, keeps) };
  }
}

function mapType(schema: OpenApiSchema, open: boolean): MapType {
  const properties = new Map(Object.entries(schema.properties ?? {}));
  const fields = new Map<string, ValueType>();
  if (schema["x-kubernetes-embedded-resource"]) {
    fields.set("apiVersion", { scalar: "string" });
    fields.set("kind", { scalar: "string" });
    fields.set("metadata", builtinType(OBJECT_META));
  }
  return {
    atomic: schema["x-kubernetes-map-type"] === "atomic",
    field(name) {
      const built = fields.get(name);
      if (built) return built;
      const property = properties.get(name);
      if (!property) return undefined;
      const fresh = typeOf(property, open);
      fields.set(name, fresh);
      return fresh;
    },
    element: elementType(schema, open, properties.size + fields.size),
  };
}

function elementType(schema: OpenApiSchema, open: boolean, named: number): ValueType | undefined {
  const { additionalProperties } = schema;
  if (additionalProperties === undefined) return open || named === 0 ? DEDUCED : undefined;
  if (typeof additionalProperties === "object") return typeOf(additionalProperties, open);
  return additionalProperties ? DEDUCED : undefined;
}

function listType(schema: OpenApiSchema, open: boolean): ListType {
  const { items } = schema;
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const defaults = keys.map((key) => [key, items?.properties?.[key]?.default] as const);
  return {
    relation: schema["x-kubernetes-list-type"] ?? "atomic",
    keys: [...keys].sort(),
    keyDefaults: new Map(defaults.filter(([, value]) => value !== undefined)),
    item: items ? typeOf(items, open) : UNTYPED,
  };
}
