import { isObject, stringifyJson } from "#lib/json";
import { sealEnvelope } from "./envelope.ts";
import { JSON_SCHEMA_PROPS, knownStruct, type Special, type TypeRef, typeOf } from "./table.ts";
import { readTime } from "./time.ts";
import { WireWriter } from "./wire.ts";

const encoder = new TextEncoder();

/** Writes a normalized object of a built-in kind as a Kubernetes protobuf message, with its envelope. */
export function encodeProtobuf(object: Record<string, unknown>): Uint8Array {
  const apiVersion = String(object.apiVersion ?? "");
  const kind = String(object.kind ?? "");
  const slash = apiVersion.indexOf("/");
  const typeKey = typeOf(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), kind);
  if (!typeKey) throw new Error(`${apiVersion} ${kind} is not a built-in kind`);
  const writer = new WireWriter();
  writeStruct(writer, typeKey, object);
  return sealEnvelope({ apiVersion, kind, raw: writer.finish() });
}

/** One event of a watch. Unlike the object in it, an event comes without an envelope. */
export function encodeWatchEvent(type: string, object: Record<string, unknown>): Uint8Array {
  const writer = new WireWriter();
  writer.string(1, type);
  writer.message(2, (rawExtension) => rawExtension.bytes(1, encodeProtobuf(object)));
  return writer.finish();
}

/** As Go writes it: what is not a pointer, a list or a map is there even when it is zero. */
function writeStruct(writer: WireWriter, typeKey: string, object: Record<string, unknown>): void {
  const { own, inlined } = knownStruct(typeKey);
  for (const { number, key } of inlined) {
    if (number !== null) writer.message(number, (inner) => writeStruct(inner, key, object));
  }
  for (const { name, number, type, pointer } of own) {
    if (number === null) continue;
    const value = Object.hasOwn(object, name) ? object[name] : undefined;
    if (value !== undefined && value !== null) writeField(writer, number, type, value);
    else if (!pointer) writeZero(writer, number, type);
  }
}

function writeField(writer: WireWriter, number: number, type: TypeRef, value: unknown): void {
  if (type.kind === "list") {
    for (const item of value as unknown[]) writeValue(writer, number, type.of, item);
  } else if (type.kind === "map") {
    for (const [key, inner] of Object.entries(value as Record<string, unknown>)) {
      writer.message(number, (entry) => {
        entry.string(1, key);
        writeValue(entry, 2, type.of, inner);
      });
    }
  } else {
    writeValue(writer, number, type, value);
  }
}

function writeZero(writer: WireWriter, number: number, type: TypeRef): void {
  if (type.kind === "struct") writer.message(number, (inner) => writeStruct(inner, type.key, {}));
  else if (type.kind === "special") writer.message(number, (inner) => writeSpecial(inner, type.name, null));
  else if (type.kind === "scalar" && type.name === "string") writer.string(number, "");
  else if (type.kind === "scalar" && type.name === "float64") writer.double(number, 0);
  else if (type.kind === "scalar" && type.name !== "bytes") writer.integer(number, 0);
}

function writeValue(writer: WireWriter, number: number, type: TypeRef, value: unknown): void {
  switch (type.kind) {
    case "scalar":
      if (type.name === "string") writer.string(number, String(value));
      else if (type.name === "bytes") writer.bytes(number, Buffer.from(String(value), "base64"));
      else if (type.name === "float64") writer.double(number, Number(value));
      else writer.integer(number, typeof value === "bigint" ? value : Number(value));
      return;
    case "struct":
      writer.message(number, (inner) => writeStruct(inner, type.key, isObject(value) ? value : {}));
      return;
    case "special":
      writer.message(number, (inner) => writeSpecial(inner, type.name, value));
      return;
    default:
      writer.message(number, (inner) => {
        for (const item of Array.isArray(value) ? value : []) inner.string(1, String(item));
      });
  }
}

function writeSpecial(writer: WireWriter, name: Special, value: unknown): void {
  switch (name) {
    case "Time":
    case "MicroTime": {
      const moment = typeof value === "string" ? readTime(value) : undefined;
      if (!moment) return;
      writer.integer(1, moment.seconds);
      writer.integer(2, moment.nanos);
      return;
    }
    case "Quantity":
      writer.string(1, String(value ?? "0"));
      return;
    case "IntOrString":
      writer.integer(1, typeof value === "string" ? 1 : 0);
      writer.integer(2, typeof value === "string" ? 0 : Number(value ?? 0));
      writer.string(3, typeof value === "string" ? value : "");
      return;
    case "RawExtension":
    case "FieldsV1":
    case "JSON":
      if (value !== null) writer.bytes(1, encoder.encode(stringifyJson(value)));
      return;
    case "JSONSchemaPropsOrBool":
      writer.integer(1, value === false ? 0 : 1);
      if (isObject(value)) writer.message(2, (inner) => writeStruct(inner, JSON_SCHEMA_PROPS, value));
      return;
    default:
      writeSchemaOrList(writer, value);
  }
}

/** A schema, or in its place several schemas or names. */
function writeSchemaOrList(writer: WireWriter, value: unknown): void {
  if (isObject(value)) writer.message(1, (inner) => writeStruct(inner, JSON_SCHEMA_PROPS, value));
  for (const item of Array.isArray(value) ? value : []) {
    if (typeof item === "string") writer.string(2, item);
    else writer.message(2, (inner) => writeStruct(inner, JSON_SCHEMA_PROPS, item));
  }
}
