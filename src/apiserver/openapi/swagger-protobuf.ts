/**
 * OpenAPI v2 as the protobuf message `openapi.v2.Document` of gnostic, which is the only form in which Go clients
 * ask for it. Every function writes one message; the numbers are those of its fields.
 */
import { isObject, stringifyJson } from "#lib/json";
import { WireWriter } from "../types/index.ts";
import type { Schema } from "./schemas.ts";
import type { Swagger } from "./swagger.ts";

export function encodeSwagger({ swagger, info, paths, definitions }: Swagger): Uint8Array {
  const document = new WireWriter();
  document.string(1, swagger);
  document.message(2, (out) => {
    out.string(1, info.title);
    out.string(2, info.version);
  });
  document.message(8, (out) => named(out, 2, paths, pathItem));
  document.message(9, (out) => named(out, 1, definitions, schema));
  return document.finish();
}

type Write = (out: WireWriter, value: Schema) => void;

/** A map, written as a list of names with their values. */
function named(out: WireWriter, number: number, values: Readonly<Record<string, unknown>>, write: Write): void {
  for (const [name, value] of Object.entries(values)) {
    out.message(number, (entry) => {
      entry.string(1, name);
      entry.message(2, (inner) => write(inner, isObject(value) ? value : {}));
    });
  }
}

const OPERATIONS = [
  ["get", 2],
  ["put", 3],
  ["post", 4],
  ["delete", 5],
  ["patch", 8],
] as const;

function pathItem(out: WireWriter, item: Schema): void {
  for (const [method, number] of OPERATIONS) {
    const value = item[method];
    if (isObject(value)) out.message(number, (inner) => operation(inner, value));
  }
  for (const each of listOf(item.parameters)) out.message(9, (inner) => parameter(inner, each));
}

function operation(out: WireWriter, value: Schema): void {
  texts(out, 1, value.tags);
  text(out, 5, value.operationId);
  texts(out, 6, value.produces);
  texts(out, 7, value.consumes);
  for (const each of listOf(value.parameters)) out.message(8, (inner) => parameter(inner, each));
  out.message(9, (responses) =>
    named(responses, 1, isObject(value.responses) ? value.responses : {}, (choice, each) =>
      choice.message(1, (inner) => response(inner, each)),
    ),
  );
  extensions(out, 13, value);
}

function response(out: WireWriter, { description, schema: body }: Schema): void {
  text(out, 1, description);
  if (isObject(body)) out.message(2, (choice) => choice.message(1, (inner) => schema(inner, body)));
}

/** The choice between a parameter and a reference to one, then between a body and the rest, then by place. */
function parameter(out: WireWriter, value: Schema): void {
  out.message(1, (choice) => {
    if (value.in === "body") choice.message(1, (inner) => bodyParameter(inner, value));
    else
      choice.message(2, (place) => place.message(value.in === "path" ? 4 : 3, (inner) => plainParameter(inner, value)));
  });
}

function bodyParameter(out: WireWriter, { name, in: place, required, schema: body }: Schema): void {
  text(out, 2, name);
  text(out, 3, place);
  flag(out, 4, required);
  if (isObject(body)) out.message(5, (inner) => schema(inner, body));
}

/** The message of a query parameter has one field more, so that what follows it is shifted. */
function plainParameter(out: WireWriter, { required, in: place, name, type, uniqueItems }: Schema): void {
  const shift = place === "path" ? 0 : 1;
  flag(out, 1, required);
  text(out, 2, place);
  text(out, 4, name);
  text(out, 5 + shift, type);
  flag(out, 19 + shift, uniqueItems);
}

function schema(out: WireWriter, value: Schema): void {
  text(out, 1, value.$ref);
  text(out, 2, value.format);
  text(out, 3, value.title);
  text(out, 4, value.description);
  any(out, 5, value.default);
  double(out, 6, value.multipleOf);
  double(out, 7, value.maximum);
  flag(out, 8, value.exclusiveMaximum);
  double(out, 9, value.minimum);
  flag(out, 10, value.exclusiveMinimum);
  integer(out, 11, value.maxLength);
  integer(out, 12, value.minLength);
  text(out, 13, value.pattern);
  integer(out, 14, value.maxItems);
  integer(out, 15, value.minItems);
  flag(out, 16, value.uniqueItems);
  integer(out, 17, value.maxProperties);
  integer(out, 18, value.minProperties);
  texts(out, 19, value.required);
  for (const each of Array.isArray(value.enum) ? value.enum : []) any(out, 20, each);
  const { additionalProperties, items, properties } = value;
  if (isObject(additionalProperties)) {
    out.message(21, (choice) => choice.message(1, (inner) => schema(inner, additionalProperties)));
  } else if (typeof additionalProperties === "boolean") {
    out.message(21, (choice) => choice.integer(2, additionalProperties ? 1 : 0));
  }
  if (typeof value.type === "string") out.message(22, (inner) => text(inner, 1, value.type));
  if (isObject(items)) out.message(23, (list) => list.message(1, (inner) => schema(inner, items)));
  if (isObject(properties)) out.message(25, (inner) => named(inner, 1, properties, schema));
  any(out, 30, value.example);
  extensions(out, 31, value);
}

function extensions(out: WireWriter, number: number, value: Schema): void {
  for (const [name, extension] of Object.entries(value)) {
    if (!name.startsWith("x-")) continue;
    out.message(number, (entry) => {
      entry.string(1, name);
      any(entry, 2, extension);
    });
  }
}

/** Any value, as YAML; JSON is YAML. */
function any(out: WireWriter, number: number, value: unknown): void {
  if (value !== undefined) out.message(number, (inner) => inner.string(2, stringifyJson(value)));
}

function text(out: WireWriter, number: number, value: unknown): void {
  if (typeof value === "string" && value !== "") out.string(number, value);
}

function texts(out: WireWriter, number: number, values: unknown): void {
  for (const value of Array.isArray(values) ? values : []) out.string(number, String(value));
}

function flag(out: WireWriter, number: number, value: unknown): void {
  if (value === true) out.integer(number, 1);
}

function integer(out: WireWriter, number: number, value: unknown): void {
  if (Number.isSafeInteger(value)) out.integer(number, value as number);
}

function double(out: WireWriter, number: number, value: unknown): void {
  if (typeof value === "number") out.double(number, value);
}

function listOf(value: unknown): Schema[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
