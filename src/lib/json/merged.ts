import { equal } from "./equal.ts";
import { isObject } from "./text.ts";

/** Said where two changes cannot both be made. */
export const CONTRADICTION = Symbol("contradiction");

/**
 * What two changes of the same value come to when both are made; `CONTRADICTION` where they want different things of
 * the same field. Absent fields are undefined. In lists, texts count as a set, and objects are told apart by their
 * `type`, `name` or `key`, as conditions, ports and taints are; other lists are changed by one or the other.
 */
export function merged(base: unknown, one: unknown, other: unknown): unknown {
  if (one === other || one === base || equal(one, base)) return other;
  if (other === base || equal(other, base) || equal(one, other)) return one;
  if (areObjects(base, one, other)) return mergedFields(base ?? {}, one, other);
  if (Array.isArray(one) && Array.isArray(other) && (base === undefined || Array.isArray(base))) {
    return mergedLists(base ?? [], one, other);
  }
  return CONTRADICTION;
}

type Fields = Record<string, unknown>;

function areObjects(base: unknown, one: unknown, other: unknown): base is Fields | undefined {
  return (base === undefined || isObject(base)) && isObject(one) && isObject(other);
}

function mergedFields(base: Fields, one: unknown, other: unknown): Fields | typeof CONTRADICTION {
  const [first, second] = [one as Fields, other as Fields];
  const entries: [string, unknown][] = [];
  for (const key of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const field = merged(own(base, key), own(first, key), own(second, key));
    if (field === CONTRADICTION) return CONTRADICTION;
    if (field !== undefined) entries.push([key, field]);
  }
  return Object.fromEntries(entries);
}

function own(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

function mergedLists(base: readonly unknown[], one: readonly unknown[], other: readonly unknown[]): unknown {
  const identity = identityIn([...base, ...one, ...other]);
  if (!identity) return CONTRADICTION;
  const itemsOf = (list: readonly unknown[]) => new Map(list.map((item) => [identity(item), item]));
  const [before, first, second] = [itemsOf(base), itemsOf(one), itemsOf(other)];
  if (before.size < base.length || first.size < one.length || second.size < other.length) return CONTRADICTION;
  const items: unknown[] = [];
  for (const id of new Set([...first.keys(), ...second.keys()])) {
    const item = merged(before.get(id), first.get(id), second.get(id));
    if (item === CONTRADICTION) return CONTRADICTION;
    if (item !== undefined) items.push(item);
  }
  return items;
}

const IDENTITIES = ["type", "name", "key"] as const;

/** How the items of a list are told apart; undefined where nobody can say. */
function identityIn(items: readonly unknown[]): ((item: unknown) => unknown) | undefined {
  if (items.every((item) => typeof item === "string")) return (item) => item;
  if (!items.every(isObject)) return undefined;
  const field = IDENTITIES.find((name) => items.every((item) => typeof (item as Fields)[name] === "string"));
  return field && ((item) => (item as Fields)[field]);
}
