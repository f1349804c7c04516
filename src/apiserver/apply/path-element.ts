/**
 * One step of a path to a field, in the form in which managedFields writes it: `f:name` for a field, `k:{"name":"x"}`
 * for the item of a list with these keys, `v:"x"` for the item of a set, `i:3` for a place in a list.
 */
import { goEscaped, isObject, parseJson, stringifyJson } from "#lib/json";

export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The item of a set. */
export function valueElement(value: unknown): PathElement {
  return `v:${jsonOf(value)}`;
}

/** The item of a list by its keys; the names come sorted, so that equal keys are equal texts. */
export function keyElement(names: readonly string[], values: readonly unknown[]): PathElement {
  const pairs = names.map((name, index) => `${jsonOf(name)}:${jsonOf(values[index])}`);
  return `k:{${pairs.join(",")}}`;
}

/** The name in a field element, or undefined for the other kinds of step. */
export function fieldNameOf(element: PathElement): string | undefined {
  return element.startsWith("f:") ? element.slice(2) : undefined;
}

export function isKey(element: PathElement): boolean {
  return element.startsWith("k:");
}

/** Reads a step that somebody else wrote, in its canonical form. Throws SyntaxError for what is none. */
export function readElement(text: string): PathElement {
  const content = text.slice(2);
  switch (text.slice(0, 2)) {
    case "f:":
      return text;
    case "v:":
      return valueElement(parseJson(content));
    case "k:": {
      const keys = parseJson(content);
      if (!isObject(keys)) break;
      const names = Object.keys(keys).sort();
      return keyElement(
        names,
        names.map((name) => keys[name]),
      );
    }
    case "i:":
      if (/^-?\d+$/.test(content)) return `i:${Number(content)}`;
  }
  throw new SyntaxError(`${JSON.stringify(text)} is no step of a path`);
}

/** How messages show a path: `.spec.containers[name="web"].image`, `.metadata.finalizers[="x"]`. */
export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join("");
}

export function elementText(element: PathElement): string {
  const content = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${content}`;
    case "k": {
      const keys = parseJson(content) as Record<string, unknown>;
      return `[${Object.keys(keys)
        .map((name) => `${name}=${stringifyJson(keys[name])}`)
        .join(",")}]`;
    }
    case "v":
      return `[=${stringifyJson(parseJson(content))}]`;
    default:
      return `[${content}]`;
  }
}

/** The order in which paths are listed and written: fields, keys, values, places; each in their own order. */
export function compareElements(a: PathElement, b: PathElement): number {
  const [left, right] = [a.slice(0, 2), b.slice(0, 2)];
  if (left !== right) return CLASSES.indexOf(left) - CLASSES.indexOf(right);
  if (left === "f:") return compare(a, b);
  if (left === "i:") return Number(a.slice(2)) - Number(b.slice(2));
  const [one, other] = [parseJson(a.slice(2)), parseJson(b.slice(2))];
  return isObject(one) && isObject(other) ? compareKeys(one, other) : compareScalars(one, other);
}

const CLASSES = ["f:", "k:", "v:", "i:"];

function compareKeys(a: Record<string, unknown>, b: Record<string, unknown>): number {
  const [names, others] = [Object.keys(a), Object.keys(b)];
  for (const [index, name] of names.entries()) {
    const other = others[index];
    if (other === undefined) return 1;
    const order = compare(name, other) || compareScalars(a[name], b[other]);
    if (order !== 0) return order;
  }
  return names.length - others.length;
}

/** Numbers before texts before truths, as kube-apiserver sorts them. */
function compareScalars(a: unknown, b: unknown): number {
  const [left, right] = [rankOf(a), rankOf(b)];
  if (left !== right) return left - right;
  return compare(a as string, b as string);
}

function rankOf(value: unknown): number {
  if (typeof value === "number" || typeof value === "bigint") return 0;
  return typeof value === "string" ? 1 : 2;
}

function compare<T extends string | number | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** JSON with the characters escaped that Go escapes: as part of an identity, the text counts. */
export function jsonOf(value: unknown): string {
  return goEscaped(stringifyJson(value));
}
