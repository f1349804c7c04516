import { parseJson } from "#lib/json";
import { badRequest } from "../errors.ts";
import { isEnvelope, openEnvelope } from "./envelope.ts";
import { normalize } from "./normalize.ts";
import { type Field, JSON_SCHEMA_PROPS, knownStruct, type Special, type TypeRef, typeOf } from "./table.ts";
import { isShowable, showMicroTime, showTime } from "./time.ts";
import { malformed, WireReader, WireType } from "./wire.ts";

export interface Decoded {
  apiVersion: string;
  kind: string;
  object: Record<string, unknown>;
}

/** No built-in type nests deeper, except schemas, and those not by honest hands. */
const MAX_DEPTH = 100;

/** Reads a Kubernetes protobuf body into what its JSON would be; throws ApiError 400 for anything else. */
export function decodeProtobuf(bytes: Uint8Array): Decoded {
  return decodeEnvelope(bytes, 0);
}

function decodeEnvelope(bytes: Uint8Array, depth: number): Decoded {
  const { apiVersion, kind, raw } = openEnvelope(bytes);
  const slash = apiVersion.indexOf("/");
  const typeKey = typeOf(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind);
  if (!typeKey) {
    throw badRequest(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  }
  const message = structFrom(typeKey, new WireReader(raw), depth);
  const { object } = normalize(typeKey, { ...message, apiVersion, kind });
  return { apiVersion, kind, object };
}

/** What a field number of a message stands for. */
type Slot = { field: Field } | { inlined: string };

const slots = new Map<string, ReadonlyMap<number, Slot>>();

function slotsOf(typeKey: string): ReadonlyMap<number, Slot> {
  const known = slots.get(typeKey);
  if (known) return known;
  const { own, inlined } = knownStruct(typeKey);
  const made = new Map<number, Slot>();
  for (const field of own) if (field.number !== null) made.set(field.number, { field });
  for (const { number, key } of inlined) if (number !== null) made.set(number, { inlined: key });
  slots.set(typeKey, made);
  return made;
}

function structFrom(typeKey: string, reader: WireReader, depth: number): Record<string, unknown> {
  if (depth > MAX_DEPTH) throw malformed("messages are nested too deeply");
  const known = slotsOf(typeKey);
  const object: Record<string, unknown> = {};
  while (!reader.done) {
    const { number, wire } = reader.tag();
    const slot = known.get(number);
    if (!slot) reader.skip(wire);
    else if ("field" in slot) readField(object, slot.field, reader, wire, depth);
    else {
      expectWire(wire, WireType.bytes, typeKey);
      Object.assign(object, structFrom(slot.inlined, reader.message(), depth + 1));
    }
  }
  return object;
}

function readField(
  object: Record<string, unknown>,
  field: Field,
  reader: WireReader,
  wire: number,
  depth: number,
): void {
  const { name, type } = field;
  if (type.kind === "list") {
    object[name] ??= [];
    const list = object[name] as unknown[];
    if (wire === WireType.bytes && isVarint(type.of)) {
      const packed = reader.message();
      while (!packed.done) list.push(valueFrom(type.of, packed, WireType.varint, name, depth));
    } else {
      list.push(valueFrom(type.of, reader, wire, name, depth));
    }
  } else if (type.kind === "map") {
    expectWire(wire, WireType.bytes, name);
    object[name] ??= {};
    const map = object[name] as Record<string, unknown>;
    const [key, value] = entryFrom(type.of, reader.message(), name, depth);
    Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[name] = valueFrom(type, reader, wire, name, depth);
  }
}

function entryFrom(type: TypeRef, reader: WireReader, name: string, depth: number): [string, unknown] {
  let key = "";
  let value: unknown = null;
  while (!reader.done) {
    const { number, wire } = reader.tag();
    if (number === 1) {
      expectWire(wire, WireType.bytes, name);
      key = reader.string();
    } else if (number === 2) value = valueFrom(type, reader, wire, name, depth);
    else reader.skip(wire);
  }
  return [key, value];
}

function valueFrom(type: TypeRef, reader: WireReader, wire: number, name: string, depth: number): unknown {
  if (type.kind === "scalar") {
    switch (type.name) {
      case "bool":
        expectWire(wire, WireType.varint, name);
        return reader.integer() !== 0;
      case "int32":
        expectWire(wire, WireType.varint, name);
        return toInt32(reader.integer());
      case "int64":
        expectWire(wire, WireType.varint, name);
        return reader.integer();
      case "float64":
        expectWire(wire, WireType.fixed64, name);
        return reader.double();
      case "bytes":
        expectWire(wire, WireType.bytes, name);
        return base64(reader.bytes());
      case "string":
        expectWire(wire, WireType.bytes, name);
        return reader.string();
    }
  }
  expectWire(wire, WireType.bytes, name);
  const message = reader.message();
  if (type.kind === "struct") return structFrom(type.key, message, depth + 1);
  if (type.kind === "special") return specialFrom(type.name, message, depth + 1);
  if (type.kind === "items") return itemsFrom(message);
  throw malformed(`field ${name} cannot hold lists of lists`);
}

function specialFrom(name: Special, reader: WireReader, depth: number): unknown {
  if (depth > MAX_DEPTH) throw malformed("messages are nested too deeply");
  switch (name) {
    case "Time":
    case "MicroTime":
      return timeFrom(name, reader);
    case "Quantity": {
      const { 1: text } = scan(reader, { 1: (value) => value.string() });
      return text ?? "0";
    }
    case "IntOrString": {
      const {
        1: isString,
        2: number,
        3: text,
      } = scan(reader, { 1: integer, 2: integer, 3: (value) => value.string() });
      return isString === 1 ? (text ?? "") : toInt32((number ?? 0) as number | bigint);
    }
    case "RawExtension":
    case "FieldsV1":
    case "JSON": {
      const { 1: raw } = scan(reader, { 1: (value) => value.bytes() });
      return rawFrom(raw as Uint8Array | undefined, depth);
    }
    case "JSONSchemaPropsOrBool": {
      const { 1: allows, 2: one } = scan(reader, { 1: integer, 2: schema(depth) });
      return one ?? (allows !== undefined && allows !== 0);
    }
    case "JSONSchemaPropsOrArray": {
      const many: unknown[] = [];
      const { 1: one } = scan(reader, { 1: schema(depth), 2: (value) => many.push(schema(depth)(value)) });
      return one ?? many;
    }
    case "JSONSchemaPropsOrStringArray": {
      const many: string[] = [];
      const { 1: one } = scan(reader, { 1: schema(depth), 2: (value) => many.push(value.string()) });
      return one ?? many;
    }
  }
}

type Read = (reader: WireReader) => unknown;

/** Every wire type of a small message is known from how it is read: integers are varints, the rest have a length. */
const integer: Read = (reader) => reader.integer();

function schema(depth: number): Read {
  return (reader) => structFrom(JSON_SCHEMA_PROPS, reader.message(), depth + 1);
}

/** Reads a small message: the last value of every field that has a reader. */
function scan(reader: WireReader, readers: Record<number, Read>): Record<number, unknown> {
  const values: Record<number, unknown> = {};
  while (!reader.done) {
    const { number, wire } = reader.tag();
    const read = readers[number];
    if (!read) {
      reader.skip(wire);
      continue;
    }
    expectWire(wire, read === integer ? WireType.varint : WireType.bytes, String(number));
    values[number] = read(reader);
  }
  return values;
}

/** An empty message is the zero time. */
function timeFrom(name: "Time" | "MicroTime", reader: WireReader): string | null {
  if (reader.done) return null;
  const { 1: seconds, 2: nanos } = scan(reader, { 1: integer, 2: integer });
  const moment = { seconds: Number(seconds ?? 0), nanos: Number(nanos ?? 0) };
  if (!isShowable(moment)) throw malformed("a time is outside of the years 1 to 9999");
  return name === "Time" ? showTime(moment) : showMicroTime(moment);
}

function itemsFrom(reader: WireReader): string[] {
  const items: string[] = [];
  scan(reader, { 1: (value) => items.push(value.string()) });
  return items;
}

/** Raw bytes hold JSON, or, inside lists, another Kubernetes protobuf message. */
function rawFrom(raw: Uint8Array | undefined, depth: number): unknown {
  if (!raw || raw.length === 0) return null;
  if (isEnvelope(raw)) return decodeEnvelope(raw, depth).object;
  try {
    return parseJson(new TextDecoder().decode(raw));
  } catch (error) {
    if (error instanceof SyntaxError) throw malformed(`embedded JSON: ${error.message}`);
    throw error;
  }
}

function isVarint(type: TypeRef): boolean {
  return type.kind === "scalar" && (type.name === "bool" || type.name === "int32" || type.name === "int64");
}

function toInt32(value: number | bigint): number {
  return typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : value | 0;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function expectWire(wire: number, expected: number, name: string): void {
  if (wire !== expected) throw malformed(`wrong wireType = ${wire} for field ${name}`);
}
