/**
 * The canonical form of a quantity: no fraction, the largest suffix that leaves an integer, in the family of
 * suffixes it was written in. Values that are already short are kept as they were written, as Go does.
 */

type Format = "decimal" | "exponent" | "binary";

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;
const DECIMAL = new Map([
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
const SUFFIX = new Map([...DECIMAL].map(([suffix, exponent]) => [exponent, suffix]));
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

const MAX_BINARY = 2n ** 63n - 1n;
/** Nothing is smaller than a nano; what is gets rounded away from zero. */
const SMALLEST = -9;
/** Numbers longer than this are nobody's memory; refusing them keeps the arithmetic cheap. */
const MAX_DIGITS = 400;

export const QUANTITY_ERROR =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/** The canonical form, or undefined when the text is not a quantity. */
export function canonicalQuantity(text: string): string | undefined {
  const match = QUANTITY.exec(text);
  if (!match || text.length > MAX_DIGITS) return undefined;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = match;
  if (whole === "" && fraction === "") return undefined;
  const num = whole.replace(/^0+/, "") || "0";
  const digits = num + fraction;
  const value = BigInt(digits);
  if (value === 0n) return "0";

  const binary = BINARY.indexOf(suffix);
  if (binary > 0) {
    if (staysBinary(num, fraction, value, binary)) return text;
    return show(sign, value << BigInt(binary * 10), -fraction.length, "binary");
  }

  const byExponent = /^[eE]./.test(suffix);
  const exponent = byExponent ? Number(suffix.slice(1)) : (DECIMAL.get(suffix) ?? 0);
  if (Math.abs(exponent) > MAX_DIGITS) return undefined;
  const scale = exponent - fraction.length;
  if (staysDecimal(digits, scale)) return text;
  return show(sign, value, scale, byExponent ? "exponent" : "decimal");
}

/** Few digits, and no eight in them that could make a larger suffix. */
function staysBinary(num: string, fraction: string, value: bigint, suffix: number): boolean {
  return fraction === "" && 15 - num.length - suffix * 3 - 1 >= 0 && (value & 7n) !== 0n;
}

/** Few digits, a scale that has a suffix, and no thousand in them that could make a larger one. */
function staysDecimal(digits: string, scale: number): boolean {
  return (
    digits.length <= 18 && scale >= SMALLEST && scale % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0")
  );
}

function show(sign: string, value: bigint, scale: number, format: Format): string {
  const minus = sign === "-" ? "-" : "";
  let [amount, exponent] = scale < SMALLEST ? [divideUp(value, SMALLEST - scale), SMALLEST] : [value, scale];
  while (amount % 10n === 0n) {
    amount /= 10n;
    exponent++;
  }
  if (format === "binary") {
    const integer = exponent >= 0 ? amount * 10n ** BigInt(exponent) : amount / 10n ** BigInt(-exponent);
    if (integer >= MAX_BINARY) return `${minus}${MAX_BINARY}`;
    // Fractions, and what is below 1Ki, have no binary suffix.
    if (exponent >= 0 && integer >= 1024n) return minus + showBinary(integer);
  }
  while (exponent % 3 !== 0 || (format !== "exponent" && exponent > 18)) {
    amount *= 10n;
    exponent--;
  }
  if (format === "exponent") return `${minus}${amount}${exponent === 0 ? "" : `e${exponent}`}`;
  return `${minus}${amount}${SUFFIX.get(exponent)}`;
}

function showBinary(value: bigint): string {
  let amount = value;
  let suffix = 0;
  while (amount % 1024n === 0n) {
    amount /= 1024n;
    suffix++;
  }
  return `${amount}${BINARY[suffix]}`;
}

/** Divides by a power of ten, rounding away from zero. */
function divideUp(value: bigint, power: number): bigint {
  const divisor = 10n ** BigInt(power);
  return (value + divisor - 1n) / divisor;
}
