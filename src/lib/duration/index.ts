/** Spans of time as people read them in tables: coarse, short, and the same as kubectl prints. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** The two largest units that still say something: `5s`, `2m3s`, `12m`, `3h5m`, `2d4h`, `10d`, `2y35d`. */
export function humanDuration(ms: number): string {
  if (ms <= -2 * SECOND) return "<invalid>";
  if (ms < 0) return "0s"; // clocks differ a little
  if (ms < 2 * MINUTE) return `${whole(ms, SECOND)}s`;
  if (ms < 10 * MINUTE) return both(ms, [MINUTE, "m"], [SECOND, "s"]);
  if (ms < 3 * HOUR) return `${whole(ms, MINUTE)}m`;
  if (ms < 8 * HOUR) return both(ms, [HOUR, "h"], [MINUTE, "m"]);
  if (ms < 2 * DAY) return `${whole(ms, HOUR)}h`;
  if (ms < 8 * DAY) return both(ms, [DAY, "d"], [HOUR, "h"]);
  if (ms < 2 * YEAR) return `${whole(ms, DAY)}d`;
  if (ms < 8 * YEAR) return both(ms, [YEAR, "y"], [DAY, "d"]);
  return `${whole(ms, YEAR)}y`;
}

type Unit = readonly [size: number, letter: string];

function both(ms: number, [large, largeLetter]: Unit, [small, smallLetter]: Unit): string {
  const rest = whole(ms % large, small);
  return `${whole(ms, large)}${largeLetter}${rest > 0 ? `${rest}${smallLetter}` : ""}`;
}

function whole(ms: number, unit: number): number {
  return Math.floor(ms / unit);
}
