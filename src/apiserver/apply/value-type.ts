/**
 * How apply and the tracking of managers see a type: what of it is one thing that is owned and replaced whole, and
 * what consists of parts with owners of their own.
 */
import { isObject } from "#lib/json";

export type ScalarName = "string" | "numeric" | "boolean" | "untyped";

/** A type may allow several forms; the value tells which one it has. */
export interface ValueType {
  readonly scalar?: ScalarName;
  readonly list?: ListType;
  readonly map?: MapType;
}

export interface ListType {
  readonly relation: "atomic" | "set" | "map";
  /** The fields that tell the items of a `map` list apart, sorted. */
  readonly keys: readonly string[];
  /** What a key is where the item does not say. */
  readonly keyDefaults: ReadonlyMap<string, unknown>;
  readonly item: ValueType;
}

export interface MapType {
  readonly atomic: boolean;
  /** The named fields of a struct. */
  field(name: string): ValueType | undefined;
  /** The type of everything else; without it, everything else is a mistake. */
  readonly element: ValueType | undefined;
}

/** Anything, as one thing. */
export const UNTYPED: ValueType = {
  scalar: "untyped",
  get list() {
    return UNTYPED_LIST;
  },
  get map() {
    return UNTYPED_MAP;
  },
};

const UNTYPED_LIST: ListType = { relation: "atomic", keys: [], keyDefaults: new Map(), item: UNTYPED };
const UNTYPED_MAP: MapType = { atomic: true, field: () => undefined, element: UNTYPED };

/** Anything; objects are known by what they hold, lists are one thing. */
export const DEDUCED: ValueType = {
  scalar: "untyped",
  list: UNTYPED_LIST,
  get map() {
    return DEDUCED_MAP;
  },
};

const DEDUCED_MAP: MapType = { atomic: false, field: () => undefined, element: DEDUCED };

export type Form = "map" | "scalar" | "list";

/** The form that a value has in a type. Null, and what the type does not allow, count as the type's first form. */
export function formOf(type: ValueType, value: unknown): Form {
  if (Array.isArray(value)) {
    if (type.list) return "list";
  } else if (isObject(value)) {
    if (type.map) return "map";
  } else if (value !== null && value !== undefined && type.scalar) return "scalar";
  return type.map ? "map" : type.scalar ? "scalar" : "list";
}

/** The type of a key of an object. */
export function memberType(map: MapType, name: string): ValueType | undefined {
  return map.field(name) ?? map.element;
}

export function mapOf(value: unknown): Record<string, unknown> | undefined {
  return isObject(value) ? value : undefined;
}

export function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
