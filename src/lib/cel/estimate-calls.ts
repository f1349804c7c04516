/** What single calls can cost. */
import type { Expr } from "./ast.ts";
import { CHECK_COST, FORMAT_PATTERN_SIZE, LIST_COST, PATTERN_FACTOR, TEXT_FACTOR } from "./cost.ts";
import { add, fixed, MOST, NOTHING, type Range, scaled, times, UNKNOWN, union } from "./range.ts";
import type { CelType } from "./types.ts";

export interface EstimatedArgument {
  readonly expr: Expr;
  readonly type: CelType;
  readonly size: Range | undefined;
  /** The size of items, where the argument is a list whose declaration says. */
  readonly itemSize: Range | undefined;
}

export interface CallEstimate {
  readonly cost: Range;
  readonly size?: Range;
}

/** The bytes of an address. */
const ADDRESS: Range = { min: 4, max: 16 };
const ONE = fixed(1);
/** What comparing all items of a list with each other costs, for each pair. */
const SORT_FACTOR = 2;

export function callEstimate(
  name: string,
  overload: string,
  target: EstimatedArgument | undefined,
  args: readonly EstimatedArgument[],
): CallEstimate {
  const [first, second] = args;
  const sizeOf = (argument: EstimatedArgument | undefined): Range => argument?.size ?? UNKNOWN;
  const text = (argument: EstimatedArgument | undefined, factor = 1): Range =>
    scaled(sizeOf(argument), factor * TEXT_FACTOR);
  switch (name) {
    case "check":
      return { cost: fixed(CHECK_COST) };
    case "isSorted":
    case "sum":
    case "max":
    case "min":
    case "indexOf":
    case "lastIndexOf":
      return target ? { cost: searchCost(target) } : { cost: ONE };
    case "url":
      return { cost: text(first), size: sizeOf(first) };
    case "lowerAscii":
    case "upperAscii":
    case "substring":
    case "trim":
      return { cost: text(target), size: sizeOf(target) };
    case "replace":
      return { cost: text(target, 2), size: replacedSize(sizeOf(target), sizeOf(first), sizeOf(second)) };
    case "split":
      return { cost: text(target, 2), size: { min: 0, max: splitLimit(second) ?? sizeOf(target).max } };
    case "join":
      return target ? joinEstimate(target, first) : { cost: ONE };
    case "find":
    case "findAll":
      return { cost: patternCost(sizeOf(target), sizeOf(first)), size: { min: 0, max: sizeOf(target).max } };
    case "matches":
      return target
        ? { cost: patternCost(sizeOf(target), sizeOf(first)) }
        : { cost: patternCost(sizeOf(first), sizeOf(second)) };
    case "cidr":
    case "isIP":
    case "isCIDR":
    case "quantity":
    case "isQuantity":
    case "semver":
    case "isSemver":
      return { cost: text(first) };
    case "ip":
      return { cost: overload === "cidr_ip" ? ONE : text(first) };
    case "ip.isCanonical":
      return { cost: text(first, 2) };
    case "containsIP":
    case "containsCIDR":
      return {
        cost: containmentCost(name === "containsCIDR", overload.endsWith("_string") ? sizeOf(first) : undefined),
      };
    case "sets.contains":
    case "sets.intersects":
    case "sets.equivalent": {
      const pairs = times(sizeOf(first), sizeOf(second));
      return { cost: add(ONE, name === "sets.equivalent" ? scaled(pairs, 2) : pairs) };
    }
    case "validate":
      return { cost: scaled(text(first), FORMAT_PATTERN_SIZE * PATTERN_FACTOR) };
    default:
      return overloadEstimate(overload, target, args, sizeOf, text);
  }
}

function overloadEstimate(
  overload: string,
  target: EstimatedArgument | undefined,
  [first, second]: readonly EstimatedArgument[],
  sizeOf: (argument: EstimatedArgument | undefined) => Range,
  text: (argument: EstimatedArgument | undefined) => Range,
): CallEstimate {
  switch (overload) {
    case "list_slice": {
      const size = sizeOf(target);
      return listEstimate(fixed(Math.max(0, (literalInt(second) ?? size.max) - (literalInt(first) ?? 0))));
    }
    case "lists_range":
      return listEstimate(fixed(literalInt(first) ?? MOST));
    case "list_reverse":
      return listEstimate(sizeOf(target));
    case "list_flatten":
    case "list_flatten_int":
      return listEstimate(sizeOf(target), first ? (literalInt(first) ?? MOST) : 1);
    case "list_distinct":
      return listEstimate(times(sizeOf(target), sizeOf(target)), SORT_FACTOR);
    case "string_format":
      return { cost: text(target) };
    case "string_to_bytes":
      return { cost: text(first), size: { min: sizeOf(first).min, max: scaled(sizeOf(first), 4).max } };
    case "bytes_to_string":
      return { cost: text(first), size: { min: Math.floor(sizeOf(first).min / 4), max: sizeOf(first).max } };
    case "strings_quote":
      return { cost: text(first), size: add(scaled(sizeOf(first), 2), fixed(2)) };
    case "starts_with_string":
    case "ends_with_string":
      return { cost: text(first) };
    case "in_list":
      return { cost: sizeOf(second) };
    case "contains_string":
      return { cost: times(text(target), text(first)) };
    case "add_list":
      return { cost: ONE, size: add(sizeOf(first), sizeOf(second)) };
    case "add_string":
    case "add_bytes": {
      const size = add(sizeOf(first), sizeOf(second));
      return { cost: scaled(size, TEXT_FACTOR), size };
    }
    default:
      if (/^list_\w+_sort/.test(overload)) return sortEstimate(overload, sizeOf(first ?? target));
      return /^(?:equals|not_equals|(?:less|greater)(?:_equals)?_(?:string|bytes))$/.test(overload)
        ? { cost: comparisonCost(first, second) }
        : { cost: ONE };
  }
}

/** Making a list from another costs a step per item. */
function listEstimate(size: Range, factor = 1): CallEstimate {
  return { cost: add(scaled(size, factor), fixed(1 + LIST_COST)), size };
}

/** Every item is compared with every other. */
function sortEstimate(overload: string, size: Range): CallEstimate {
  const isText = /^list_(?:string|bytes)_/.test(overload);
  return listEstimate(times(size, size), SORT_FACTOR + (isText ? TEXT_FACTOR : 0));
}

function literalInt(argument: EstimatedArgument | undefined): number | undefined {
  return argument?.expr.kind === "literal" && typeof argument.expr.value === "bigint"
    ? Number(argument.expr.value)
    : undefined;
}

/** Comparing stops with the shorter of the two. */
function comparisonCost(first: EstimatedArgument | undefined, second: EstimatedArgument | undefined): Range {
  if (first?.type.kind === "opaque" && second?.type.kind === "opaque" && first.type.name !== "optional_type")
    return ONE;
  const max = Math.min((first?.size ?? UNKNOWN).max, (second?.size ?? UNKNOWN).max);
  return scaled({ min: max > 0 ? 1 : 0, max }, TEXT_FACTOR);
}

function searchCost(target: EstimatedArgument): Range {
  const size = target.size ?? UNKNOWN;
  if (target.type.kind !== "list") return scaled(size, TEXT_FACTOR);
  const { kind } = target.type.element;
  const isText = kind === "string" || kind === "bytes";
  return times(size, isText ? add(ONE, scaled(target.itemSize ?? UNKNOWN, TEXT_FACTOR)) : ONE);
}

/** Every step of the pattern may look at every character; a step takes about four characters to write. */
function patternCost(text: Range, pattern: Range): Range {
  return times(scaled(add(text, ONE), TEXT_FACTOR), scaled(pattern, PATTERN_FACTOR));
}

function containmentCost(isBlock: boolean, parsed: Range | undefined): Range {
  let cost = scaled(add(ADDRESS, ADDRESS), TEXT_FACTOR);
  if (isBlock) cost = add(add(cost, scaled(ADDRESS, TEXT_FACTOR)), ONE);
  return parsed ? add(cost, scaled(parsed, TEXT_FACTOR)) : cost;
}

function joinEstimate(target: EstimatedArgument, separator: EstimatedArgument | undefined): CallEstimate {
  const count = target.size ?? UNKNOWN;
  let size = target.type.kind === "list" ? times(count, target.itemSize ?? UNKNOWN) : NOTHING;
  if (separator) {
    const gaps = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
    size = add(size, times(separator.size ?? UNKNOWN, gaps));
  }
  return { cost: scaled(size, TEXT_FACTOR), size };
}

function splitLimit(limit: EstimatedArgument | undefined): number | undefined {
  if (limit?.expr.kind !== "literal" || typeof limit.expr.value !== "bigint") return undefined;
  return limit.expr.value < 0n ? MOST : Number(limit.expr.value);
}

function replacedSize(text: Range, old: Range, by: Range): Range {
  const longest = replacements(text.max, old.min, by.max, by.max <= old.min);
  const shortest = replacements(text.min, old.max, by.min, old.max <= by.min);
  return union(fixed(shortest), fixed(longest));
}

/** How long a text can become when parts of length `old` become parts of length `by`. */
function replacements(text: number, old: number, by: number, isPointless: boolean): number {
  if (old === 0) return Math.min(MOST, (text + 1) * by + text);
  if (isPointless) return text;
  return Math.min(MOST, Math.ceil(text / old) * by);
}
