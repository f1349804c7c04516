/** The standard functions: operators, sizes, text tests, conversions. */
import { compareBytes, compareNumbers, compareText, contains, equals } from "../equality.ts";
import { failure, noSuchKey, outOfBounds } from "../errors.ts";
import { declare, type FunctionDeclaration, type Overload, overload } from "../functions.ts";
import { divide, formatDouble, int, modulo, uint, wholeOf } from "../numbers.ts";
import { patternOf } from "../patterns.ts";
import { codePointCount } from "../text.ts";
import { durationOf, readDuration, readTimestamp, timestampOf, writeDuration, writeTimestamp } from "../time.ts";
import {
  type CelValue,
  type Duration,
  type ListTraits,
  type MapValue,
  type Timestamp,
  TypeValue,
  traitsOf,
  typeNameOf,
  Uint,
  withTraits,
} from "../values.ts";

type List = readonly CelValue[];

const arithmetic: FunctionDeclaration[] = [
  declare(
    "_+_",
    overload("add_int64", "(int, int) -> int", (a: bigint, b: bigint) => int(a + b)),
    overload("add_uint64", "(uint, uint) -> uint", (a: Uint, b: Uint) => uint(a.value + b.value)),
    overload("add_double", "(double, double) -> double", (a: number, b: number) => a + b),
    overload("add_string", "(string, string) -> string", (a: string, b: string) => a + b),
    overload(
      "add_bytes",
      "(bytes, bytes) -> bytes",
      (a: Uint8Array, b: Uint8Array) => new Uint8Array(Buffer.concat([a, b])),
    ),
    overload("add_list", "(list(T), list(T)) -> list(T)", concatenation),
    overload("add_duration_duration", "(duration, duration) -> duration", (a: Duration, b: Duration) =>
      durationOf(a.nanos + b.nanos),
    ),
    overload("add_timestamp_duration", "(timestamp, duration) -> timestamp", (a: Timestamp, b: Duration) =>
      timestampOf(a.nanos + b.nanos),
    ),
    overload("add_duration_timestamp", "(duration, timestamp) -> timestamp", (a: Duration, b: Timestamp) =>
      timestampOf(a.nanos + b.nanos),
    ),
  ),
  declare(
    "_-_",
    overload("subtract_int64", "(int, int) -> int", (a: bigint, b: bigint) => int(a - b)),
    overload("subtract_uint64", "(uint, uint) -> uint", (a: Uint, b: Uint) => uint(a.value - b.value)),
    overload("subtract_double", "(double, double) -> double", (a: number, b: number) => a - b),
    overload("subtract_timestamp_timestamp", "(timestamp, timestamp) -> duration", (a: Timestamp, b: Timestamp) =>
      durationOf(a.nanos - b.nanos),
    ),
    overload("subtract_timestamp_duration", "(timestamp, duration) -> timestamp", (a: Timestamp, b: Duration) =>
      timestampOf(a.nanos - b.nanos),
    ),
    overload("subtract_duration_duration", "(duration, duration) -> duration", (a: Duration, b: Duration) =>
      durationOf(a.nanos - b.nanos),
    ),
  ),
  declare(
    "_*_",
    overload("multiply_int64", "(int, int) -> int", (a: bigint, b: bigint) => int(a * b)),
    overload("multiply_uint64", "(uint, uint) -> uint", (a: Uint, b: Uint) => uint(a.value * b.value)),
    overload("multiply_double", "(double, double) -> double", (a: number, b: number) => a * b),
  ),
  declare(
    "_/_",
    overload("divide_int64", "(int, int) -> int", (a: bigint, b: bigint) => int(divide(a, b))),
    overload("divide_uint64", "(uint, uint) -> uint", (a: Uint, b: Uint) => uint(divide(a.value, b.value))),
    overload("divide_double", "(double, double) -> double", (a: number, b: number) => a / b),
  ),
  declare(
    "_%_",
    overload("modulo_int64", "(int, int) -> int", (a: bigint, b: bigint) => modulo(a, b)),
    overload("modulo_uint64", "(uint, uint) -> uint", (a: Uint, b: Uint) => uint(modulo(a.value, b.value))),
  ),
  declare(
    "-_",
    overload("negate_int64", "(int) -> int", (a: bigint) => int(-a)),
    overload("negate_double", "(double) -> double", (a: number) => -a),
  ),
];

/** Sets grow by what they lack, and lists that are maps have their items replaced by key. */
function concatenation(left: List, right: List): List {
  const traits = traitsOf(left);
  if (!traits) return [...left, ...right];
  return withTraits(traits.kind === "set" ? union(left, right) : merged(left, right, traits), traits);
}

function union(left: List, right: List): List {
  return [...left, ...right.filter((item) => !contains(left, item))];
}

function merged(left: List, right: List, { identity }: Extract<ListTraits, { kind: "map" }>): List {
  const newer = new Map(right.map((item) => [identity(item), item]));
  const known = new Set(left.map(identity));
  return [
    ...left.map((item) => newer.get(identity(item)) ?? item),
    ...right.filter((item) => !known.has(identity(item))),
  ];
}

/** One comparison of every pair of types that can be ordered. */
function ordering(name: string, word: string, holds: (order: number) => boolean): FunctionDeclaration {
  const number = (a: bigint | number | Uint, b: bigint | number | Uint): boolean => {
    const order = compareNumbers(a, b);
    return order !== undefined && holds(order);
  };
  const numbers: Overload[] = [];
  for (const left of ["int", "uint", "double"]) {
    for (const right of ["int", "uint", "double"]) {
      const suffix = left === right ? SUFFIX[left] : `${SUFFIX[left]}_${SUFFIX[right]}`;
      numbers.push(overload(`${word}_${suffix}`, `(${left}, ${right}) -> bool`, number));
    }
  }
  const nanos = (a: Timestamp | Duration, b: Timestamp | Duration) =>
    holds(Number(a.nanos > b.nanos) - Number(a.nanos < b.nanos));
  return declare(
    name,
    overload(`${word}_bool`, "(bool, bool) -> bool", (a: boolean, b: boolean) => holds(Number(a) - Number(b))),
    ...numbers,
    overload(`${word}_string`, "(string, string) -> bool", (a: string, b: string) => holds(compareText(a, b))),
    overload(`${word}_bytes`, "(bytes, bytes) -> bool", (a: Uint8Array, b: Uint8Array) => holds(compareBytes(a, b))),
    overload(`${word}_timestamp`, "(timestamp, timestamp) -> bool", nanos),
    overload(`${word}_duration`, "(duration, duration) -> bool", nanos),
  );
}

const SUFFIX: Readonly<Record<string, string>> = { int: "int64", uint: "uint64", double: "double" };

const relations: FunctionDeclaration[] = [
  declare("_==_", overload("equals", "(A, A) -> bool", equals)),
  declare(
    "_!=_",
    overload("not_equals", "(A, A) -> bool", (a: CelValue, b: CelValue) => !equals(a, b)),
  ),
  ordering("_<_", "less", (order) => order < 0),
  ordering("_<=_", "less_equals", (order) => order <= 0),
  ordering("_>_", "greater", (order) => order > 0),
  ordering("_>=_", "greater_equals", (order) => order >= 0),
  declare(
    "@in",
    overload("in_list", "(A, list(A)) -> bool", (value: CelValue, list: List) => contains(list, value)),
    overload("in_map", "(A, map(A, B)) -> bool", (key: CelValue, map: MapValue) => map.get(key) !== undefined),
  ),
  declare(
    "!_",
    overload("logical_not", "(bool) -> bool", (value: boolean) => !value),
  ),
  // Computed by the evaluator; declared for their types.
  declare(
    "_&&_",
    overload("logical_and", "(bool, bool) -> bool", (a: boolean, b: boolean) => a && b),
  ),
  declare(
    "_||_",
    overload("logical_or", "(bool, bool) -> bool", (a: boolean, b: boolean) => a || b),
  ),
  declare(
    "_?_:_",
    overload("conditional", "(bool, A, A) -> A", (is: boolean, a: CelValue, b: CelValue) => (is ? a : b)),
  ),
  declare(
    "@not_strictly_false",
    overload("not_strictly_false", "(bool) -> bool", (value: boolean) => value),
  ),
  declare(
    "_[_]",
    overload("index_list", "(list(A), int) -> A", (list: List, index: bigint) => itemAt(list, index)),
    overload("index_map", "(map(A, B), A) -> B", (map: MapValue, key: CelValue) => {
      const found = map.get(key);
      if (found === undefined) throw noSuchKey(key instanceof Uint ? key.value : key);
      return found;
    }),
  ),
];

function itemAt(list: List, index: bigint): CelValue {
  const item = index < 0n || index >= list.length ? undefined : list[Number(index)];
  if (item === undefined) throw outOfBounds(index);
  return item;
}

const sizes = (suffix: (type: string) => string, isMember: boolean): Overload[] => {
  const shape = (type: string) => (isMember ? `${type}.() -> int` : `(${type}) -> int`);
  return [
    overload(suffix("string"), shape("string"), (text: string) => BigInt(codePointCount(text))),
    overload(suffix("bytes"), shape("bytes"), (bytes: Uint8Array) => BigInt(bytes.length)),
    overload(suffix("list"), shape("list(A)"), (list: List) => BigInt(list.length)),
    overload(suffix("map"), shape("map(A, B)"), (map: MapValue) => BigInt(map.size)),
  ];
};

const text: FunctionDeclaration[] = [
  declare("size", ...sizes((type) => `size_${type}`, false), ...sizes((type) => `${type}_size`, true)),
  declare(
    "contains",
    overload("contains_string", "string.(string) -> bool", (a: string, b: string) => a.includes(b)),
  ),
  declare(
    "startsWith",
    overload("starts_with_string", "string.(string) -> bool", (a: string, b: string) => a.startsWith(b)),
  ),
  declare(
    "endsWith",
    overload("ends_with_string", "string.(string) -> bool", (a: string, b: string) => a.endsWith(b)),
  ),
  declare(
    "matches",
    overload("matches", "(string, string) -> bool", (value: string, pattern: string) => patternOf(pattern).test(value)),
    overload("matches_string", "string.(string) -> bool", (value: string, pattern: string) =>
      patternOf(pattern).test(value),
    ),
  ),
];

function parsed<T>(value: T | undefined, type: string, from: string): T {
  if (value === undefined) throw failure(`type conversion error from '${from}' to '${type}'`);
  return value;
}

const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[iI]nf(?:inity)?|[nN]a[nN])$/;

function readDouble(value: string): number | undefined {
  if (!NUMBER.test(value)) return undefined;
  if (/nan/i.test(value)) return Number.NaN;
  if (/inf/i.test(value)) return value.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return Number(value);
}

const TRUE = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE = new Set(["0", "f", "F", "false", "FALSE", "False"]);

function readBool(value: string): boolean | undefined {
  if (TRUE.has(value)) return true;
  return FALSE.has(value) ? false : undefined;
}

/** Bytes that are not UTF-8 are no string. */
function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw failure("invalid UTF-8 in bytes, cannot convert to string");
  }
}

const same = <T extends CelValue>(value: T): T => value;
const SECOND = 1_000_000_000n;

const conversions: FunctionDeclaration[] = [
  declare(
    "int",
    overload("int64_to_int64", "(int) -> int", same<bigint>),
    overload("uint64_to_int64", "(uint) -> int", ({ value }: Uint) => int(value)),
    overload("double_to_int64", "(double) -> int", (value: number) => int(wholeOf(value, false))),
    overload("string_to_int64", "(string) -> int", (value: string) =>
      int(parsed(INTEGER.test(value) ? BigInt(value.replace(/^\+/, "")) : undefined, "int", "string")),
    ),
    overload(
      "timestamp_to_int64",
      "(timestamp) -> int",
      ({ nanos }: Timestamp) => (nanos - (((nanos % SECOND) + SECOND) % SECOND)) / SECOND,
    ),
    overload("duration_to_int64", "(duration) -> int", ({ nanos }: Duration) => nanos),
  ),
  declare(
    "uint",
    overload("uint64_to_uint64", "(uint) -> uint", same<Uint>),
    overload("int64_to_uint64", "(int) -> uint", (value: bigint) => uint(value)),
    overload("double_to_uint64", "(double) -> uint", (value: number) => uint(wholeOf(value, true))),
    overload("string_to_uint64", "(string) -> uint", (value: string) =>
      uint(parsed(/^\+?\d+$/.test(value) ? BigInt(value.replace("+", "")) : undefined, "uint", "string")),
    ),
  ),
  declare(
    "double",
    overload("double_to_double", "(double) -> double", same<number>),
    overload("int64_to_double", "(int) -> double", (value: bigint) => Number(value)),
    overload("uint64_to_double", "(uint) -> double", ({ value }: Uint) => Number(value)),
    overload("string_to_double", "(string) -> double", (value: string) =>
      parsed(readDouble(value), "double", "string"),
    ),
  ),
  declare(
    "bool",
    overload("bool_to_bool", "(bool) -> bool", same<boolean>),
    overload("string_to_bool", "(string) -> bool", (value: string) => parsed(readBool(value), "bool", "string")),
  ),
  declare(
    "string",
    overload("string_to_string", "(string) -> string", same<string>),
    overload("bool_to_string", "(bool) -> string", (value: boolean) => String(value)),
    overload("int64_to_string", "(int) -> string", (value: bigint) => String(value)),
    overload("uint64_to_string", "(uint) -> string", ({ value }: Uint) => String(value)),
    overload("double_to_string", "(double) -> string", (value: number) => formatDouble(value)),
    overload("bytes_to_string", "(bytes) -> string", (value: Uint8Array) => decodeText(value)),
    overload("timestamp_to_string", "(timestamp) -> string", (value: Timestamp) => writeTimestamp(value)),
    overload("duration_to_string", "(duration) -> string", (value: Duration) => writeDuration(value)),
  ),
  declare(
    "bytes",
    overload("bytes_to_bytes", "(bytes) -> bytes", same<Uint8Array>),
    overload("string_to_bytes", "(string) -> bytes", (value: string) => new TextEncoder().encode(value)),
  ),
  declare(
    "timestamp",
    overload("timestamp_to_timestamp", "(timestamp) -> timestamp", same<Timestamp>),
    overload("int64_to_timestamp", "(int) -> timestamp", (value: bigint) => timestampOf(value * SECOND)),
    overload("string_to_timestamp", "(string) -> timestamp", (value: string) =>
      parsed(readTimestamp(value), "timestamp", "string"),
    ),
  ),
  declare(
    "duration",
    overload("duration_to_duration", "(duration) -> duration", same<Duration>),
    overload("int64_to_duration", "(int) -> duration", (value: bigint) => durationOf(value)),
    overload("string_to_duration", "(string) -> duration", (value: string) =>
      parsed(readDuration(value), "duration", "string"),
    ),
  ),
  declare("dyn", overload("to_dyn", "(A) -> dyn", same)),
  declare(
    "type",
    overload("type", "(A) -> type(A)", (value: CelValue) => new TypeValue(typeNameOf(value))),
  ),
  // Computed by the evaluator; declared for their types.
  declare(
    "cel.@mapInsert",
    overload("map_insert_key_value", "(map(K, V), K, V) -> map(K, V)", same),
    overload("map_insert_map", "(map(K, V), map(K, V)) -> map(K, V)", same),
  ),
];

export const standardLibrary: readonly FunctionDeclaration[] = [...arithmetic, ...relations, ...text, ...conversions];
