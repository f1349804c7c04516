/** Types from OpenAPI schemas, as Kubernetes gives them to rules. */
import type { OpenApiSchema } from "#api/schema";
import { BOOL, type CelType, DYN, type ObjectField, type Sizes } from "./types.ts";

/** The largest request a server reads; whatever has no bound of its own is bounded by it. */
export const LARGEST_REQUEST = 3 * 1024 * 1024;

/** Lengths of values as JSON, with their quotes. */
const TEXT_JSON = 2;
const BOOL_JSON = 4;
const NUMBER_JSON = 1;
const DATE_JSON = 12;
const DATE_TIME_JSON = 21;
const DURATION_JSON = 3;
const LONGEST_TIME = 32;

export interface SchemaTypeOptions {
  /** The type's name; nested objects are named after it. */
  readonly name?: string;
  /** The root of an object, or an embedded one: kind, apiVersion and the names in metadata are always there. */
  readonly isResource?: boolean;
  /** Objects that keep unknown fields show them as dyn; Kubernetes hides them. */
  readonly showsUnknown?: boolean;
}

/** The type of values of a schema; undefined where the schema says too little to write rules about it. */
export function typeFromSchema(schema: OpenApiSchema, options: SchemaTypeOptions = {}): CelType | undefined {
  const { name = "object", isResource = false, showsUnknown = false } = options;
  if (schema["x-kubernetes-int-or-string"]) {
    return { kind: "dyn", sizes: { largest: bytesOf(schema.maxLength) ?? LARGEST_REQUEST - 2, smallestJson: 1 } };
  }
  const inner = (part: OpenApiSchema, suffix: string): CelType | undefined =>
    typeFromSchema(part, {
      name: `${name}.${suffix}`,
      isResource: part["x-kubernetes-embedded-resource"] === true,
      showsUnknown,
    });
  switch (schema.type) {
    case "array":
      return listType(schema, inner);
    case "object":
      return objectOrMap(isResource ? asResource(schema) : schema, name, inner, showsUnknown);
    case "string":
      return textType(schema);
    case "boolean":
      return { ...BOOL, sizes: { largest: 0, smallestJson: BOOL_JSON } };
    case "number":
      return { kind: "double", sizes: { largest: 0, smallestJson: NUMBER_JSON } };
    case "integer":
      return { kind: "int", sizes: { largest: 0, smallestJson: NUMBER_JSON } };
    default:
      return showsUnknown && schema["x-kubernetes-preserve-unknown-fields"] ? DYN : undefined;
  }
}

type Inner = (part: OpenApiSchema, suffix: string) => CelType | undefined;

function listType(schema: OpenApiSchema, inner: Inner): CelType | undefined {
  const element = schema.items && inner(schema.items, "@idx");
  if (!element) return undefined;
  const listType = schema["x-kubernetes-list-type"];
  return {
    kind: "list",
    element,
    sizes: {
      largest: Math.max(0, schema.maxItems ?? Math.floor((LARGEST_REQUEST - 2) / (smallest(element) + 1))),
      smallestJson: 2,
    },
    ...((listType === "set" || listType === "map") && { listType }),
    ...(listType === "map" && { mapKeys: schema["x-kubernetes-list-map-keys"] ?? [] }),
  };
}

function objectOrMap(schema: OpenApiSchema, name: string, inner: Inner, showsUnknown: boolean): CelType | undefined {
  const { additionalProperties: additional, properties = {}, required = [] } = schema;
  const isOpen = showsUnknown && (schema["x-kubernetes-preserve-unknown-fields"] === true || additional === true);
  if (typeof additional === "object") {
    const value = inner(additional, "@elem");
    if (!value) return undefined;
    const largest = schema.maxProperties ?? Math.floor((LARGEST_REQUEST - 2) / (smallest(value) + 6));
    const key: CelType = { kind: "string", sizes: { largest: 0, smallestJson: TEXT_JSON } };
    return { kind: "map", key, value, sizes: { largest: Math.max(0, largest), smallestJson: 2 } };
  }
  const fields = new Map<string, ObjectField>();
  let smallestJson = 2;
  for (const [jsonName, part] of Object.entries(properties)) {
    const type = inner(part, jsonName);
    if (!type) continue;
    const escaped = escapeName(jsonName);
    if (escaped !== undefined) {
      const field = { type, jsonName, ...(part.nullable && { nullable: true }) };
      fields.set(escaped, field);
      // Words that are reserved as variables are still fine after a dot.
      if (showsUnknown && escaped === `__${jsonName}__`) fields.set(jsonName, field);
    }
    if (required.includes(jsonName) && !Object.hasOwn(part, "default"))
      smallestJson += jsonName.length + smallest(type) + 4;
  }
  return { kind: "object", name, fields, open: isOpen, sizes: { largest: 0, smallestJson } };
}

function textType({ format, maxLength, enum: allowed }: OpenApiSchema): CelType {
  const sizes = (largest: number, smallestJson: number): Sizes => ({ largest, smallestJson });
  switch (format) {
    case "byte":
      return {
        kind: "bytes",
        sizes: sizes(maxLength === undefined ? LARGEST_REQUEST - 2 : Math.max(0, maxLength), TEXT_JSON),
      };
    case "duration":
      return { kind: "duration", sizes: sizes(LONGEST_TIME, DURATION_JSON) };
    case "date":
      return { kind: "timestamp", sizes: sizes(DATE_JSON, DATE_JSON) };
    case "date-time":
      return { kind: "timestamp", sizes: sizes(LONGEST_TIME, DATE_TIME_JSON) };
    default: {
      const longest = allowed?.map((value) => (typeof value === "string" ? Buffer.byteLength(value) : 0)) ?? [];
      const bound = longest.length > 0 ? Math.max(...longest) : LARGEST_REQUEST - 2;
      return { kind: "string", sizes: sizes(bytesOf(maxLength) ?? bound, TEXT_JSON) };
    }
  }
}

/** A length in characters as a length in bytes: up to four each. */
function bytesOf(maxLength: number | undefined): number | undefined {
  return maxLength === undefined ? undefined : Math.max(0, maxLength) * 4;
}

function smallest({ sizes }: CelType): number {
  return sizes?.smallestJson ?? 1;
}

/** The schema with what every Kubernetes object has. */
export function asResource(schema: OpenApiSchema): OpenApiSchema {
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  const hasAll =
    kind?.type === "string" &&
    apiVersion?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties?.name?.type === "string" &&
    metadata.properties.generateName?.type === "string";
  if (hasAll) return schema;
  const text: OpenApiSchema = { type: "string" };
  return {
    ...schema,
    properties: {
      ...schema.properties,
      kind: text,
      apiVersion: text,
      metadata: { type: "object", properties: { name: text, generateName: text } },
    },
  };
}

const RESERVED: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return".split(" "),
);

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);

/** The identifier that stands for a property; undefined where none can. */
export function escapeName(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replace(/__|[./-]/g, (found) => ESCAPES.get(found) ?? found);
}
