/** Values from JSON, and back. */
import { isObject } from "#lib/json";
import { failure } from "./errors.ts";
import { readDuration, readTimestamp, writeGoDuration, writeTimestamp } from "./time.ts";
import { type CelType, DYN, isOptionalType, type ListType, type ObjectType } from "./types.ts";
import {
  type CelValue,
  Duration,
  isList,
  MapValue,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  withTraits,
} from "./values.ts";

/**
 * A JSON value as expressions see it. The type says what numbers and strings are; without one, whole numbers are
 * int. Objects are looked into when they are asked, so that a large one costs nothing.
 */
export function toCel(value: unknown, type: CelType = DYN): CelValue {
  if (value === null || value === undefined) return null;
  if (isOptionalType(type)) return value instanceof Optional ? value : Optional.of(toCel(value, type.parameters[0]));
  switch (typeof value) {
    case "boolean":
      return value;
    case "bigint":
      return type.kind === "double" ? Number(value) : type.kind === "uint" ? new Uint(value) : value;
    case "number":
      return numberOf(value, type);
    case "string":
      return textOf(value, type);
    default:
  }
  if (Array.isArray(value)) return listOf(value, type);
  if (isCelObject(value)) return value;
  if (isObject(value)) return new JsonMap(value, type);
  throw failure(`a ${typeof value} is no value`);
}

function isCelObject(value: unknown): value is Exclude<CelValue, null | boolean | bigint | number | string> {
  return (
    value instanceof MapValue ||
    value instanceof Opaque ||
    value instanceof Uint8Array ||
    value instanceof Uint ||
    value instanceof Timestamp ||
    value instanceof Duration ||
    value instanceof Optional ||
    value instanceof TypeValue
  );
}

function numberOf(value: number, { kind }: CelType): CelValue {
  if (kind === "double" || !Number.isInteger(value)) return value;
  if (kind === "uint") return new Uint(BigInt(value));
  // Beyond what a double holds exactly, one that says nothing else was written as a double.
  return kind === "int" || Number.isSafeInteger(value) ? BigInt(value) : value;
}

function textOf(value: string, { kind }: CelType): CelValue {
  switch (kind) {
    case "bytes":
      return new Uint8Array(Buffer.from(value, "base64"));
    case "timestamp":
      return readTimestamp(/^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value) ?? value;
    case "duration":
      return readDuration(value) ?? value;
    default:
      return value;
  }
}

function listOf(values: readonly unknown[], type: CelType): CelValue {
  const list =
    type.kind === "list" ? values.map((item) => toCel(item, type.element)) : values.map((item) => toCel(item));
  if (type.kind !== "list" || !type.listType) return list;
  if (type.listType === "set") return withTraits(list, { kind: "set" });
  return withTraits(list, { kind: "map", identity: identityBy(type) });
}

/** Tells items of a list apart by the fields that are its keys. */
function identityBy({ mapKeys = [] }: ListType): (item: CelValue) => string {
  return (item) => {
    if (!(item instanceof JsonMap)) return "";
    return JSON.stringify(mapKeys.map((key) => String(item.raw[key] ?? "")));
  };
}

/** A JSON object: with a type it has that type's fields, otherwise it is a map by string. */
export class JsonMap extends MapValue {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly #type: CelType;
  #known: Map<string, CelValue> | undefined;

  constructor(raw: Readonly<Record<string, unknown>>, type: CelType) {
    super();
    this.raw = raw;
    this.#type = type;
  }

  get typeName(): string {
    return this.#type.kind === "object" ? this.#type.name : "map";
  }

  get size(): number {
    return this.#names().length;
  }

  get(key: CelValue): CelValue | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#known?.get(key);
    if (known !== undefined) return known;
    const found = this.#find(key);
    if (found === undefined) return undefined;
    this.#known ??= new Map();
    this.#known.set(key, found);
    return found;
  }

  *keys(): Iterable<CelValue> {
    yield* this.#names();
  }

  #names(): string[] {
    const type = this.#type;
    if (type.kind !== "object") return Object.keys(this.raw);
    const declared = new Set<string>();
    const names: string[] = [];
    for (const [name, { jsonName }] of type.fields) {
      if (!declared.has(jsonName) && this.#find(name) !== undefined) names.push(name);
      declared.add(jsonName);
    }
    if (type.open) names.push(...Object.keys(this.raw).filter((name) => !declared.has(name)));
    return names;
  }

  #find(key: string): CelValue | undefined {
    const type = this.#type;
    if (type.kind === "object") return this.#field(type, key);
    if (!Object.hasOwn(this.raw, key)) return undefined;
    return toCel(this.raw[key], type.kind === "map" ? type.value : DYN);
  }

  #field(type: ObjectType, key: string): CelValue | undefined {
    const field = type.fields.get(key);
    const name = field?.jsonName ?? key;
    if ((!field && !type.open) || !Object.hasOwn(this.raw, name)) return undefined;
    const value = this.raw[name];
    // A field that is null without being allowed to is one that is not there.
    if (value === undefined || (value === null && field && !field.nullable)) return undefined;
    return toCel(value, field?.type);
  }
}

/** A value as JSON. Throws where JSON has no word for it: bytes, types, and values of libraries. */
export function fromCel(value: CelValue): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string" || typeof value === "number")
    return value;
  if (typeof value === "bigint") return exact(value);
  if (isList(value)) return value.map(fromCel);
  if (value instanceof JsonMap) return value.raw;
  if (value instanceof MapValue) return objectFrom(value);
  if (value instanceof Uint) return exact(value.value);
  if (value instanceof Timestamp) return writeTimestamp(value);
  if (value instanceof Duration) return writeGoDuration(value);
  if (value instanceof Optional) return value.value === undefined ? null : fromCel(value.value);
  throw failure(`${value instanceof Uint8Array ? "bytes" : value.typeName} cannot be written as JSON`);
}

function exact(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function objectFrom(map: MapValue): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (const key of map.keys()) {
    if (typeof key !== "string") throw failure("only maps with string keys can be written as JSON");
    entries.push([key, fromCel(map.get(key) ?? null)]);
  }
  return Object.fromEntries(entries);
}
