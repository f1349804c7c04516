/** What evaluation costs, in the units of Kubernetes' budgets. */

import { codePointCount } from "./text.ts";
import { type CelValue, isList, MapValue, Opaque, Optional } from "./values.ts";

export const LIST_COST = 10;
export const MAP_COST = 30;
/** Walking over one character, and over one character of a pattern. */
export const TEXT_FACTOR = 0.1;
export const PATTERN_FACTOR = 0.25;
/** An authorization check may ask another server. */
export const CHECK_COST = 350_000;
/** The longest pattern behind a named format. */
export const FORMAT_PATTERN_SIZE = 128;

/** What one call cost, given its arguments and what it gave. */
export function callCost(name: string, overload: string, args: readonly CelValue[], result: CelValue): number {
  const [first = null, second = null] = args;
  switch (name) {
    case "check":
      return CHECK_COST;
    case "isSorted":
    case "sum":
    case "max":
    case "min":
    case "indexOf":
    case "lastIndexOf":
      return traversal(first);
    case "url":
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
    case "cidr":
    case "isIP":
    case "isCIDR":
    case "quantity":
    case "isQuantity":
    case "semver":
    case "isSemver":
    case "bytes":
    case "format":
    case "strings.quote":
      return text(sizeOf(first));
    case "reverse":
      return overload === "list_reverse" ? 1 + LIST_COST + sizeOf(result) : text(sizeOf(first));
    case "ip":
      return overload === "cidr_ip" ? 1 : text(sizeOf(first));
    case "replace":
    case "split":
    case "ip.isCanonical":
      return text(2 * sizeOf(first));
    case "join":
      return text(2 * sizeOf(result));
    case "matches":
    case "find":
    case "findAll":
      return text(1 + sizeOf(first)) * Math.ceil(sizeOf(second) * PATTERN_FACTOR);
    case "validate":
      return text(1 + sizeOf(second)) * Math.ceil(FORMAT_PATTERN_SIZE * PATTERN_FACTOR);
    case "containsIP":
      return text(2 * sizeOf(first)) + (overload.endsWith("_string") ? text(sizeOf(second)) : 0);
    case "containsCIDR":
      return (
        text(2 * sizeOf(first)) + text(sizeOf(first)) + 1 + (overload.endsWith("_string") ? text(sizeOf(second)) : 0)
      );
    case "startsWith":
    case "endsWith":
      return text(sizeOf(first));
    case "contains":
      return text(sizeOf(first)) * text(sizeOf(second));
    case "string":
      return overload === "bytes_to_string" ? text(sizeOf(first)) : 1;
    case "@in":
      return overload === "in_list" ? sizeOf(second) : 1;
    case "_+_":
      return overload === "add_string" || overload === "add_bytes" ? text(sizeOf(first) + sizeOf(second)) : 1;
    case "_==_":
    case "_!=_":
      return first instanceof Opaque ? 1 : text(Math.min(sizeOf(first), sizeOf(second)));
    case "_<_":
    case "_<=_":
    case "_>_":
    case "_>=_":
      return /_(?:string|bytes)$/.test(overload) ? text(Math.min(sizeOf(first), sizeOf(second))) : 1;
    case "sets.contains":
    case "sets.equivalent":
    case "sets.intersects":
      return 1 + sizeOf(first) * sizeOf(second) * (name === "sets.equivalent" ? 2 : 1);
    case "slice":
    case "lists.range":
    case "flatten":
      return 1 + LIST_COST + sizeOf(result);
    case "distinct":
    case "sort":
    case "@sortByAssociatedKeys":
      return 1 + LIST_COST + 2 * sizeOf(first) ** 2;
    default:
      return 1;
  }
}

function text(size: number): number {
  return Math.ceil(size * TEXT_FACTOR);
}

/** What `size()` would say, and 1 for what has none. */
export function sizeOf(value: CelValue): number {
  if (typeof value === "string") return codePointCount(value);
  if (isList(value) || value instanceof Uint8Array) return value.length;
  if (value instanceof MapValue) return value.size;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  return 1;
}

/** Visiting everything inside a value once. */
function traversal(value: CelValue): number {
  if (typeof value === "string" || value instanceof Uint8Array) return Math.floor(value.length * TEXT_FACTOR);
  if (isList(value)) return value.reduce<number>((sum, item) => sum + traversal(item), 0);
  if (value instanceof MapValue) {
    let sum = 0;
    for (const key of value.keys()) sum += traversal(key) + traversal(value.get(key) ?? null);
    return sum;
  }
  return 1;
}
