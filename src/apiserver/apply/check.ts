/** Whether a configuration is of its type, in the words that kube-apiserver has for what is not. */
import { stringifyJson } from "#lib/json";
import { itemElement, TypeMismatch } from "./list-item.ts";
import { elementText, fieldElement, type PathElement } from "./path-element.ts";
import { formOf, type ListType, type MapType, memberType, type ScalarName, type ValueType } from "./value-type.ts";

/** One text of all that is wrong, or undefined. */
export function typeErrorsOf(type: ValueType, value: unknown): string | undefined {
  const errors = errorsOf(type, value).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  if (errors.length <= 1) return errors[0];
  return ["errors:", ...errors.map((error) => `  ${error}`)].join("\n");
}

interface TypeError {
  path: string;
  message: string;
}

function errorsOf(type: ValueType, value: unknown): TypeError[] {
  if (value === null) return [];
  const form = formOf(type, value);
  if (form === "map" && type.map) return mapErrors(type.map, value);
  if (form === "list" && type.list) return listErrors(type.list, value);
  return scalarErrors(type.scalar ?? "untyped", value);
}

function mapErrors(map: MapType, value: unknown): TypeError[] {
  if (typeof value !== "object" || Array.isArray(value)) return [error(`expected map, got &{${shown(value)}}`)];
  const errors: TypeError[] = [];
  for (const [key, inner] of Object.entries(value as Record<string, unknown>)) {
    const element = fieldElement(key);
    const type = memberType(map, key);
    if (!type) return [...errors, ...under(element, [error("field not declared in schema")])];
    errors.push(...under(element, errorsOf(type, inner)));
  }
  return errors;
}

function listErrors(list: ListType, value: unknown): TypeError[] {
  if (!Array.isArray(value)) return [error(`expected list, got &{${shown(value)}}`)];
  const errors: TypeError[] = [];
  const seen = new Set<PathElement>();
  for (const [index, item] of value.entries()) {
    let element: PathElement = `i:${index}`;
    if (list.relation !== "atomic") {
      try {
        element = itemElement(list, item);
      } catch (mismatch) {
        if (!(mismatch instanceof TypeMismatch)) throw mismatch;
        return [...errors, error(`element ${index}: ${mismatch.message}`)];
      }
      if (seen.has(element)) errors.push(error(`duplicate entries for key ${elementText(element)}`));
      seen.add(element);
    }
    errors.push(...under(element, errorsOf(list.item, item)));
  }
  return errors;
}

function scalarErrors(scalar: ScalarName, value: unknown): TypeError[] {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const isText = typeof value === "string";
  const isTruth = typeof value === "boolean";
  switch (scalar) {
    case "numeric":
      return isNumber ? [] : [error(`expected numeric (int or float), got ${goTypeOf(value)}`)];
    case "string":
      return isText ? [] : [error(`expected string, got &value.valueUnstructured{Value:${shown(value)}}`)];
    case "boolean":
      return isTruth ? [] : [error(`expected boolean, got &{${shown(value)}}`)];
    case "untyped":
      return isNumber || isText || isTruth ? [] : [error(`expected any scalar, got &{${shown(value)}}`)];
  }
}

function error(message: string): TypeError {
  return { path: "", message };
}

function under(element: PathElement, errors: TypeError[]): TypeError[] {
  return errors.map(({ path, message }) => ({ path: elementText(element) + path, message }));
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : stringifyJson(value);
}

function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "object") return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : "string";
}
