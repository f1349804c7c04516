/** How long ago something was, in the short form that `kubectl get` shows. */

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** The time since a timestamp; `<unknown>` where there is none. */
export function age(since: unknown, now: Date): string {
  const then = typeof since === "string" ? Date.parse(since) : Number.NaN;
  return Number.isNaN(then) ? "<unknown>" : humanDuration((now.getTime() - then) / 1000);
}

/** A duration with two units while it is short and one when it is long: 90s, 2m5s, 3h20m, 2d3h, 41d, 2y30d. */
export function humanDuration(exactSeconds: number): string {
  if (exactSeconds <= -2) return "<invalid>"; // a clock that is behind by a moment is no fault
  const seconds = Math.max(0, Math.trunc(exactSeconds));
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return inUnits(seconds, MINUTE, "m", 1, "s");
  if (seconds < 3 * HOUR) return inUnits(seconds, MINUTE, "m");
  if (seconds < 8 * HOUR) return inUnits(seconds, HOUR, "h", MINUTE, "m");
  if (seconds < 2 * DAY) return inUnits(seconds, HOUR, "h");
  if (seconds < 8 * DAY) return inUnits(seconds, DAY, "d", HOUR, "h");
  if (seconds < 2 * YEAR) return inUnits(seconds, DAY, "d");
  if (seconds < 8 * YEAR) return inUnits(seconds, YEAR, "y", DAY, "d");
  return inUnits(seconds, YEAR, "y");
}

function inUnits(seconds: number, large: number, largeName: string, small?: number, smallName = ""): string {
  const whole = `${Math.floor(seconds / large)}${largeName}`;
  const rest = small ? Math.floor((seconds % large) / small) : 0;
  return rest === 0 ? whole : `${whole}${rest}${smallName}`;
}
