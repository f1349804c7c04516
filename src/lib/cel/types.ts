/** Types of expressions. */

export type SimpleKind =
  | "dyn"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "error";

/**
 * What a schema says about sizes, for estimates of cost: the most items, entries, characters or bytes a value may
 * have (0 where it has no size), and the fewest bytes it takes up as JSON.
 */
export interface Sizes {
  readonly largest: number;
  readonly smallestJson: number;
}

export interface SimpleType {
  readonly kind: SimpleKind;
  readonly sizes?: Sizes;
}

export interface ListType {
  readonly kind: "list";
  readonly element: CelType;
  readonly sizes?: Sizes;
  /** How items are told apart, where the list is a set or a map by some keys. */
  readonly listType?: "set" | "map";
  readonly mapKeys?: readonly string[];
}

export interface MapType {
  readonly kind: "map";
  readonly key: CelType;
  readonly value: CelType;
  readonly sizes?: Sizes;
}

export interface ObjectField {
  readonly type: CelType;
  /** The field's name in JSON, where expressions need another. */
  readonly jsonName: string;
  readonly nullable?: boolean;
}

export interface ObjectType {
  readonly kind: "object";
  readonly name: string;
  /** By the name that expressions use. */
  readonly fields: ReadonlyMap<string, ObjectField>;
  /** Unknown fields are dyn instead of an error. */
  readonly open?: boolean;
  readonly sizes?: Sizes;
}

/** Types of libraries and hosts, and optional(T). */
export interface OpaqueType {
  readonly kind: "opaque";
  readonly name: string;
  readonly parameters: readonly CelType[];
  readonly sizes?: Sizes;
}

export interface TypeType {
  readonly kind: "type";
  readonly of: CelType;
  readonly sizes?: Sizes;
}

/** Stands for any one type in a function's declaration, and for one not yet known while checking. */
export interface ParameterType {
  readonly kind: "parameter";
  readonly name: string;
  readonly sizes?: Sizes;
}

export type CelType = SimpleType | ListType | MapType | ObjectType | OpaqueType | TypeType | ParameterType;

export const DYN: CelType = { kind: "dyn" };
export const NULL: CelType = { kind: "null" };
export const BOOL: CelType = { kind: "bool" };
export const INT: CelType = { kind: "int" };
export const UINT: CelType = { kind: "uint" };
export const DOUBLE: CelType = { kind: "double" };
export const STRING: CelType = { kind: "string" };
export const BYTES: CelType = { kind: "bytes" };
export const TIMESTAMP: CelType = { kind: "timestamp" };
export const DURATION: CelType = { kind: "duration" };
/** The type of what was complained about already; it fits everything, so that there is one complaint. */
export const ERROR: CelType = { kind: "error" };

export function listOf(element: CelType): ListType {
  return { kind: "list", element };
}

export function mapOf(key: CelType, value: CelType): MapType {
  return { kind: "map", key, value };
}

export function opaque(name: string, ...parameters: CelType[]): OpaqueType {
  return { kind: "opaque", name, parameters };
}

export function optionalOf(type: CelType): OpaqueType {
  return opaque("optional_type", type);
}

export function typeOfType(of: CelType): TypeType {
  return { kind: "type", of };
}

/** A named object type; fields by name. */
export function objectType(name: string, fields: Readonly<Record<string, CelType>>, open = false): ObjectType {
  const entries = Object.entries(fields).map(([key, type]) => [key, { type, jsonName: key }] as const);
  return { kind: "object", name, fields: new Map(entries), open };
}

export function isOptionalType(type: CelType): type is OpaqueType & { readonly name: "optional_type" } {
  return type.kind === "opaque" && type.name === "optional_type";
}

/** The types inside a type. */
export function parametersOf(type: CelType): readonly CelType[] {
  switch (type.kind) {
    case "list":
      return [type.element];
    case "map":
      return [type.key, type.value];
    case "opaque":
      return type.parameters;
    case "type":
      return [type.of];
    default:
      return [];
  }
}

/** The same type with other types inside. */
export function withParameters(type: CelType, inner: readonly CelType[]): CelType {
  const [first = DYN, second = DYN] = inner;
  switch (type.kind) {
    case "list":
      return { ...type, element: first };
    case "map":
      return { ...type, key: first, value: second };
    case "opaque":
      return { ...type, parameters: inner };
    case "type":
      return { ...type, of: first };
    default:
      return type;
  }
}

/** A type as complaints show it. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case "null":
      return "null";
    case "timestamp":
      return "timestamp";
    case "error":
      return "!error!";
    case "list":
      return `list(${formatType(type.element)})`;
    case "map":
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case "object":
    case "parameter":
      return type.name;
    case "opaque":
      return type.parameters.length === 0 ? type.name : `${type.name}(${type.parameters.map(formatType).join(", ")})`;
    case "type":
      return `type(${formatType(type.of)})`;
    default:
      return type.kind;
  }
}

/** Names that stand for types in expressions. */
export const TYPE_NAMES: ReadonlyMap<string, CelType> = new Map<string, CelType>([
  ["bool", BOOL],
  ["bytes", BYTES],
  ["double", DOUBLE],
  ["dyn", DYN],
  ["int", INT],
  ["list", listOf(DYN)],
  ["map", mapOf(DYN, DYN)],
  ["null_type", NULL],
  ["string", STRING],
  ["type", typeOfType(DYN)],
  ["uint", UINT],
  ["google.protobuf.Timestamp", TIMESTAMP],
  ["google.protobuf.Duration", DURATION],
  ["optional_type", optionalOf(DYN)],
]);
