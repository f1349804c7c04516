/** `@every 1h30m`: the same span of time again and again, from whenever one starts to count. */
import { CronError } from "./parse.ts";
import type { Schedule } from "./schedule.ts";

const EVERY = "@every ";
const SECOND_MS = 1000;

const UNITS: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", SECOND_MS],
  ["m", 60 * SECOND_MS],
  ["h", 3600 * SECOND_MS],
]);

/** The schedule of a text that names an interval; undefined for every other text. */
export function interval(text: string): Schedule | undefined {
  if (!text.startsWith(EVERY)) return undefined;
  const span = text.slice(EVERY.length);
  const ms = durationOf(span);
  if (ms === undefined) {
    throw new CronError(`failed to parse duration ${text}: time: invalid duration ${JSON.stringify(span)}`);
  }
  const step = Math.max(SECOND_MS, wholeSeconds(ms));
  return {
    next: (after) => new Date(wholeSeconds(after.getTime()) + step),
    latest(after, until) {
      const start = wholeSeconds(after.getTime());
      const steps = Math.floor((until.getTime() - start) / step);
      return steps < 1 ? undefined : new Date(start + steps * step);
    },
  };
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / SECOND_MS) * SECOND_MS;
}

/** Milliseconds of `1h30m`, `1.5s` or `0`, as Go reads them. */
function durationOf(text: string): number | undefined {
  const found = /^([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+|0)$/.exec(text);
  if (!found) return undefined;
  const parts = (found[2] ?? "").matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g);
  const ms = [...parts].reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (UNITS.get(unit) ?? 0), 0);
  return found[1] === "-" ? -ms : ms;
}
