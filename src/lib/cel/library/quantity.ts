/** Quantities of resources: `500m`, `1.5Gi`. */
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { Opaque } from "../values.ts";

export const QUANTITY_TYPE = "kubernetes.Quantity";

/** Nothing finer than a nano is kept; it is rounded away from zero. */
const NANO = 1_000_000_000n;
const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;

class Quantity extends Opaque {
  readonly typeName = QUANTITY_TYPE;
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }

  equals(other: Opaque): boolean {
    return other instanceof Quantity && other.nanos === this.nanos;
  }

  get integer(): bigint | undefined {
    const whole = this.nanos / NANO;
    return this.nanos % NANO === 0n && whole >= MIN_INT && whole <= MAX_INT ? whole : undefined;
  }
}

const DECIMAL_EXPONENTS: ReadonlyMap<string, number> = new Map([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const BINARY_EXPONENTS: ReadonlyMap<string, bigint> = new Map([
  ["Ki", 10n],
  ["Mi", 20n],
  ["Gi", 30n],
  ["Ti", 40n],
  ["Pi", 50n],
  ["Ei", 60n],
]);

const SYNTAX = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d{1,3})|([numkMGTPE]|[KMGTPE]i)?)$/;

function readQuantity(text: string): Quantity | undefined {
  const found = SYNTAX.exec(text);
  if (!found) return undefined;
  const [, sign, number = "", exponent, suffix = ""] = found;
  const [whole = "", fraction = ""] = number.split(".");
  const digits = BigInt(`${whole}${fraction}` || "0") << (BINARY_EXPONENTS.get(suffix) ?? 0n);
  const decimal = exponent ? Number(exponent.slice(1)) : (DECIMAL_EXPONENTS.get(suffix) ?? 0);
  const magnitude = scaled(digits, decimal - fraction.length + 9);
  return new Quantity(sign === "-" ? -magnitude : magnitude);
}

function scaled(value: bigint, exponent: number): bigint {
  if (exponent >= 0) return value * 10n ** BigInt(exponent);
  const by = 10n ** BigInt(-exponent);
  return (value + by - 1n) / by;
}

function quantityOf(text: string): Quantity {
  const quantity = readQuantity(text);
  if (!quantity) {
    throw failure("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  return quantity;
}

const own = (
  name: string,
  result: string,
  call: (quantity: Quantity) => bigint | boolean | number,
): FunctionDeclaration => declare(name, overload(`quantity_${name}`, `${QUANTITY_TYPE}.() -> ${result}`, call));

const pair = (
  name: string,
  result: string,
  call: (left: Quantity, right: Quantity) => bigint | boolean,
): FunctionDeclaration =>
  declare(name, overload(`quantity_${name}`, `${QUANTITY_TYPE}.(${QUANTITY_TYPE}) -> ${result}`, call));

const sum = (name: string, call: (left: bigint, right: bigint) => bigint): FunctionDeclaration =>
  declare(
    name,
    overload(
      `quantity_${name}`,
      `${QUANTITY_TYPE}.(${QUANTITY_TYPE}) -> ${QUANTITY_TYPE}`,
      (left: Quantity, right: Quantity) => new Quantity(call(left.nanos, right.nanos)),
    ),
    overload(
      `quantity_${name}_int`,
      `${QUANTITY_TYPE}.(int) -> ${QUANTITY_TYPE}`,
      (left: Quantity, right: bigint) => new Quantity(call(left.nanos, right * NANO)),
    ),
  );

const signOf = (value: bigint) => (value > 0n ? 1n : value < 0n ? -1n : 0n);

export const quantityLibrary: readonly FunctionDeclaration[] = [
  declare("quantity", overload("string_to_quantity", `(string) -> ${QUANTITY_TYPE}`, quantityOf)),
  declare(
    "isQuantity",
    overload("is_quantity_string", "(string) -> bool", (text: string) => readQuantity(text) !== undefined),
  ),
  own("sign", "int", ({ nanos }) => signOf(nanos)),
  // Kubernetes documents the member and declares the function; both are had.
  declare(
    "sign",
    overload("quantity_sign", `(${QUANTITY_TYPE}) -> int`, ({ nanos }: Quantity) => signOf(nanos)),
  ),
  own("isInteger", "bool", ({ integer }) => integer !== undefined),
  own("asInteger", "int", ({ integer }) => {
    if (integer === undefined) throw failure("cannot convert value to integer");
    return integer;
  }),
  own("asApproximateFloat", "double", ({ nanos }) => Number(nanos) / Number(NANO)),
  pair("isGreaterThan", "bool", (left, right) => left.nanos > right.nanos),
  pair("isLessThan", "bool", (left, right) => left.nanos < right.nanos),
  pair("compareTo", "int", (left, right) => signOf(left.nanos - right.nanos)),
  sum("add", (left, right) => left + right),
  sum("sub", (left, right) => left - right),
];
