/** A schema, compiled: what a walk over an object needs at each field, looked up once instead of every time. */
import type { OpenApiSchema } from "#api/schema";
import { type Rule, rulesOf } from "./rules.ts";

export type JsonType = "object" | "array" | "string" | "integer" | "number" | "boolean";

export interface Node {
  /** Undefined where anything goes: unknown fields are preserved, or a junctor only adds rules. */
  readonly type: JsonType | undefined;
  readonly intOrString: boolean;
  readonly nullable: boolean;
  readonly preserve: boolean;
  readonly embedded: boolean;
  readonly properties: ReadonlyMap<string, Node>;
  /** What fields not in `properties` look like; true for any. */
  readonly additional: Node | true | undefined;
  readonly items: Node | undefined;
  readonly default: { readonly value: unknown } | undefined;
  /** The properties that have a default. */
  readonly defaulted: readonly (readonly [string, Node])[];
  readonly listType: "set" | "map" | undefined;
  readonly mapKeys: readonly string[];
  readonly rules: readonly Rule[];
  readonly allOf: readonly Node[];
  readonly anyOf: readonly Node[];
  readonly oneOf: readonly Node[];
  readonly not: Node | undefined;
}

/** Compiles a schema that is known to be structural. `index`, where given, collects the node of every schema. */
export function compileSchema(schema: OpenApiSchema, index?: Map<OpenApiSchema, Node>): Node {
  const compile = (inner: OpenApiSchema): Node => compileSchema(inner, index);
  const properties = new Map(Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, compile(inner)]));
  const { additionalProperties: additional } = schema;
  const listType = schema["x-kubernetes-list-type"];
  const node: Node = {
    type: schema.type as JsonType | undefined,
    intOrString: schema["x-kubernetes-int-or-string"] === true,
    nullable: schema.nullable === true,
    preserve: schema["x-kubernetes-preserve-unknown-fields"] === true,
    embedded: schema["x-kubernetes-embedded-resource"] === true,
    properties,
    additional: typeof additional === "object" ? compile(additional) : additional || undefined,
    items: schema.items && compile(schema.items),
    default: Object.hasOwn(schema, "default") ? { value: schema.default } : undefined,
    defaulted: [...properties].filter(([, inner]) => inner.default !== undefined),
    listType: listType === "set" || listType === "map" ? listType : undefined,
    mapKeys: schema["x-kubernetes-list-map-keys"] ?? [],
    rules: rulesOf(schema),
    allOf: (schema.allOf ?? []).map(compile),
    anyOf: (schema.anyOf ?? []).map(compile),
    oneOf: (schema.oneOf ?? []).map(compile),
    not: schema.not && compile(schema.not),
  };
  index?.set(schema, node);
  return node;
}
