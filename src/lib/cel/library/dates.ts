/** The parts of timestamps and durations. */
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { type DatePart, datePart } from "../time.ts";
import type { Duration, Timestamp } from "../values.ts";

const PARTS: readonly (readonly [string, DatePart])[] = [
  ["getFullYear", "year"],
  ["getMonth", "month"],
  ["getDate", "date"],
  ["getDayOfMonth", "dayOfMonth"],
  ["getDayOfWeek", "dayOfWeek"],
  ["getDayOfYear", "dayOfYear"],
  ["getHours", "hours"],
  ["getMinutes", "minutes"],
  ["getSeconds", "seconds"],
  ["getMilliseconds", "milliseconds"],
];

/** How many nanoseconds make up one of what a duration is counted in: always the whole duration. */
const DURATION_UNITS = new Map<DatePart, bigint>([
  ["hours", 3_600_000_000_000n],
  ["minutes", 60_000_000_000n],
  ["seconds", 1_000_000_000n],
  ["milliseconds", 1_000_000n],
]);

export const dateLibrary: readonly FunctionDeclaration[] = PARTS.map(([name, part]) => {
  const unit = DURATION_UNITS.get(part);
  const ofDuration =
    unit === undefined
      ? []
      : [overload(`duration_to_${part}`, "duration.() -> int", ({ nanos }: Duration) => nanos / unit)];
  return declare(
    name,
    overload(`timestamp_to_${part}`, "timestamp.() -> int", (at: Timestamp) => datePart(at, part)),
    overload(`timestamp_to_${part}_with_tz`, "timestamp.(string) -> int", (at: Timestamp, zone: string) =>
      datePart(at, part, zone),
    ),
    ...ofDuration,
  );
});
