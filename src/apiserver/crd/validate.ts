/** Checks a value against a compiled schema. */
import { equal, isObject } from "#lib/json";
import { dns1035Label } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { JsonType, Node } from "./node.ts";
import { childPath, indexPath, type Path } from "./path.ts";

/**
 * What is wrong with the value. With `old`, the value it replaces, whatever did not change is not looked at:
 * an object that was stored under laxer rules can still be updated elsewhere.
 */
export function validate(node: Node, value: unknown, path: Path, old?: unknown): FieldError[] {
  const errors: FieldError[] = [];
  check(node, value, path, errors, old);
  return errors.map((error) => (error.field === "" ? { ...error, field: ROOT } : error));
}

function check(node: Node, value: unknown, path: Path, errors: FieldError[], old: unknown): void {
  if (old !== undefined && equal(value, old)) return;
  if (!hasType(node, value)) {
    errors.push(wrongType(node, value, path));
    return;
  }
  for (const rule of node.rules) rule(value, path, errors);
  if (value === null) return;
  if (Array.isArray(value)) checkList(node, value, path, errors, old);
  else if (isObject(value)) checkObject(node, value, path, errors, old);
  checkJunctors(node, value, path, errors);
}

/** How the whole object is called where a field's path is expected. */
const ROOT = "<nil>";

function hasType({ type, intOrString, nullable }: Node, value: unknown): boolean {
  if (value === null) return nullable || (type === undefined && !intOrString);
  if (intOrString) return typeof value === "string" || isInteger(value);
  return type === undefined || TYPE_CHECKS[type](value);
}

const TYPE_CHECKS: Readonly<Record<JsonType, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  boolean: (value) => typeof value === "boolean",
  integer: isInteger,
  number: (value) => typeof value === "number" || typeof value === "bigint",
};

function isInteger(value: unknown): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

function wrongType({ type, intOrString }: Node, value: unknown, path: Path): FieldError {
  const is = typeName(value);
  const expected = intOrString ? "integer,string" : type;
  return field.typeInvalid(path, is, `${path} in body must be of type ${expected}: ${JSON.stringify(is)}`);
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isInteger(value)) return "integer";
  return typeof value;
}

function checkObject(
  node: Node,
  object: Record<string, unknown>,
  path: Path,
  errors: FieldError[],
  old: unknown,
): void {
  const before = isObject(old) ? old : {};
  for (const key of Object.keys(object)) {
    const named = node.properties.get(key);
    const child = named ?? node.additional;
    if (!child || child === true) continue;
    const at = childPath(path, key);
    check(child, object[key], at, errors, Object.hasOwn(before, key) ? before[key] : undefined);
  }
  if (node.embedded) checkEmbedded(object, path, errors);
}

function checkList(node: Node, list: unknown[], path: Path, errors: FieldError[], old: unknown): void {
  const { items, listType } = node;
  const before = new Map<string, unknown>();
  if (listType === "map" && Array.isArray(old)) for (const item of old) before.set(identity(node, item), item);

  const seen = new Set<string>();
  list.forEach((item, index) => {
    const at = indexPath(path, index);
    const id = listType && identity(node, item);
    if (id !== undefined) {
      if (seen.has(id)) errors.push(field.duplicate(at, listType === "map" ? keysOf(node, item) : item));
      seen.add(id);
    }
    if (items) check(items, item, at, errors, id === undefined ? undefined : before.get(id));
  });
}

/** What tells an item of a set or of a map-like list from its siblings, as text. */
function identity(node: Node, item: unknown): string {
  return canonical(node.listType === "map" ? keysOf(node, item) : item);
}

function keysOf({ mapKeys }: Node, item: unknown): Record<string, unknown> {
  if (!isObject(item)) return {};
  return Object.fromEntries(mapKeys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]));
}

/** The same text for values that are equal: keys are sorted, and 1n is 1. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  const entries = Object.keys(value).sort();
  return `{${entries.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

function checkJunctors({ allOf, anyOf, oneOf, not }: Node, value: unknown, path: Path, errors: FieldError[]): void {
  const fits = (node: Node) => validate(node, value, path).length === 0;
  const wrong = (detail: string) => errors.push(field.invalid(path, value, `${path} in body ${detail}`));

  for (const node of allOf) check(node, value, path, errors, undefined);
  if (anyOf.length > 0 && !anyOf.some(fits)) wrong("must validate at least one schema (anyOf)");
  if (oneOf.length > 0) {
    const count = oneOf.filter(fits).length;
    if (count !== 1) wrong(`must validate one and only one schema (oneOf), found ${count} valid`);
  }
  if (not && fits(not)) wrong("must not validate the schema (not)");
}

/** An embedded object says what it is; its metadata has been checked when it was decoded. */
function checkEmbedded(object: Record<string, unknown>, path: Path, errors: FieldError[]): void {
  for (const name of ["apiVersion", "kind"]) {
    const at = childPath(path, name);
    const value = Object.hasOwn(object, name) ? object[name] : undefined;
    if (value === undefined || value === "") errors.push(field.required(at, "must not be empty"));
    else if (typeof value !== "string") errors.push(field.typeInvalid(at, typeName(value), "must be a string"));
    else if (name === "apiVersion" && value.split("/").length > 2) {
      errors.push(field.invalid(at, value, "must be a group and a version"));
    } else if (name === "kind") {
      for (const detail of dns1035Label(value.toLowerCase())) errors.push(field.invalid(at, value, detail));
    }
  }
  const metadata = Object.hasOwn(object, "metadata") ? object.metadata : undefined;
  if (metadata !== undefined && !isObject(metadata)) {
    const at = childPath(path, "metadata");
    errors.push(field.typeInvalid(at, typeName(metadata), `${at} in body must be of type object`));
  }
}
