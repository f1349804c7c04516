/** The types of built-in kinds, from the type table. */
import { type Field, structOf, type TypeRef } from "../types/index.ts";
import { DEDUCED, type ListType, type MapType, type ScalarName, UNTYPED, type ValueType } from "./value-type.ts";

const structs = new Map<string, MapType>();

/** The type of a key of the type table; built on first use. */
export function builtinType(typeKey: string): ValueType {
  return { map: structType(typeKey) };
}

function structType(typeKey: string): MapType {
  const known = structs.get(typeKey);
  if (known) return known;
  const struct = structOf(typeKey);
  if (!struct) throw new Error(`no built-in type ${typeKey}`);
  const fields = new Map<string, ValueType>();
  const type: MapType = {
    atomic: struct.mapType === "atomic",
    field(name) {
      const built = fields.get(name);
      if (built) return built;
      const field = struct.byName.get(name);
      if (!field) return undefined;
      const fresh = fieldType(field);
      fields.set(name, fresh);
      return fresh;
    },
    // A struct without fields says nothing of what it holds.
    element: struct.fields.length === 0 ? DEDUCED : undefined,
  };
  structs.set(typeKey, type);
  return type;
}

function fieldType(field: Field): ValueType {
  const { type, mapType } = field;
  switch (type.kind) {
    case "list":
      return { list: listType(field, type.of) };
    case "items":
      return { list: listType(field, { kind: "scalar", name: "string" }) };
    case "map":
      return { map: { atomic: mapType === "atomic", field: () => undefined, element: referredType(type.of) } };
    case "struct": {
      const struct = structType(type.key);
      // What a field says of its type goes before what the type says of itself.
      return { map: mapType === undefined ? struct : { ...struct, atomic: mapType === "atomic" } };
    }
    default:
      return referredType(type);
  }
}

function listType({ listType: relation = "atomic", listMapKeys = [] }: Field, item: TypeRef): ListType {
  return {
    relation,
    keys: [...listMapKeys].sort(),
    keyDefaults: item.kind === "struct" ? defaultsOf(item.key, listMapKeys) : new Map(),
    item: referredType(item),
  };
}

function defaultsOf(typeKey: string, keys: readonly string[]): Map<string, unknown> {
  const defaults = keys.map((key) => [key, defaultOf(structOf(typeKey)?.byName.get(key))] as const);
  return new Map(defaults.filter(([, value]) => value !== undefined));
}

/** A key that Go always writes has its zero value where nobody says otherwise; validation will have a word with it. */
function defaultOf(field: Field | undefined): unknown {
  if (!field || field.default !== undefined) return field?.default;
  if (field.omitEmpty || field.pointer || field.type.kind !== "scalar") return undefined;
  return ZEROS[SCALARS[field.type.name]];
}

/** A type that no field says anything of. */
function referredType(type: TypeRef): ValueType {
  switch (type.kind) {
    case "scalar":
      return { scalar: SCALARS[type.name] };
    case "special":
      if (type.name === "RawExtension") return UNTYPED;
      return SPECIAL_SCALARS.has(type.name) ? { scalar: "untyped" } : DEDUCED;
    case "struct":
      return { map: structType(type.key) };
    case "map":
      return { map: { atomic: false, field: () => undefined, element: referredType(type.of) } };
    case "list":
      return { list: { relation: "atomic", keys: [], keyDefaults: new Map(), item: referredType(type.of) } };
    case "items":
      return { list: { relation: "atomic", keys: [], keyDefaults: new Map(), item: { scalar: "string" } } };
  }
}

const SCALARS: Readonly<Record<Extract<TypeRef, { kind: "scalar" }>["name"], ScalarName>> = {
  string: "string",
  bytes: "string",
  bool: "boolean",
  int32: "numeric",
  int64: "numeric",
  float64: "numeric",
};

const SPECIAL_SCALARS: ReadonlySet<string> = new Set(["Time", "MicroTime", "Quantity", "IntOrString"]);

const ZEROS: Readonly<Record<ScalarName, unknown>> = { string: "", numeric: 0, boolean: false, untyped: undefined };
