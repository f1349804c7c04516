/** The types of one group version, each under its name, with everything they refer to. */
import type { OpenApiSchema } from "#api/schema";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { type Field, type StructType, structOf, type TypeRef, typeOf } from "../types/index.ts";
import { METADATA_FIELDS, OBJECT_FIELDS } from "./descriptions.ts";
import { customName, PATCH, refTo, SPECIAL_NAMES, structName } from "./names.ts";

export type Schema = Record<string, unknown>;

const OBJECT_META = "meta/v1#ObjectMeta";
const LIST_META = "meta/v1#ListMeta";

const SCALARS = {
  string: { type: "string" },
  bool: { type: "boolean" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  float64: { type: "number", format: "double" },
  bytes: { type: "string", format: "byte" },
} as const;

const SPECIALS: Record<keyof typeof SPECIAL_NAMES, Schema> = {
  Time: { type: "string", format: "date-time" },
  MicroTime: { type: "string", format: "date-time" },
  FieldsV1: { type: "object" },
  Quantity: { oneOf: [{ type: "string" }, { type: "number" }] },
  IntOrString: { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] },
  RawExtension: { type: "object" },
  JSON: {},
  JSONSchemaPropsOrBool: {},
  JSONSchemaPropsOrArray: {},
  JSONSchemaPropsOrStringArray: {},
};

/** Collects schemas as they are asked for; `all` has them with everything they refer to, sorted by name. */
export class Schemas {
  readonly #groupVersion: { group: string; version: string };
  readonly #known = new Map<string, Schema>();

  constructor(groupVersion: { group: string; version: string }) {
    this.#groupVersion = groupVersion;
  }

  /** The name of the schema of a resource's objects. */
  object(resource: Resource): string {
    const typeKey = resource.builtin ? typeOf(resource.group, resource.version, resource.kind) : undefined;
    return typeKey ? this.type(typeKey) : this.#custom(resource);
  }

  /** The name of the schema of a resource's lists. */
  list(resource: Resource): string {
    const kind = { ...gvkOf(resource), kind: resource.listKind };
    const typeKey = resource.builtin ? typeOf(kind.group, kind.version, kind.kind) : undefined;
    if (typeKey) return this.type(typeKey);
    return this.#add(customName(kind), () => ({
      type: "object",
      required: ["items"],
      properties: {
        apiVersion: { type: "string" },
        items: { type: "array", items: refTo(this.object(resource)) },
        kind: { type: "string" },
        metadata: { allOf: [refTo(this.type(LIST_META))] },
      },
      "x-kubernetes-group-version-kind": [kind],
    }));
  }

  /** The name of the schema of what a subresource takes and gives. */
  kind(kind: GroupVersionKind, resource: Resource): string {
    if (kind.group === resource.group && kind.version === resource.version && kind.kind === resource.kind) {
      return this.object(resource);
    }
    const typeKey = typeOf(kind.group, kind.version, kind.kind);
    return typeKey ? this.type(typeKey) : this.#add(customName(kind), () => ({ type: "object" }));
  }

  /** The name of the schema of a built-in type. */
  type(typeKey: string): string {
    const struct = structOf(typeKey);
    if (!struct) throw new Error(`no built-in type ${typeKey}`);
    const descriptions = struct.isKind ? OBJECT_FIELDS : typeKey === OBJECT_META ? METADATA_FIELDS : {};
    return this.#add(structName(struct), () => this.#struct(struct, descriptions));
  }

  patch(): string {
    return this.#add(PATCH, () => ({ type: "object" }));
  }

  all(): Record<string, Schema> {
    return Object.fromEntries([...this.#known].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #add(name: string, make: () => Schema): string {
    if (!this.#known.has(name)) {
      this.#known.set(name, {}); // types refer to themselves
      this.#known.set(name, make());
    }
    return name;
  }

  #custom(resource: Resource): string {
    return this.#add(customName(resource), () => {
      const open: OpenApiSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
      const { properties, ...rest } = resource.schema ?? open;
      return {
        ...rest,
        type: "object",
        properties: {
          ...properties,
          apiVersion: { type: "string", description: OBJECT_FIELDS.apiVersion },
          kind: { type: "string", description: OBJECT_FIELDS.kind },
          metadata: { allOf: [refTo(this.type(OBJECT_META))], description: OBJECT_FIELDS.metadata },
        },
        "x-kubernetes-group-version-kind": [gvkOf(resource)],
      };
    });
  }

  #struct(struct: StructType, descriptions: Readonly<Record<string, string>>): Schema {
    const required = struct.fields.filter((field) => field.required).map(({ name }) => name);
    return {
      type: "object",
      ...(required.length > 0 && { required }),
      ...(struct.fields.length > 0 && {
        properties: Object.fromEntries(
          struct.fields.map((field) => [field.name, this.#field(field, descriptions[field.name])]),
        ),
      }),
      ...(struct.mapType && { "x-kubernetes-map-type": struct.mapType }),
      ...(struct.isKind && { "x-kubernetes-group-version-kind": [this.#gvkOf(struct)] }),
    };
  }

  /** Options and errors have no group version of their own: they are of the one that they are sent to. */
  #gvkOf({ group, version, name }: StructType): GroupVersionKind {
    if (group !== "meta.k8s.io") return { group, version, kind: name };
    return name === "Status" ? { group: "", version: "v1", kind: name } : { ...this.#groupVersion, kind: name };
  }

  #field(field: Field, description: string | undefined): Schema {
    const schema = this.#ref(field.type);
    return {
      ...(description !== undefined && { description }),
      ...("$ref" in schema ? { allOf: [schema] } : schema), // nothing may stand beside a $ref
      ...(field.default !== undefined && { default: field.default }),
      ...(field.listType && { "x-kubernetes-list-type": field.listType }),
      ...(field.listMapKeys && { "x-kubernetes-list-map-keys": field.listMapKeys }),
      ...(field.mapType && { "x-kubernetes-map-type": field.mapType }),
      ...(field.patchStrategy && { "x-kubernetes-patch-strategy": field.patchStrategy }),
      ...(field.patchMergeKey && { "x-kubernetes-patch-merge-key": field.patchMergeKey }),
    };
  }

  #ref(type: TypeRef): Schema {
    switch (type.kind) {
      case "scalar":
        return { ...SCALARS[type.name] };
      case "special":
        return refTo(this.#add(SPECIAL_NAMES[type.name], () => SPECIALS[type.name]));
      case "struct":
        return refTo(this.type(type.key));
      case "items":
        return { type: "array", items: { type: "string" } };
      case "list":
        return { type: "array", items: this.#ref(type.of) };
      case "map":
        return { type: "object", additionalProperties: this.#ref(type.of) };
    }
  }
}

export function gvkOf({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind };
}
