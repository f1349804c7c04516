/** `"%d of %s".format([n, name])`. */
import { failure } from "../errors.ts";
import { formatDouble } from "../numbers.ts";
import { writeDuration, writeTimestamp } from "../time.ts";
import {
  type CelValue,
  Duration,
  isList,
  MapValue,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  typeNameOf,
  Uint,
} from "../values.ts";

/** As many decimals as Go gives where none are asked for. */
const DECIMALS = 6;

export function formatText(pattern: string, args: readonly CelValue[]): string {
  let next = 0;
  const result = pattern.replace(
    /%(%|(?:\.(\d+))?(.)?)/gs,
    (_, whole: string, digits: string | undefined, verb = "") => {
      if (whole === "%") return "%";
      if (verb === "") throw failure("unexpected end of format string");
      if (next >= args.length) throw failure(`index ${next} out of range`);
      return formatOne(verb, args[next++] ?? null, digits === undefined ? undefined : Number(digits));
    },
  );
  if (next < args.length)
    throw failure(`too many arguments supplied to string.format: expected ${next}, got ${args.length}`);
  return result;
}

function formatOne(verb: string, value: CelValue, digits: number | undefined): string {
  switch (verb) {
    case "s":
      return shown(value);
    case "d":
      if (typeof value === "number" && !Number.isFinite(value)) return doubleText(value);
      return whole(value, verb).toString();
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return signed(whole(value, verb), 2);
    case "o":
      return signed(whole(value, verb), 8);
    case "x":
    case "X": {
      const text = hex(value, verb);
      return verb === "X" ? text.toUpperCase() : text;
    }
    case "f":
      return decimal(value, verb, (number) => number.toFixed(Math.min(digits ?? DECIMALS, 100)));
    case "e":
      return decimal(value, verb, (number) => exponential(number, digits ?? DECIMALS));
    default:
      throw failure(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

function wrongType(verb: string, value: CelValue): Error {
  return failure(`error during formatting: %${verb} cannot be applied to ${typeNameOf(value)}`);
}

function whole(value: CelValue, verb: string): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof Uint) return value.value;
  throw wrongType(verb, value);
}

function hex(value: CelValue, verb: string): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return signed(whole(value, verb), 16);
}

function signed(value: bigint, base: number): string {
  return value.toString(base);
}

function decimal(value: CelValue, verb: string, format: (number: number) => string): string {
  const number = typeof value === "number" ? value : Number(whole(value, verb));
  return Number.isFinite(number) ? format(number) : doubleText(number);
}

function exponential(number: number, digits: number): string {
  return number
    .toExponential(Math.min(digits, 100))
    .replace(/e([+-])(\d)$/, (_, sign: string, digit: string) => `e${sign}0${digit}`);
}

function doubleText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  return formatDouble(value);
}

/** A value as text; maps are ordered by their keys, so that the text is always the same. */
function shown(value: CelValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "number") return doubleText(value);
  if (value === null) return "null";
  if (isList(value)) return `[${value.map(shown).join(", ")}]`;
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Timestamp) return writeTimestamp(value);
  if (value instanceof Duration) return writeDuration(value);
  if (value instanceof TypeValue) return value.typeName;
  if (value instanceof MapValue) {
    const entries = [...value.keys()].map((key) => [shown(key), shown(value.get(key) ?? null)] as const);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, text]) => `${key}: ${text}`).join(", ")}}`;
  }
  if (value instanceof Opaque || value instanceof Optional) throw wrongType("s", value);
  return String(value);
}
