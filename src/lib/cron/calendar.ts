/**
 * When a pattern comes up: at every moment at which the clocks of the zone show a minute that it names. A time
 * that is skipped when clocks go forward does not come up, one that happens twice comes up twice.
 *
 * A day is written as the moment at which it would begin in UTC, so that days can be counted without a calendar.
 */
import type { Pattern } from "./parse.ts";
import type { Schedule } from "./schedule.ts";
import type { Zone } from "./zone.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A pattern that names no day in so many years (the 31st of February) names none at all. */
const YEARS_AHEAD = 5;

export function calendar(pattern: Pattern, zone: Zone): Schedule {
  const minutes = minutesOf(pattern);
  const timesOn = (day: number): number[] =>
    spansOf(day, zone).flatMap(({ offset, from, until }) =>
      minutes.map((minute) => day + minute - offset).filter((time) => time >= from && time < until),
    );
  const dayOf = (ms: number) => Math.floor((ms + zone.offsetAt(ms)) / DAY) * DAY;

  return {
    next(after) {
      const start = after.getTime();
      const lastYear = new Date(dayOf(start)).getUTCFullYear() + YEARS_AHEAD;
      for (let day = dayOf(start); new Date(day).getUTCFullYear() <= lastYear; day += DAY) {
        if (!fits(pattern, day)) continue;
        const found = timesOn(day).find((time) => time > start);
        if (found !== undefined) return new Date(found);
      }
      return undefined;
    },
    latest(after, until) {
      const [start, end] = [after.getTime(), until.getTime()];
      for (let day = dayOf(end); day >= dayOf(start); day -= DAY) {
        if (!fits(pattern, day)) continue;
        const found = timesOn(day).findLast((time) => time > start && time <= end);
        if (found !== undefined) return new Date(found);
      }
      return undefined;
    },
  };
}

/** The pattern's times of day, in milliseconds from midnight, in order. */
function minutesOf({ hours, minutes }: Pattern): number[] {
  return [...hours]
    .flatMap((hour) => [...minutes].map((minute) => hour * HOUR + minute * MINUTE))
    .sort((a, b) => a - b);
}

function fits({ days, months, weekdays, bothDays }: Pattern, day: number): boolean {
  const date = new Date(day);
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const byDay = days.has(date.getUTCDate());
  const byWeekday = weekdays.has(date.getUTCDay());
  return bothDays ? byDay && byWeekday : byDay || byWeekday;
}

/** A stretch of time in which clocks are not changed. */
interface Span {
  readonly offset: number;
  readonly from: number;
  readonly until: number;
}

/** Clocks are ahead of UTC by at most this, and behind it by less. */
const FURTHEST_OFFSET = 14 * HOUR;

/** The stretches that a day may reach into. Clocks are never changed twice within two days. */
function spansOf(day: number, { offsetAt }: Zone): Span[] {
  const [first, last] = [day - FURTHEST_OFFSET, day + DAY + FURTHEST_OFFSET];
  const [before, after] = [offsetAt(first), offsetAt(last)];
  if (before === after) return [{ offset: before, from: -Infinity, until: Infinity }];
  let [low, high] = [first, last];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return [
    { offset: before, from: -Infinity, until: high },
    { offset: after, from: high, until: Infinity },
  ];
}
