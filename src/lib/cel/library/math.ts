/** Mathematics beyond the operators. */
import { compareNumbers } from "../equality.ts";
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, type Overload, overload } from "../functions.ts";
import { int, uint } from "../numbers.ts";
import { type CelValue, Uint } from "../values.ts";

type List = readonly CelValue[];
type NumberValue = bigint | number | Uint;

/** The largest, or smallest, of numbers of any types. */
function extremum(name: string, sign: number): FunctionDeclaration {
  const better = (left: NumberValue, right: NumberValue) =>
    (compareNumbers(right, left) ?? 0) * sign > 0 ? right : left;
  const types = ["int", "uint", "double"];
  const pairs = types.flatMap((left) =>
    types.map((right) =>
      overload(`${name}_${left}_${right}`, `(${left}, ${right}) -> ${left === right ? left : "dyn"}`, better),
    ),
  );
  const ofList = (list: List): CelValue => {
    const [first, ...rest] = list as readonly NumberValue[];
    if (first === undefined) throw failure(`math.${sign > 0 ? "greatest" : "least"}(list) argument must not be empty`);
    return rest.reduce(better, first);
  };
  return declare(
    name,
    ...types.map((type) => overload(`${name}_${type}`, `(${type}) -> ${type}`, (value: NumberValue) => value)),
    ...pairs,
    ...[...types, "dyn"].map((type) => overload(`${name}_list_${type}`, `(list(${type})) -> ${type}`, ofList)),
  );
}

const ofDouble = (name: string, result: string, call: (value: number) => CelValue): FunctionDeclaration =>
  declare(`math.${name}`, overload(`math_${name}_double`, `(double) -> ${result}`, call));

/** Halves go away from zero. */
function round(value: number): number {
  return Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
}

function bits(name: string, call: (left: bigint, right: bigint) => bigint): FunctionDeclaration {
  return declare(
    `math.${name}`,
    overload(`math_${name}_int_int`, "(int, int) -> int", (left: bigint, right: bigint) =>
      BigInt.asIntN(64, call(left, right)),
    ),
    overload(
      `math_${name}_uint_uint`,
      "(uint, uint) -> uint",
      (left: Uint, right: Uint) => new Uint(BigInt.asUintN(64, call(left.value, right.value))),
    ),
  );
}

function shift(name: string, call: (value: bigint, by: bigint) => bigint): FunctionDeclaration {
  const by = (count: bigint): bigint => {
    if (count < 0n) throw failure(`math.${name}() negative offset: ${count}`);
    return count > 64n ? 64n : count;
  };
  return declare(
    `math.${name}`,
    // Signs are bits like others here.
    overload(`math_${name}_int_int`, "(int, int) -> int", (value: bigint, count: bigint) =>
      BigInt.asIntN(64, call(BigInt.asUintN(64, value), by(count))),
    ),
    overload(
      `math_${name}_uint_int`,
      "(uint, int) -> uint",
      ({ value }: Uint, count: bigint) => new Uint(BigInt.asUintN(64, call(value, by(count)))),
    ),
  );
}

const numeric = (
  name: string,
  ofInt: (value: bigint) => bigint,
  ofFloat: (value: number) => number,
  ofUint: (value: Uint) => Uint,
): Overload[] => [
  overload(`math_${name}_int`, "(int) -> int", ofInt),
  overload(`math_${name}_double`, "(double) -> double", ofFloat),
  overload(`math_${name}_uint`, "(uint) -> uint", ofUint),
];

export const mathLibrary: readonly FunctionDeclaration[] = [
  extremum("math.@max", 1),
  extremum("math.@min", -1),
  ofDouble("ceil", "double", Math.ceil),
  ofDouble("floor", "double", Math.floor),
  ofDouble("round", "double", round),
  ofDouble("trunc", "double", Math.trunc),
  ofDouble("isNaN", "bool", Number.isNaN),
  ofDouble("isFinite", "bool", Number.isFinite),
  ofDouble("isInf", "bool", (value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY),
  declare(
    "math.sqrt",
    overload("math_sqrt_double", "(double) -> double", Math.sqrt),
    overload("math_sqrt_int", "(int) -> double", (value: bigint) => Math.sqrt(Number(value))),
    overload("math_sqrt_uint", "(uint) -> double", ({ value }: Uint) => Math.sqrt(Number(value))),
  ),
  declare(
    "math.abs",
    ...numeric(
      "abs",
      (value) => int(value < 0n ? -value : value),
      Math.abs,
      (value) => value,
    ),
  ),
  declare(
    "math.sign",
    ...numeric(
      "sign",
      (value) => (value > 0n ? 1n : value < 0n ? -1n : 0n),
      Math.sign,
      ({ value }) => uint(value > 0n ? 1n : 0n),
    ),
  ),
  bits("bitAnd", (left, right) => left & right),
  bits("bitOr", (left, right) => left | right),
  bits("bitXor", (left, right) => left ^ right),
  declare(
    "math.bitNot",
    overload("math_bitNot_int", "(int) -> int", (value: bigint) => ~value),
    overload("math_bitNot_uint", "(uint) -> uint", ({ value }: Uint) => new Uint(BigInt.asUintN(64, ~value))),
  ),
  shift("bitShiftLeft", (value, by) => value << by),
  shift("bitShiftRight", (value, by) => value >> by),
];
