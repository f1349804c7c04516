/** Spans of time as people write them, `1h30m`, and as they read them in tables: coarse, short, as kubectl prints. */

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

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/** Milliseconds of `90s`, `1.5h`, `1h30m` or `365d`; undefined for what is no span of time. */
export function parseDuration(text: string): number | undefined {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map(([all]) => all).join("") !== text) return undefined;
  return parts.reduce((total, [, amount, unit]) => total + Number(amount) * (UNITS[unit ?? ""] ?? 0), 0);
}

const WIRE_DURATION = /^[-+]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/;

/** Whether a program written in Go, as every other API server is, would read it as a span of time. */
export function isWireDuration(text: string): boolean {
  return WIRE_DURATION.test(text);
}
