/** More functions on lists: those of CEL's extensions, and those of Kubernetes. */
import { compare, contains, equals } from "../equality.ts";
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, type Overload, overload } from "../functions.ts";
import { int, uint } from "../numbers.ts";
import { durationOf } from "../time.ts";
import { type CelValue, Duration, isList, Uint } from "../values.ts";

type List = readonly CelValue[];

const ORDERED = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

/** Ranges longer than this are a mistake, or an attack on memory. */
const LONGEST_RANGE = 1_000_000n;

function order(left: CelValue, right: CelValue): number {
  const result = compare(left, right);
  if (result === undefined) throw failure("no such overload: items cannot be ordered");
  return result;
}

function isSorted(list: List): boolean {
  return list.every((item, index) => index === 0 || order(list[index - 1] ?? null, item) <= 0);
}

const extreme =
  (name: string, sign: number) =>
  (list: List): CelValue => {
    const [first, ...rest] = list;
    if (first === undefined) throw failure(`${name} called on empty list`);
    return rest.reduce<CelValue>((best, item) => (order(item, best) * sign > 0 ? item : best), first);
  };

const sum =
  (zero: CelValue) =>
  (list: List): CelValue =>
    list.length === 0 ? zero : list.slice(1).reduce<CelValue>(plus, list[0] ?? zero);

function plus(left: CelValue, right: CelValue): CelValue {
  if (typeof left === "bigint" && typeof right === "bigint") return int(left + right);
  if (typeof left === "number" && typeof right === "number") return left + right;
  if (left instanceof Uint && right instanceof Uint) return uint(left.value + right.value);
  if (left instanceof Duration && right instanceof Duration) return durationOf(left.nanos + right.nanos);
  throw failure("no such overload: items cannot be added");
}

function slice(list: List, from: bigint, to: bigint): List {
  if (from < 0n || to < 0n) throw failure(`cannot slice(${from}, ${to}), negative indexes not supported`);
  if (from > to) throw failure(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  if (to > list.length) throw failure(`cannot slice(${from}, ${to}), list is length ${list.length}`);
  return list.slice(Number(from), Number(to));
}

function flatten(list: List, depth = 1n): List {
  if (depth < 0n) throw failure("level must be non-negative");
  return list.flatMap((item) => (isList(item) && depth > 0n ? flatten(item, depth - 1n) : [item]));
}

function distinct(list: List): List {
  const found: CelValue[] = [];
  for (const item of list) if (!contains(found, item)) found.push(item);
  return found;
}

function range(count: bigint): List {
  if (count < 0n || count > LONGEST_RANGE) throw failure(`lists.range() size ${count} is out of bounds`);
  return Array.from({ length: Number(count) }, (_, index) => BigInt(index));
}

function sortedBy(list: List, keys: List): List {
  return list
    .map((item, index) => [item, keys[index] ?? null] as const)
    .sort(([, left], [, right]) => order(left, right))
    .map(([item]) => item);
}

const forOrdered = (id: string, signature: (type: string) => string, call: (list: List) => CelValue): Overload[] =>
  ORDERED.map((type) => overload(`list_${type}_${id}`, signature(type), call));

export const listLibrary: readonly FunctionDeclaration[] = [
  declare("isSorted", ...forOrdered("is_sorted_bool", (type) => `list(${type}).() -> bool`, isSorted)),
  declare("min", ...forOrdered("min", (type) => `list(${type}).() -> ${type}`, extreme("min", -1))),
  declare("max", ...forOrdered("max", (type) => `list(${type}).() -> ${type}`, extreme("max", 1))),
  declare(
    "sum",
    overload("list_int_sum_int", "list(int).() -> int", sum(0n)),
    overload("list_uint_sum_uint", "list(uint).() -> uint", sum(new Uint(0n))),
    overload("list_double_sum_double", "list(double).() -> double", sum(0)),
    overload("list_duration_sum_duration", "list(duration).() -> duration", sum(new Duration(0n))),
  ),
  declare(
    "indexOf",
    overload("list_a_index_of_int", "list(T).(T) -> int", (list: List, item: CelValue) =>
      BigInt(list.findIndex((other) => equals(other, item))),
    ),
  ),
  declare(
    "lastIndexOf",
    overload("list_a_last_index_of_int", "list(T).(T) -> int", (list: List, item: CelValue) =>
      BigInt(list.findLastIndex((other) => equals(other, item))),
    ),
  ),
  declare("slice", overload("list_slice", "list(T).(int, int) -> list(T)", slice)),
  declare(
    "flatten",
    overload("list_flatten", "list(list(T)).() -> list(T)", (list: List) => flatten(list)),
    overload("list_flatten_int", "list(dyn).(int) -> list(dyn)", (list: List, depth: bigint) => flatten(list, depth)),
  ),
  declare("distinct", overload("list_distinct", "list(T).() -> list(T)", distinct)),
  declare(
    "reverse",
    overload("list_reverse", "list(T).() -> list(T)", (list: List) => [...list].reverse()),
  ),
  declare(
    "sort",
    ...forOrdered(
      "sort",
      (type) => `list(${type}).() -> list(${type})`,
      (list) => [...list].sort(order),
    ),
  ),
  declare("lists.range", overload("lists_range", "(int) -> list(int)", range)),
  declare(
    "@sortByAssociatedKeys",
    ...ORDERED.map((type) =>
      overload(`list_${type}_sortByAssociatedKeys`, `list(T).(list(${type})) -> list(T)`, sortedBy),
    ),
  ),
];

const within = (all: List, some: List) => some.every((item) => contains(all, item));

/** Lists taken as sets. */
export const setLibrary: readonly FunctionDeclaration[] = [
  declare("sets.contains", overload("list_sets_contains_list", "(list(T), list(T)) -> bool", within)),
  declare(
    "sets.equivalent",
    overload(
      "list_sets_equivalent_list",
      "(list(T), list(T)) -> bool",
      (left: List, right: List) => within(left, right) && within(right, left),
    ),
  ),
  declare(
    "sets.intersects",
    overload("list_sets_intersects_list", "(list(T), list(T)) -> bool", (left: List, right: List) =>
      left.some((item) => contains(right, item)),
    ),
  ),
];
