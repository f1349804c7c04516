/**
 * Schedules in cron's form: five fields with names, ranges, steps and lists, `@hourly` and its like, `@every 90m`;
 * in any time zone, and right on the days when clocks are changed.
 */
import { calendar } from "./calendar.ts";
import { interval } from "./interval.ts";
import { parseFields } from "./parse.ts";
import type { Schedule } from "./schedule.ts";
import { UTC, type Zone } from "./zone.ts";

export { CronError } from "./parse.ts";
export type { Schedule } from "./schedule.ts";
export { timestampIn, UTC, type Zone, zoneNamed } from "./zone.ts";

const NAMED: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

/** Reads a schedule whose fields are meant in a time zone. Throws CronError. */
export function parseSchedule(text: string, zone: Zone = UTC): Schedule {
  return interval(text) ?? calendar(parseFields(NAMED.get(text) ?? text), zone);
}
