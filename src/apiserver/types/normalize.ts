/**
 * What Go does when it decodes JSON into one of the built-in structs, stores it as protobuf and encodes it as
 * JSON again: unknown fields go, values take their canonical form, empty fields go or show as Go shows them.
 */
import { isObject } from "#lib/json";
import { badRequest } from "../errors.ts";
import { canonicalQuantity, QUANTITY_ERROR } from "./quantity.ts";
import { type Field, JSON_SCHEMA_PROPS, knownStruct, type Special, type StructType, type TypeRef } from "./table.ts";
import { isZeroTime, readMicroTime, readTime, showMicroTime, showTime } from "./time.ts";

export interface Normalized {
  object: Record<string, unknown>;
  /** Paths of fields that the type does not have: `spec.containers[0].bar`. */
  unknownFields: string[];
}

/** Deeper than any real schema, and shallow enough for the stack. */
const MAX_DEPTH = 500;

const MAX_INT32 = 2 ** 31 - 1;
const MAX_INT64 = 2n ** 63n - 1n;

/** The value as an object of that type; throws ApiError 400 where a field has the wrong type. The value is left alone. */
export function normalize(typeKey: string, value: unknown): Normalized {
  const root = knownStruct(typeKey);
  const normalizer = new Normalizer(root);
  const object = normalizer.struct(root, value, undefined);
  return { object, unknownFields: normalizer.unknownFields };
}

/** Where we are in the value, from the leaf up. */
interface Place {
  readonly up: Place | undefined;
  /** For paths: `.name`, `[0]`. */
  readonly text: string;
  /** The struct that this is a field of; undefined for items and map values. */
  readonly owner: StructType | undefined;
  readonly depth: number;
}

class Normalizer {
  readonly unknownFields: string[] = [];
  readonly #root: StructType;

  constructor(root: StructType) {
    this.#root = root;
  }

  struct(type: StructType, value: unknown, place: Place | undefined): Record<string, unknown> {
    if (!isObject(value)) throw this.#mismatch(value, `${type.version}.${type.name}`, place);
    for (const key of Object.keys(value)) {
      if (!type.byName.has(key)) this.unknownFields.push(pathOf(step(place, `.${key}`, type)));
    }
    const object: Record<string, unknown> = {};
    for (const field of type.fields) {
      const given = Object.hasOwn(value, field.name) ? value[field.name] : null;
      const shown = this.#field(field, given ?? null, step(place, `.${field.name}`, type));
      if (shown !== undefined) object[field.name] = shown;
    }
    return object;
  }

  /** What the field shows; undefined when it is left out. */
  #field(field: Field, given: unknown, place: Place): unknown {
    const value = given === null ? null : this.#value(field.type, given, place);
    if (field.pointer) return value === null && field.omitEmpty ? undefined : value;
    const plain = isPlain(field.type);
    if (value !== null && !(plain && isEmpty(value))) return value;
    if (field.omitZero || (field.omitEmpty && plain)) return undefined;
    return value !== null && field.type.kind === "scalar" ? value : this.#zero(field.type, place);
  }

  /** The value in its canonical form; null where Go would hold a zero that shows as null. */
  #value(type: TypeRef, value: unknown, place: Place): unknown {
    if (value === null) return this.#zero(type, place);
    if (place.depth > MAX_DEPTH) throw this.#refusal("exceeded max depth");
    switch (type.kind) {
      case "scalar":
        return this.#scalar(type.name, value, place);
      case "special":
        return this.#special(type.name, value, place);
      case "struct":
        return this.struct(knownStruct(type.key), value, place);
      case "items":
        return this.#list({ kind: "scalar", name: "string" }, value, place);
      case "list":
        return this.#list(type.of, value, place);
      case "map":
        return this.#map(type.of, value, place);
    }
  }

  #list(of: TypeRef, value: unknown, place: Place): unknown[] {
    if (!Array.isArray(value)) throw this.#mismatch(value, `[]${goName(of)}`, place);
    return value.map((item, index) => this.#value(of, item, step(place, `[${index}]`)));
  }

  #map(of: TypeRef, value: unknown, place: Place): Record<string, unknown> {
    if (!isObject(value)) throw this.#mismatch(value, `map[string]${goName(of)}`, place);
    const copy: Record<string, unknown> = {};
    for (const key of Object.keys(value).sort()) put(copy, key, this.#value(of, value[key], step(place, `.${key}`)));
    return copy;
  }

  #scalar(name: string, value: unknown, place: Place): unknown {
    switch (name) {
      case "int32":
      case "int64":
        return this.#integer(name, value, place);
      case "bytes":
        return this.#bytes(value, place);
      case "float64":
        if (typeof value === "number") return value;
        if (typeof value === "bigint") return Number(value);
        throw this.#mismatch(value, name, place);
      default:
        if (typeof value === (name === "bool" ? "boolean" : "string")) return value;
        throw this.#mismatch(value, name, place);
    }
  }

  #integer(name: "int32" | "int64", value: unknown, place: Place): number | bigint {
    if (typeof value === "number" && Number.isInteger(value)) {
      if (name === "int32" ? value <= MAX_INT32 && value >= -MAX_INT32 - 1 : Number.isSafeInteger(value)) {
        return value === 0 ? 0 : value; // not -0
      }
    }
    if (typeof value === "bigint" && name === "int64" && value <= MAX_INT64 && value >= -MAX_INT64 - 1n) {
      const number = Number(value);
      return Number.isSafeInteger(number) ? number : value;
    }
    throw this.#mismatch(value, name, place);
  }

  #bytes(value: unknown, place: Place): string {
    if (typeof value !== "string") throw this.#mismatch(value, "[]uint8", place);
    const text = /[\r\n]/.test(value) ? value.replace(/[\r\n]/g, "") : value;
    const body = text.replace(/={1,2}$/, "");
    const wrong = body.search(/[^A-Za-z0-9+/]/);
    if (wrong >= 0) throw this.#refusal(`illegal base64 data at input byte ${wrong}`);
    if (text.length % 4 !== 0)
      throw this.#refusal(`illegal base64 data at input byte ${body.length - (body.length % 4)}`);
    return Buffer.from(text, "base64").toString("base64");
  }

  #special(name: Special, value: unknown, place: Place): unknown {
    switch (name) {
      case "Time":
      case "MicroTime":
        return this.#time(name, value);
      case "Quantity":
        return this.#quantity(value);
      case "IntOrString":
        return typeof value === "string" ? value : this.#integer("int32", value, place);
      case "RawExtension":
      case "FieldsV1":
      case "JSON":
        return this.#raw(value, place);
      case "JSONSchemaPropsOrBool":
        return typeof value === "boolean" ? value : this.#schema(value, place);
      case "JSONSchemaPropsOrArray":
        return Array.isArray(value)
          ? value.map((item, index) => this.#schema(item, step(place, `[${index}]`)))
          : this.#schema(value, place);
      case "JSONSchemaPropsOrStringArray":
        return Array.isArray(value)
          ? this.#list({ kind: "scalar", name: "string" }, value, place)
          : this.#schema(value, place);
    }
  }

  #schema(value: unknown, place: Place): unknown {
    return this.struct(knownStruct(JSON_SCHEMA_PROPS), value, step(place, ""));
  }

  #time(name: "Time" | "MicroTime", value: unknown): string | null {
    if (typeof value !== "string") {
      throw this.#refusal(`json: cannot unmarshal ${jsonName(value)} into Go value of type string`);
    }
    const moment = name === "Time" ? readTime(value) : readMicroTime(value);
    if (!moment) throw this.#refusal(timeError(name, value));
    if (isZeroTime(moment)) return null;
    return name === "Time" ? showTime(moment) : showMicroTime(moment);
  }

  #quantity(value: unknown): string {
    const text = typeof value === "string" ? value.trim() : typeof value === "object" ? "" : String(value);
    const canonical = canonicalQuantity(text);
    if (canonical === undefined) throw this.#refusal(QUANTITY_ERROR);
    return canonical;
  }

  /** A copy of anything. */
  #raw(value: unknown, place: Place): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (place.depth > MAX_DEPTH) throw this.#refusal("exceeded max depth");
    if (Array.isArray(value)) return value.map((item) => this.#raw(item, step(place, "")));
    const copy: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(value)) put(copy, key, this.#raw(inner, step(place, "")));
    return copy;
  }

  /** What an unset value shows where it cannot be left out. */
  #zero(type: TypeRef, place: Place): unknown {
    switch (type.kind) {
      case "scalar":
        // Bytes in a map come back from the store as empty; in a field they were never there.
        if (type.name === "bytes") return place.owner ? null : "";
        return type.name === "string" ? "" : type.name === "bool" ? false : 0;
      case "special":
        return type.name === "Quantity" ? "0" : type.name === "IntOrString" ? 0 : null;
      case "struct":
        return this.struct(knownStruct(type.key), {}, place);
      default:
        return null; // also for an empty list, because protobuf cannot tell it from none
    }
  }

  #mismatch(value: unknown, type: string, place: Place | undefined): Error {
    const shown = typeof value === "number" || typeof value === "bigint" ? numberName(value, type) : jsonName(value);
    const owner = ownerOf(place);
    const target = owner ? `struct field ${owner.name}.${fieldPathOf(place)}` : "value";
    return this.#refusal(`json: cannot unmarshal ${shown} into Go ${target} of type ${type}`);
  }

  #refusal(text: string): Error {
    const { name, version } = this.#root;
    return badRequest(`${name} in version ${JSON.stringify(version)} cannot be handled as a ${name}: ${text}`);
  }
}

function timeError(name: "Time" | "MicroTime", text: string): string {
  const layout = name === "Time" ? "2006-01-02T15:04:05Z07:00" : "2006-01-02T15:04:05.000000Z07:00";
  const onlyDecimals = name === "MicroTime" && readTime(text) !== undefined;
  const [rest, wanted] = onlyDecimals ? [text.slice(19), ".000000"] : [text, "2006"];
  return `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${wanted}"`;
}

/** Whether omitempty applies: Go never takes a struct for empty. */
function isPlain(type: TypeRef): boolean {
  return type.kind !== "special" && type.kind !== "struct";
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === "" || value === 0 || value === false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

function step(up: Place | undefined, text: string, owner?: StructType): Place {
  return { up, text, owner, depth: (up?.depth ?? 0) + 1 };
}

function pathOf(place: Place | undefined): string {
  let path = "";
  for (let at = place; at; at = at.up) path = at.text + path;
  return path.replace(/^\./, "");
}

/** Like pathOf, but of fields only, as Go's decoder tells it. */
function fieldPathOf(place: Place | undefined): string {
  let path = "";
  for (let at = place; at; at = at.up) if (at.owner) path = at.text + path;
  return path.replace(/^\./, "");
}

function ownerOf(place: Place | undefined): StructType | undefined {
  for (let at = place; at; at = at.up) if (at.owner) return at.owner;
  return undefined;
}

function jsonName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

/** Go names the number only where a number was expected. */
function numberName(value: number | bigint, type: string): string {
  return /^(int|float)/.test(type) ? `number ${value}` : "number";
}

function goName(type: TypeRef): string {
  switch (type.kind) {
    case "scalar":
      return type.name === "bytes" ? "[]uint8" : type.name;
    case "special":
      return `v1.${type.name}`;
    case "struct": {
      const { version, name } = knownStruct(type.key);
      return `${version}.${name}`;
    }
    case "items":
      return "v1.ExtraValue";
    case "list":
      return `[]${goName(type.of)}`;
    case "map":
      return `map[string]${goName(type.of)}`;
  }
}

/** Sets a key that may be `__proto__`. */
function put(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}
