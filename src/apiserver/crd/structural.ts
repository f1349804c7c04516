/**
 * Whether a schema is structural: it says for every field what type it has, and says so in one place, so that
 * objects can be pruned and defaulted without trying alternatives.
 */
import type { OpenApiSchema } from "#api/schema";
import { equal, isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import { fill } from "./defaults.ts";
import { compileSchema, type Node } from "./node.ts";
import { childPath, indexPath, keyPath, type Path } from "./path.ts";
import { compilePattern } from "./pattern.ts";
import { prune } from "./prune.ts";
import { ruleErrors } from "./rule-errors.ts";
import { validate } from "./validate.ts";

/** No real schema comes near; walks over schemas and objects recurse this deep. */
const DEEPEST = 500;

const TYPES = ["array", "boolean", "integer", "number", "object", "string"];
const SCALARS = new Set(["boolean", "integer", "number", "string"]);

/** Words of JSON schema that a CustomResourceDefinition may carry but not use. */
const NEVER = ["$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id", "$schema"] as const;

/** What alternatives may not say, because the field itself has to. */
const NOT_IN_JUNCTORS = [
  "additionalProperties",
  "default",
  "description",
  "nullable",
  "title",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
] as const;

/** What keeps a schema from being structural, defaults that it would refuse itself, and rules that cannot be run. */
export function structuralErrors(schema: OpenApiSchema, path: Path): FieldError[] {
  const check = new StructuralCheck();
  check.root(schema, path);
  if (check.errors.length > 0) return check.errors;
  const wrongDefaults = defaultErrors(schema, check.defaults);
  return wrongDefaults.length > 0 ? wrongDefaults : ruleErrors(schema, path);
}

type Place = "root" | "property" | "value" | "item";

class StructuralCheck {
  readonly errors: FieldError[] = [];
  readonly defaults: (readonly [OpenApiSchema, Path])[] = [];

  root(schema: OpenApiSchema, path: Path): void {
    if (schema.type !== "object") {
      if (schema.type)
        this.errors.push(field.invalid(childPath(path, "type"), schema.type, "must be object at the root"));
      else this.errors.push(field.required(childPath(path, "type"), "must not be empty at the root"));
    }
    this.#schema(schema, path, "root", 0);
    this.#objectFields(schema, path);
  }

  #schema(schema: OpenApiSchema, path: Path, place: Place, depth: number): void {
    if (this.#isTooDeep(path, depth)) return;
    this.#type(schema, path, place);
    this.#words(schema, path);
    this.#lists(schema, path);
    if (schema["x-kubernetes-embedded-resource"]) this.#embedded(schema, path);
    if (Object.hasOwn(schema, "default")) this.defaults.push([schema, childPath(path, "default")]);

    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      this.#schema(inner, keyPath(childPath(path, "properties"), name), "property", depth + 1);
    }
    if (isSchema(schema.additionalProperties)) {
      this.#schema(schema.additionalProperties, childPath(path, "additionalProperties"), "value", depth + 1);
    }
    if (isSchema(schema.items)) this.#schema(schema.items, childPath(path, "items"), "item", depth + 1);
    for (const [inner, at] of junctorsOf(schema, path)) this.#junctor(inner, schema, at, depth + 1);
  }

  #isTooDeep(path: Path, depth: number): boolean {
    if (depth <= DEEPEST) return false;
    // The path of this field would be as long as the schema is deep; its first field says enough.
    const [start = path] = path.split(".properties[");
    this.errors.push(field.forbidden(start, `must not be nested deeper than ${DEEPEST} levels`));
    return true;
  }

  #type(schema: OpenApiSchema, path: Path, place: Place): void {
    const at = childPath(path, "type");
    const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
    const isOpen = schema["x-kubernetes-preserve-unknown-fields"] === true;
    if (schema.type) {
      if (!TYPES.includes(schema.type)) this.errors.push(field.notSupported(at, schema.type, TYPES));
      if (isIntOrString)
        this.errors.push(field.invalid(at, schema.type, "must be empty with x-kubernetes-int-or-string"));
    } else if (!isIntOrString && !isOpen && place !== "root") {
      this.errors.push(field.required(at, `must not be empty for ${WHERE[place]}`));
    }
    if (schema.type === "array" && !schema.items) {
      this.errors.push(field.required(childPath(path, "items"), "must be specified for a list"));
    }
    if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
      this.errors.push(
        field.invalid(childPath(path, "x-kubernetes-preserve-unknown-fields"), false, "must be true or absent"),
      );
    }
  }

  #words(schema: OpenApiSchema, path: Path): void {
    for (const word of NEVER) {
      if (Object.hasOwn(schema, word)) this.errors.push(field.forbidden(childPath(path, word), "is not supported"));
    }
    if (schema.uniqueItems) {
      this.errors.push(
        field.forbidden(childPath(path, "uniqueItems"), "must not be true: comparing all items takes too long"),
      );
    }
    if (Array.isArray(schema.items)) {
      this.errors.push(field.forbidden(childPath(path, "items"), "must be a schema, not a list of schemas"));
    }
    const additional = childPath(path, "additionalProperties");
    if (schema.additionalProperties === false) this.errors.push(field.forbidden(additional, "must not be false"));
    if (schema.additionalProperties && Object.keys(schema.properties ?? {}).length > 0) {
      this.errors.push(field.forbidden(additional, "must not be used together with properties"));
    }
    if (schema.pattern && !compilePattern(schema.pattern)) {
      this.errors.push(field.invalid(childPath(path, "pattern"), schema.pattern, "must be a valid regular expression"));
    }
  }

  #lists(schema: OpenApiSchema, path: Path): void {
    const listType = schema["x-kubernetes-list-type"];
    const mapType = schema["x-kubernetes-map-type"];
    const at = childPath(path, "x-kubernetes-list-type");
    if (mapType) {
      const mapAt = childPath(path, "x-kubernetes-map-type");
      if (schema.type !== "object") this.errors.push(field.invalid(mapAt, mapType, "must only be set on objects"));
      if (mapType !== "atomic" && mapType !== "granular") {
        this.errors.push(field.notSupported(mapAt, mapType, ["atomic", "granular"]));
      }
    }
    if (listType) {
      if (schema.type !== "array") this.errors.push(field.invalid(at, listType, "must only be set on lists"));
      if (listType !== "atomic" && listType !== "set" && listType !== "map") {
        this.errors.push(field.notSupported(at, listType, ["atomic", "set", "map"]));
      }
    }
    if (listType === "set") this.#set(schema.items, childPath(path, "items"));
    if (listType === "map") this.#map(schema, path);
    else if (schema["x-kubernetes-list-map-keys"]) {
      this.errors.push(
        field.forbidden(childPath(path, "x-kubernetes-list-map-keys"), "needs x-kubernetes-list-type map"),
      );
    }
  }

  #set(items: OpenApiSchema | undefined, path: Path): void {
    if (!isSchema(items)) return; // told already
    if (items.nullable)
      this.errors.push(field.forbidden(childPath(path, "nullable"), "items of a set must not be null"));
    if (items.type === "object" && items["x-kubernetes-map-type"] !== "atomic") {
      this.errors.push(
        field.invalid(
          childPath(path, "x-kubernetes-map-type"),
          items["x-kubernetes-map-type"] ?? "",
          "objects in a set must be atomic",
        ),
      );
    }
    if (items.type === "array" && (items["x-kubernetes-list-type"] ?? "atomic") !== "atomic") {
      this.errors.push(
        field.invalid(
          childPath(path, "x-kubernetes-list-type"),
          items["x-kubernetes-list-type"],
          "lists in a set must be atomic",
        ),
      );
    }
  }

  #map(schema: OpenApiSchema, path: Path): void {
    const keys = schema["x-kubernetes-list-map-keys"] ?? [];
    const keysAt = childPath(path, "x-kubernetes-list-map-keys");
    if (keys.length === 0) this.errors.push(field.required(keysAt, "must not be empty for a list of type map"));
    const { items } = schema;
    if (!isSchema(items)) return; // told already
    const itemsAt = childPath(path, "items");
    if (items.type !== "object") {
      this.errors.push(
        field.invalid(childPath(itemsAt, "type"), items.type ?? "", "must be object in a list of type map"),
      );
    }
    if (items.nullable)
      this.errors.push(field.forbidden(childPath(itemsAt, "nullable"), "items of a map must not be null"));
    keys.forEach((key, index) => {
      const keyAt = indexPath(keysAt, index);
      if (keys.indexOf(key) !== index) this.errors.push(field.duplicate(keyAt, key));
      const { properties = {} } = items;
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      if (!property) {
        this.errors.push(field.invalid(keyAt, key, "must be a property of the items"));
        return;
      }
      const propertyAt = keyPath(childPath(itemsAt, "properties"), key);
      const isScalar = SCALARS.has(property.type ?? "") || property["x-kubernetes-int-or-string"] === true;
      if (!isScalar)
        this.errors.push(field.invalid(childPath(propertyAt, "type"), property.type ?? "", "must be a scalar"));
      if (property.nullable)
        this.errors.push(field.forbidden(childPath(propertyAt, "nullable"), "keys must not be null"));
      if (!Object.hasOwn(property, "default") && !items.required?.includes(key)) {
        this.errors.push(
          field.required(
            childPath(propertyAt, "default"),
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ),
        );
      }
    });
  }

  #embedded(schema: OpenApiSchema, path: Path): void {
    if (schema.type !== "object") {
      this.errors.push(
        field.invalid(childPath(path, "type"), schema.type ?? "", "must be object for an embedded resource"),
      );
    }
    if (!schema["x-kubernetes-preserve-unknown-fields"] && Object.keys(schema.properties ?? {}).length === 0) {
      this.errors.push(
        field.required(
          childPath(path, "properties"),
          "must not be empty for an embedded resource without preserved fields",
        ),
      );
    }
    this.#objectFields(schema, path);
  }

  /** apiVersion, kind and metadata are the server's; a schema may only narrow names. */
  #objectFields(schema: OpenApiSchema, path: Path): void {
    const { properties = {} } = schema;
    const at = (name: string) => keyPath(childPath(path, "properties"), name);
    for (const name of ["apiVersion", "kind"]) {
      const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
      if (type && type !== "string")
        this.errors.push(field.invalid(childPath(at(name), "type"), type, "must be string"));
    }
    const metadata = Object.hasOwn(properties, "metadata") ? properties.metadata : undefined;
    if (!metadata) return;
    const { type, properties: narrowed = {}, description: _d, title: _t, ...others } = metadata;
    if (type && type !== "object") {
      this.errors.push(field.invalid(childPath(at("metadata"), "type"), type, "must be object"));
    }
    const isNarrow = Object.keys(narrowed).every((name) => name === "name" || name === "generateName");
    if (!isNarrow || Object.keys(others).length > 0) {
      this.errors.push(field.forbidden(at("metadata"), "must not specify anything other than name and generateName"));
    }
  }

  /** `structural` is the schema that the alternative belongs to: what the alternative names must exist there. */
  #junctor(schema: OpenApiSchema, structural: OpenApiSchema, path: Path, depth: number): void {
    if (this.#isTooDeep(path, depth)) return;
    const isIntOrString = structural["x-kubernetes-int-or-string"] === true;
    if (schema.type && !(isIntOrString && (schema.type === "integer" || schema.type === "string"))) {
      this.errors.push(field.forbidden(childPath(path, "type"), "must be empty to be structural"));
    }
    for (const word of NOT_IN_JUNCTORS) {
      if (Object.hasOwn(schema, word))
        this.errors.push(field.forbidden(childPath(path, word), "must be undefined to be structural"));
    }
    this.#words(schema, path);
    for (const [name, inner] of Object.entries(schema.properties ?? {})) {
      const at = keyPath(childPath(path, "properties"), name);
      const { properties = {} } = structural;
      const counterpart = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (counterpart) this.#junctor(inner, counterpart, at, depth + 1);
      else this.errors.push(field.required(at, "must also be specified outside of allOf, anyOf, oneOf and not"));
    }
    if (isSchema(schema.items)) {
      const at = childPath(path, "items");
      if (isSchema(structural.items)) this.#junctor(schema.items, structural.items, at, depth + 1);
      else this.errors.push(field.required(at, "must also be specified outside of allOf, anyOf, oneOf and not"));
    }
    for (const [inner, at] of junctorsOf(schema, path)) this.#junctor(inner, structural, at, depth + 1);
  }
}

const WHERE: Readonly<Record<Exclude<Place, "root">, string>> = {
  property: "specified object fields",
  value: "specified values",
  item: "specified list items",
};

function isSchema(value: OpenApiSchema | boolean | undefined): value is OpenApiSchema {
  return isObject(value);
}

function* junctorsOf(schema: OpenApiSchema, path: Path): Generator<readonly [OpenApiSchema, Path]> {
  for (const word of ["allOf", "anyOf", "oneOf"] as const) {
    const at = childPath(path, word);
    for (const [index, inner] of (schema[word] ?? []).entries()) yield [inner, indexPath(at, index)];
  }
  if (schema.not) yield [schema.not, childPath(path, "not")];
}

/** A default must be what the server would store: known fields only, and valid. */
function defaultErrors(schema: OpenApiSchema, defaults: readonly (readonly [OpenApiSchema, Path])[]): FieldError[] {
  if (defaults.length === 0) return [];
  const nodes = new Map<OpenApiSchema, Node>();
  compileSchema(schema, nodes);
  return defaults.flatMap(([owner, path]) => {
    const node = nodes.get(owner);
    if (!node) return [];
    const value = owner.default;
    if (!equal(prune(node, value, path, []), value))
      return [field.invalid(path, value, "must not have unknown fields")];
    return validate(node, fill(node, value), path);
  });
}
