/**
 * OpenAPI v2, made of the same types and operations as v3. The older version has no alternatives, no null and one
 * body per operation; what it cannot say is left open, so that nobody refuses an object that the server takes.
 */
import { equal, isObject } from "#lib/json";
import { SPECIAL_NAMES } from "./names.ts";
import type { Schema } from "./schemas.ts";

/** Paths and types of one group version, as v3 shows them. */
export interface SwaggerPart {
  readonly paths: Readonly<Record<string, Schema>>;
  readonly schemas: Readonly<Record<string, Schema>>;
}

export interface Swagger {
  readonly swagger: "2.0";
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Schema>>;
  readonly definitions: Readonly<Record<string, Schema>>;
}

const GVK = "x-kubernetes-group-version-kind";
const V3_REF = "#/components/schemas/";
const METHODS = ["get", "put", "post", "delete", "patch"];

/** What both versions know under the same name and with the same meaning. */
const KEPT: ReadonlySet<string> = new Set([
  "format",
  "title",
  "description",
  "default",
  "multipleOf",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "pattern",
  "maxItems",
  "minItems",
  "uniqueItems",
  "maxProperties",
  "minProperties",
  "required",
  "enum",
  "type",
  "example",
]);

/** Two types that v3 shows as alternatives; every client knows that these strings may be numbers. */
const ALTERNATIVES = new Map<string, Schema>([
  [SPECIAL_NAMES.Quantity, { type: "string" }],
  [SPECIAL_NAMES.IntOrString, { type: "string", format: "int-or-string" }],
]);

export function swaggerOf(parts: readonly SwaggerPart[]): Swagger {
  const paths: Record<string, Schema> = {};
  const definitions = new Map<string, Schema>();
  for (const part of parts) {
    for (const [path, item] of Object.entries(part.paths)) paths[path] = pathItem(item);
    for (const [name, schema] of Object.entries(part.schemas)) {
      const known = definitions.get(name);
      definitions.set(name, known ? withKindsOf(known, schema) : (ALTERNATIVES.get(name) ?? definitionOf(schema)));
    }
  }
  return {
    swagger: "2.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths,
    definitions: Object.fromEntries([...definitions].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Options are of every group version that they are sent to: where v3 has many documents, v2 has one list. */
function withKindsOf(known: Schema, other: Schema): Schema {
  const kinds = known[GVK];
  const more = other[GVK];
  if (!Array.isArray(kinds) || !Array.isArray(more)) return known;
  const added = more.filter((kind) => !kinds.some((each) => equal(each, kind)));
  return added.length === 0 ? known : { ...known, [GVK]: [...kinds, ...added] };
}

/** A custom kind that keeps unknown fields is an object of which nothing more is said, or kubectl would refuse them. */
function definitionOf(schema: Schema): Schema {
  if (schema["x-kubernetes-preserve-unknown-fields"] !== true) return swaggerSchema(schema);
  return { type: "object", ...(schema[GVK] !== undefined && { [GVK]: schema[GVK] }) };
}

/** One type in the words of v2. */
export function swaggerSchema(schema: Schema): Schema {
  const reference = referenceIn(schema);
  if (reference !== undefined) return { $ref: reference, ...extensionsOf(schema, ["default", "description"]) };
  const result: Schema = extensionsOf(schema, KEPT);

  // Clients of v2 refuse every value of a type that may also be null, and every field that they do not know, so
  // they are told nothing of what is inside.
  if (schema.nullable === true) {
    delete result.type;
    return result;
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] !== true) {
    const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    if (properties.length > 0) result.properties = mapped(properties);
    if (isObject(schema.items)) result.items = swaggerSchema(schema.items);
  }
  if (isObject(schema.additionalProperties)) result.additionalProperties = swaggerSchema(schema.additionalProperties);
  else if (typeof schema.additionalProperties === "boolean") result.additionalProperties = schema.additionalProperties;
  if (result.type === "array" && result.items === undefined) delete result.type; // an array must say of what
  return result;
}

function mapped(properties: readonly [string, unknown][]): Schema {
  return Object.fromEntries(properties.map(([name, schema]) => [name, swaggerSchema(isObject(schema) ? schema : {})]));
}

/** v3 wraps a reference when something stands beside it; in v2 it may stand there. */
function referenceIn({ $ref, allOf }: Schema): string | undefined {
  const [only, ...more] = Array.isArray(allOf) ? (allOf as Schema[]) : [];
  const reference = $ref ?? (more.length === 0 ? only?.$ref : undefined);
  return typeof reference === "string" ? reference.replace(V3_REF, "#/definitions/") : undefined;
}

function extensionsOf(schema: Schema, kept: Iterable<string>): Schema {
  const names = new Set(kept);
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key.startsWith("x-") || names.has(key)));
}

function pathItem(item: Schema): Schema {
  const operations = METHODS.flatMap((method) => {
    const operation = item[method];
    return isObject(operation) ? [[method, swaggerOperation(operation)]] : [];
  });
  return { ...Object.fromEntries(operations), parameters: parametersOf(item) };
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly required?: boolean;
  readonly description?: string;
}

function swaggerOperation(operation: Schema): Schema {
  const { tags, operationId } = operation;
  const body = operation.requestBody as Content | undefined;
  const responses = Object.entries((operation.responses ?? {}) as Record<string, Content>);
  const produced = responses.find(([, { content }]) => content)?.[1].content ?? {};
  return {
    tags,
    operationId,
    ...(body?.content && { consumes: Object.keys(body.content) }),
    produces: Object.keys(produced),
    parameters: [...(body ? [bodyParameter(body)] : []), ...parametersOf(operation)],
    responses: Object.fromEntries(responses.map(([code, response]) => [code, swaggerResponse(response)])),
    ...extensionsOf(operation, []),
  };
}

function bodyParameter(body: Content): Schema {
  return { name: "body", in: "body", ...(body.required && { required: true }), schema: schemaIn(body) };
}

function swaggerResponse(response: Content): Schema {
  return { description: response.description ?? "", ...(response.content && { schema: schemaIn(response) }) };
}

/** All media types have one schema. */
function schemaIn({ content = {} }: Content): Schema {
  const [first] = Object.values(content);
  return first ? swaggerSchema(first.schema) : {};
}

function parametersOf({ parameters }: Schema): Schema[] {
  return ((parameters ?? []) as Schema[]).map(({ schema, ...parameter }) => ({ ...parameter, ...(schema as Schema) }));
}
