import { TYPE_TABLE_JSON } from "./type-table.generated.ts";

/** What a field holds, after named scalars and aliases are resolved. */
export type TypeRef =
  | { readonly kind: "scalar"; readonly name: Scalar }
  | { readonly kind: "special"; readonly name: Special }
  | { readonly kind: "list"; readonly of: TypeRef }
  /** A list of strings that protobuf wraps in a message of its own. */
  | { readonly kind: "items" }
  /** Keys are strings. */
  | { readonly kind: "map"; readonly of: TypeRef }
  | { readonly kind: "struct"; readonly key: string };

export type Scalar = "string" | "bool" | "int32" | "int64" | "float64" | "bytes";

/** Types that write their own JSON. */
export type Special =
  | "Time"
  | "MicroTime"
  | "Quantity"
  | "IntOrString"
  | "RawExtension"
  | "FieldsV1"
  | "JSON"
  | "JSONSchemaPropsOrBool"
  | "JSONSchemaPropsOrArray"
  | "JSONSchemaPropsOrStringArray";

/** One field of a built-in type. */
export interface Field {
  readonly name: string;
  /** The protobuf field number; null for what protobuf leaves to the envelope. */
  readonly number: number | null;
  readonly type: TypeRef;
  readonly omitEmpty: boolean;
  /** Left out even though it is a struct, when nothing in it is set. */
  readonly omitZero: boolean;
  /** A pointer tells absent from zero: a pointer to zero is shown, a plain zero under omitempty is not. */
  readonly pointer: boolean;
  readonly required: boolean;
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
  readonly default?: unknown;
}

/** A struct whose fields JSON shows in its parent and protobuf keeps in a message of its own. */
export interface Inlined {
  readonly number: number | null;
  readonly key: string;
}

export interface StructType {
  readonly key: string;
  /** `Deployment` of `apps/v1#Deployment`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** Whether it is a kind: it has apiVersion and kind. */
  readonly isKind: boolean;
  readonly mapType?: "atomic" | "granular";
  /** As JSON shows them: the fields of inlined structs are among them. */
  readonly fields: readonly Field[];
  readonly byName: ReadonlyMap<string, Field>;
  /** As protobuf keeps them. */
  readonly own: readonly Field[];
  readonly inlined: readonly Inlined[];
}

interface Rules {
  ps?: string;
  pk?: string;
  lt?: "atomic" | "set" | "map";
  lk?: string[];
  mt?: "atomic" | "granular";
  d?: unknown;
}

type Entry = Record<string, [number: number | null, type: string, flags: string, rules?: Rules]>;

const table = new Map(Object.entries(JSON.parse(TYPE_TABLE_JSON) as Record<string, Entry>));
const structs = new Map<string, StructType>();

const TYPE_META = "meta/v1#TypeMeta";
export const JSON_SCHEMA_PROPS = "apiextensions.k8s.io/v1#JSONSchemaProps";

const SCALARS: ReadonlySet<string> = new Set(["string", "bool", "int32", "int64", "float64", "bytes"]);

const SPECIALS = new Map<string, Special>([
  ["Quantity", "Quantity"],
  ["IntOrString", "IntOrString"],
  ["RawExtension", "RawExtension"],
  ["meta/v1#Time", "Time"],
  ["meta/v1#MicroTime", "MicroTime"],
  ["meta/v1#FieldsV1", "FieldsV1"],
  ["apiextensions.k8s.io/v1#JSON", "JSON"],
  ["apiextensions.k8s.io/v1#JSONSchemaPropsOrBool", "JSONSchemaPropsOrBool"],
  ["apiextensions.k8s.io/v1#JSONSchemaPropsOrArray", "JSONSchemaPropsOrArray"],
  ["apiextensions.k8s.io/v1#JSONSchemaPropsOrStringArray", "JSONSchemaPropsOrStringArray"],
]);

/** Kinds of meta/v1 that every group version answers to, because clients send options under the version they talk to. */
const EVERYWHERE: ReadonlySet<string> = new Set([
  "CreateOptions",
  "DeleteOptions",
  "GetOptions",
  "ListOptions",
  "PatchOptions",
  "UpdateOptions",
]);

/** Kinds of meta/v1 that are spoken of as `v1`. */
const UNVERSIONED: ReadonlySet<string> = new Set([
  "APIGroup",
  "APIGroupList",
  "APIResourceList",
  "APIVersions",
  "List",
  "Status",
]);

/** The type key of a kind, or undefined when there is no such built-in kind. */
export function typeOf(group: string, version: string, kind: string): string | undefined {
  const home = group === "" ? "core" : group === "meta.k8s.io" ? "meta" : group;
  const inMeta = EVERYWHERE.has(kind) || (group === "" && version === "v1" && UNVERSIONED.has(kind));
  const key = inMeta ? `meta/v1#${kind}` : `${home}/${version}#${kind}`;
  return structOf(key)?.isKind ? key : undefined;
}

/** The fields of a type as JSON shows them; throws for a key that is not in the table. */
export function fieldsOf(typeKey: string): readonly Field[] {
  return knownStruct(typeKey).fields;
}

/** Everything about a type, or undefined when the table does not have it. */
export function structOf(typeKey: string): StructType | undefined {
  const known = structs.get(typeKey);
  if (known) return known;
  const entry = table.get(typeKey);
  if (!entry || SPECIALS.has(typeKey)) return undefined;
  const struct = structFrom(typeKey, entry);
  structs.set(typeKey, struct);
  return struct;
}

/** Like structOf, for keys that the table itself names. */
export function knownStruct(typeKey: string): StructType {
  const struct = structOf(typeKey);
  if (!struct) throw new Error(`no built-in type ${typeKey}`);
  return struct;
}

/** Every type key of the table. */
export function typeKeys(): string[] {
  return [...table.keys()].filter((key) => !SPECIALS.has(key));
}

function structFrom(key: string, entry: Entry): StructType {
  const [groupVersion = "", name = ""] = key.split("#");
  const [home = "", version = ""] = groupVersion.split("/");
  const fields: Field[] = [];
  const own: Field[] = [];
  const inlined: Inlined[] = [];
  for (const [fieldName, [number, type, flags, rules]] of Object.entries(entry)) {
    if (fieldName === "") continue;
    if (fieldName.startsWith("~")) {
      inlined.push({ number, key: type });
      fields.push(...fieldsOf(type));
      continue;
    }
    const field = fieldFrom(fieldName, number, type, flags, rules ?? {});
    fields.push(field);
    own.push(field);
  }
  const mapType = entry[""]?.[3]?.mt;
  return {
    key,
    name,
    group: home === "core" ? "" : home === "meta" ? "meta.k8s.io" : home,
    version,
    isKind: inlined.some((inner) => inner.key === TYPE_META),
    ...(mapType && { mapType }),
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    own,
    inlined,
  };
}

function fieldFrom(name: string, number: number | null, type: string, flags: string, rules: Rules): Field {
  return {
    name,
    number,
    type: refFrom(type),
    omitEmpty: flags.includes("o"),
    omitZero: flags.includes("z"),
    pointer: flags.includes("p"),
    required: flags.includes("r"),
    ...(rules.ps !== undefined && { patchStrategy: rules.ps }),
    ...(rules.pk !== undefined && { patchMergeKey: rules.pk }),
    ...(rules.lt !== undefined && { listType: rules.lt }),
    ...(rules.lk !== undefined && { listMapKeys: rules.lk }),
    ...(rules.mt !== undefined && { mapType: rules.mt }),
    ...(rules.d !== undefined && { default: rules.d }),
  };
}

function refFrom(text: string): TypeRef {
  if (text.startsWith("[]")) return { kind: "list", of: refFrom(text.slice(2)) };
  if (text.startsWith("map:")) return { kind: "map", of: refFrom(text.slice(4)) };
  if (text === "items:string") return { kind: "items" };
  const special = SPECIALS.get(text);
  if (special) return { kind: "special", name: special };
  if (SCALARS.has(text)) return { kind: "scalar", name: text as Scalar };
  return { kind: "struct", key: text };
}
