/** Timestamps and durations: reading, writing, and the parts of a date. */
import { failure, overflow } from "./errors.ts";
import { Duration, Timestamp } from "./values.ts";

const SECOND = 1_000_000_000n;
const MAX_INT = 2n ** 63n - 1n;
/** From the year 1 to the end of 9999. */
const FIRST = -62_135_596_800n * SECOND;
const LAST = 253_402_300_799n * SECOND + 999_999_999n;

export function timestampOf(nanos: bigint): Timestamp {
  if (nanos < FIRST || nanos > LAST) throw overflow("timestamp");
  return new Timestamp(nanos);
}

export function durationOf(nanos: bigint): Duration {
  if (nanos > MAX_INT || nanos < -MAX_INT - 1n) throw overflow("duration");
  return new Duration(nanos);
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Reads RFC 3339; undefined where it is something else. */
export function readTimestamp(text: string): Timestamp | undefined {
  const found = RFC3339.exec(text);
  if (!found) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, zoneHour = "0", zoneMinute = "0"] = found;
  const parts = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(parts[0], parts[1] - 1, parts[2]);
  date.setUTCHours(parts[3], parts[4], parts[5]);
  const isReal =
    date.getUTCMonth() === parts[1] - 1 && date.getUTCDate() === parts[2] && date.getUTCSeconds() === parts[5];
  if (!isReal || parts[3] > 23 || parts[4] > 59) return undefined;
  const zone = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === "-" ? -60 : 60);
  const seconds = BigInt(date.getTime() / 1000 - zone);
  return timestampOf(seconds * SECOND + BigInt(fraction.padEnd(9, "0")));
}

/** RFC 3339 in UTC, with as many decimals as it needs. */
export function writeTimestamp({ nanos }: Timestamp): string {
  const seconds = floorDivide(nanos, SECOND);
  const fraction = String(nanos - seconds * SECOND)
    .padStart(9, "0")
    .replace(/0+$/, "");
  const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${date}${fraction && `.${fraction}`}Z`;
}

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1000n],
  ["µs", 1000n],
  ["μs", 1000n],
  ["ms", 1_000_000n],
  ["s", SECOND],
  ["m", 60n * SECOND],
  ["h", 3600n * SECOND],
]);

/** Reads `1h30m`, `-1.5s`, `0` as Go does; undefined where it is something else. */
export function readDuration(text: string): Duration | undefined {
  const found = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text);
  if (!found) return undefined;
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of (found[2] ?? "").matchAll(
    /(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g,
  )) {
    const size = UNITS.get(unit) ?? 0n;
    nanos += BigInt(whole || "0") * size;
    if (fraction) nanos += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  return durationOf(found[1] === "-" ? -nanos : nanos);
}

/** Seconds with as many decimals as it needs: `5400s`, `0.5s`. */
export function writeDuration({ nanos }: Duration): string {
  const magnitude = nanos < 0n ? -nanos : nanos;
  const fraction = String(magnitude % SECOND)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${nanos < 0n ? "-" : ""}${magnitude / SECOND}${fraction && `.${fraction}`}s`;
}

/** As Go's time package writes it: `1h30m0s`. */
export function writeGoDuration({ nanos }: Duration): string {
  if (nanos === 0n) return "0s";
  const sign = nanos < 0n ? "-" : "";
  const magnitude = nanos < 0n ? -nanos : nanos;
  if (magnitude < SECOND) {
    for (const [unit, digits] of [
      ["ms", 6],
      ["µs", 3],
      ["ns", 0],
    ] as const) {
      const size = 10n ** BigInt(digits);
      if (magnitude >= size) return `${sign}${decimal(magnitude, digits)}${unit}`;
    }
  }
  const hours = magnitude / (3600n * SECOND);
  const minutes = (magnitude / (60n * SECOND)) % 60n;
  const seconds = decimal(magnitude % (60n * SECOND), 9);
  return `${sign}${hours ? `${hours}h` : ""}${hours || minutes ? `${minutes}m` : ""}${seconds}s`;
}

function decimal(value: bigint, digits: number): string {
  const size = 10n ** BigInt(digits);
  const fraction = String(value % size)
    .padStart(digits, "0")
    .replace(/0+$/, "");
  return `${value / size}${digits > 0 && fraction ? `.${fraction}` : ""}`;
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

export type DatePart =
  | "year"
  | "month"
  | "date"
  | "dayOfMonth"
  | "dayOfWeek"
  | "dayOfYear"
  | "hours"
  | "minutes"
  | "seconds"
  | "milliseconds";

/** A part of a date as it is in a time zone: an IANA name or an offset such as `+05:30`. */
export function datePart({ nanos }: Timestamp, part: DatePart, zone = "UTC"): bigint {
  const milliseconds = Number(floorDivide(nanos, 1_000_000n));
  const date = new Date(milliseconds + zoneOffset(milliseconds, zone));
  switch (part) {
    case "year":
      return BigInt(date.getUTCFullYear());
    case "month":
      return BigInt(date.getUTCMonth());
    case "date":
      return BigInt(date.getUTCDate());
    case "dayOfMonth":
      return BigInt(date.getUTCDate() - 1);
    case "dayOfWeek":
      return BigInt(date.getUTCDay());
    case "dayOfYear": {
      const start = new Date(date);
      start.setUTCMonth(0, 1);
      return BigInt(Math.round((date.getTime() - start.getTime()) / 86_400_000));
    }
    case "hours":
      return BigInt(date.getUTCHours());
    case "minutes":
      return BigInt(date.getUTCMinutes());
    case "seconds":
      return BigInt(date.getUTCSeconds());
    case "milliseconds":
      return BigInt(date.getUTCMilliseconds());
  }
}

/** How far a zone is ahead of UTC at a moment, in milliseconds. */
function zoneOffset(milliseconds: number, zone: string): number {
  const fixed = /^([+-]?)(\d\d):(\d\d)$/.exec(zone);
  if (fixed) return (Number(fixed[2]) * 60 + Number(fixed[3])) * (fixed[1] === "-" ? -60_000 : 60_000);
  if (zone === "UTC" || zone === "") return 0;
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    const name = format.formatToParts(milliseconds).find(({ type }) => type === "timeZoneName")?.value ?? "GMT";
    const offset = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(name);
    if (!offset) return 0;
    const seconds = Number(offset[2]) * 3600 + Number(offset[3]) * 60 + Number(offset[4] ?? 0);
    return seconds * (offset[1] === "-" ? -1000 : 1000);
  } catch {
    throw failure(`unknown time zone ${zone}`);
  }
}
