/** When values are equal, and which of two comes first. */
import {
  type CelValue,
  Duration,
  isList,
  MapValue,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  traitsOf,
  Uint,
} from "./values.ts";

/** Values of different types are not equal, except numbers that are the same number. */
export function equals(left: CelValue, right: CelValue): boolean {
  if (left === right) return true; // NaN is not equal to itself in JavaScript either
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right) === 0;
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") return false;
  if (isList(left)) return isList(right) && listsEqual(left, right);
  if (left instanceof MapValue) return right instanceof MapValue && mapsEqual(left, right);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && compareBytes(left, right) === 0;
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos;
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.typeName === right.typeName;
  if (left instanceof Opaque) return right instanceof Opaque && left.typeName === right.typeName && left.equals(right);
  if (left instanceof Optional && right instanceof Optional) {
    if (left.value === undefined || right.value === undefined) return left.value === right.value;
    return equals(left.value, right.value);
  }
  return false;
}

function listsEqual(left: readonly CelValue[], right: readonly CelValue[]): boolean {
  if (left.length !== right.length) return false;
  const traits = traitsOf(left) ?? traitsOf(right);
  if (traits?.kind === "map") {
    const others = new Map(right.map((item) => [traits.identity(item), item]));
    return left.every((item) => {
      const other = others.get(traits.identity(item));
      return other !== undefined && equals(item, other);
    });
  }
  if (traits) return left.every((item) => contains(right, item));
  return left.every((item, index) => equals(item, right[index] ?? null));
}

function mapsEqual(left: MapValue, right: MapValue): boolean {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    const other = right.get(key);
    if (other === undefined || !equals(left.get(key) ?? null, other)) return false;
  }
  return true;
}

export function contains(list: readonly CelValue[], value: CelValue): boolean {
  return list.some((item) => equals(item, value));
}

type NumberValue = bigint | number | Uint;

export function isNumber(value: CelValue): value is NumberValue {
  return typeof value === "bigint" || typeof value === "number" || value instanceof Uint;
}

/** JavaScript compares bigints with numbers exactly. NaN compares as undefined. */
export function compareNumbers(left: NumberValue, right: NumberValue): number | undefined {
  const a = left instanceof Uint ? left.value : left;
  const b = right instanceof Uint ? right.value : right;
  if (a < b) return -1;
  if (a > b) return 1;
  // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number that are the same number are only == equal
  return a == b ? 0 : undefined;
}

export function compareBytes(left: Uint8Array, right: Uint8Array): number {
  return Buffer.compare(left, right);
}

/** By code point: surrogates would sort characters beyond U+FFFF before some that come earlier. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const [a, b] = [left.charCodeAt(at), right.charCodeAt(at)];
    if (a === b) continue;
    const isSurrogate = (code: number) => code >= 0xd800 && code <= 0xdfff;
    if (isSurrogate(a) !== isSurrogate(b)) return isSurrogate(a) ? 1 : -1;
    return a < b ? -1 : 1;
  }
  return left.length < right.length ? -1 : 1;
}

/** Which of two values comes first; undefined where they cannot be ordered. */
export function compare(left: CelValue, right: CelValue): number | undefined {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right);
  if (typeof left === "string" && typeof right === "string") return compareText(left, right);
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) return compareBytes(left, right);
  if (left instanceof Timestamp && right instanceof Timestamp) return sign(left.nanos - right.nanos);
  if (left instanceof Duration && right instanceof Duration) return sign(left.nanos - right.nanos);
  return undefined;
}

function sign(value: bigint): number {
  return value < 0n ? -1 : value > 0n ? 1 : 0;
}
