/** Arithmetic that notices when it leaves 64 bits, and numbers as text. */
import { failure, overflow } from "./errors.ts";
import { Uint } from "./values.ts";

const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;

export function int(value: bigint): bigint {
  if (value < MIN_INT || value > MAX_INT) throw overflow();
  return value;
}

export function uint(value: bigint): Uint {
  if (value < 0n || value > MAX_UINT) throw overflow("unsigned integer");
  return new Uint(value);
}

export function divide(left: bigint, right: bigint): bigint {
  if (right === 0n) throw failure("division by zero");
  return left / right;
}

export function modulo(left: bigint, right: bigint): bigint {
  if (right === 0n) throw failure("modulus by zero");
  return left % right;
}

/** A double as int or uint: what lies after the point is cut off. */
export function wholeOf(value: number, isUnsigned: boolean): bigint {
  if (!Number.isFinite(value)) throw overflow(isUnsigned ? "unsigned integer" : "integer");
  return BigInt(Math.trunc(value));
}

/** A double as Go's shortest `%g` writes it. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits = "0", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 6) {
    // Six digits before the point are the most that are written out.
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${digits}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  return String(value);
}
