/**
 * How Capstan writes down the shape of its own kinds, once: the same expression gives the TypeScript type
 * (`Infer`) and the OpenAPI schema of the CustomResourceDefinition, so that the two cannot differ.
 */

/** OpenAPI v3 as CustomResourceDefinitions use it. */
export interface OpenApiSchema {
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, OpenApiSchema>;
  required?: string[];
  additionalProperties?: OpenApiSchema | boolean;
  items?: OpenApiSchema;
  enum?: unknown[];
  default?: unknown;
  nullable?: boolean;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minProperties?: number;
  maxProperties?: number;
  allOf?: OpenApiSchema[];
  anyOf?: OpenApiSchema[];
  oneOf?: OpenApiSchema[];
  not?: OpenApiSchema;
  title?: string;
  example?: unknown;
  externalDocs?: unknown;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: "atomic" | "granular";
  "x-kubernetes-validations"?: ValidationRule[];
}

export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

/** A schema that knows the TypeScript type of what it accepts. */
export interface Shape<T> {
  readonly schema: OpenApiSchema;
  /** Never set: it carries `T`. */
  readonly value?: T;
}

/** A field that may be absent. */
export interface Optional<T> extends Shape<T> {
  readonly optional: true;
}

export type Infer<S> = S extends Shape<infer T> ? T : never;

type Fields = Record<string, Shape<unknown>>;
type OptionalNames<F extends Fields> = { [K in keyof F]: F[K] extends { optional: true } ? K : never }[keyof F];
type ObjectOf<F extends Fields> = { [K in Exclude<keyof F, OptionalNames<F>>]: Infer<F[K]> } & {
  [K in OptionalNames<F>]?: Infer<F[K]>;
};
type Flat<T> = { [K in keyof T]: T[K] };

/** Everything a schema may say beside its type. */
type Rules = Omit<OpenApiSchema, "type" | "properties" | "required" | "items" | "additionalProperties">;

export function string<T extends string = string>(rules: Rules = {}): Shape<T> {
  return { schema: { type: "string", ...rules } };
}

export function oneOf<const T extends string>(values: readonly T[], rules: Rules = {}): Shape<T> {
  return { schema: { type: "string", enum: [...values], ...rules } };
}

export function dateTime(rules: Rules = {}): Shape<string> {
  return { schema: { type: "string", format: "date-time", ...rules } };
}

/** Bytes: base64 on the wire. */
export function bytes(rules: Rules = {}): Shape<string> {
  return { schema: { type: "string", format: "byte", ...rules } };
}

export function int32(rules: Rules = {}): Shape<number> {
  return { schema: { type: "integer", format: "int32", ...rules } };
}

export function int64(rules: Rules = {}): Shape<number> {
  return { schema: { type: "integer", format: "int64", ...rules } };
}

/** A whole number of no particular size. */
export function integer(rules: Rules = {}): Shape<number> {
  return { schema: { type: "integer", ...rules } };
}

export function boolean(rules: Rules = {}): Shape<boolean> {
  return { schema: { type: "boolean", ...rules } };
}

/** A Kubernetes quantity: `2`, `500m`, `1Gi`. */
export function quantity(rules: Rules = {}): Shape<string | number> {
  return {
    schema: {
      anyOf: [{ type: "integer" }, { type: "string" }],
      pattern:
        "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
      "x-kubernetes-int-or-string": true,
      ...rules,
    },
  };
}

/** A number, or a share such as `25%`. */
export function intOrString(rules: Rules = {}): Shape<string | number> {
  return { schema: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true, ...rules } };
}

/** Any object; nothing of it is pruned. */
export function anything(rules: Rules = {}): Shape<Record<string, unknown>> {
  return { schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true, ...rules } };
}

export function object<F extends Fields>(fields: F, rules: Rules = {}): Shape<Flat<ObjectOf<F>>> {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.schema]));
  const required = Object.entries(fields)
    .filter(([, field]) => !("optional" in field))
    .map(([name]) => name)
    .sort();
  return { schema: { type: "object", properties, ...(required.length > 0 && { required }), ...rules } };
}

export function list<T>(of: Shape<T>, rules: Rules = {}): Shape<T[]> {
  return { schema: { type: "array", items: of.schema, ...rules } };
}

/** A list whose items are told apart by the fields named, so that several writers can own items of it. */
export function listByKey<T>(of: Shape<T>, keys: (keyof T & string)[], rules: Rules = {}): Shape<T[]> {
  return list(of, { "x-kubernetes-list-map-keys": keys, "x-kubernetes-list-type": "map", ...rules });
}

export function mapOf<T>(of: Shape<T>, rules: Rules = {}): Shape<Record<string, T>> {
  return { schema: { type: "object", additionalProperties: of.schema, ...rules } };
}

export function optional<T>(shape: Shape<T>): Optional<T> {
  return { ...shape, optional: true };
}

/** metav1.Condition, as every CustomResourceDefinition of upstream spells it. */
export function condition(): Shape<{
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}> {
  return object({
    lastTransitionTime: dateTime(),
    message: string({ maxLength: 32768 }),
    observedGeneration: optional(int64({ minimum: 0 })),
    reason: string({ maxLength: 1024, minLength: 1, pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" }),
    status: oneOf(["True", "False", "Unknown"]),
    type: string({
      maxLength: 316,
      pattern:
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    }),
  });
}

/** metav1.LabelSelector. */
export function labelSelector(): Shape<{
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] }[];
}> {
  return object(
    {
      matchExpressions: optional(
        list(
          object({
            key: string(),
            operator: string<"In" | "NotIn" | "Exists" | "DoesNotExist">(),
            values: optional(list(string(), { "x-kubernetes-list-type": "atomic" })),
          }),
          { "x-kubernetes-list-type": "atomic" },
        ),
      ),
      matchLabels: optional(mapOf(string())),
    },
    { "x-kubernetes-map-type": "atomic" },
  );
}
