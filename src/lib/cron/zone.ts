/** Time zones, as the platform's database knows them. */
import { timestamp } from "#lib/clock";

export interface Zone {
  readonly name: string;
  /** Milliseconds by which its clocks are ahead of UTC at a moment. */
  offsetAt(ms: number): number;
}

export const UTC: Zone = { name: "UTC", offsetAt: () => 0 };

/** Parts of names in the database; this also keeps out offsets such as `+01:00`, which are no names. */
const PART = /^[A-Za-z._0-9+][A-Za-z._\-0-9+]{0,13}$/;

/** The zone of that name; undefined where there is none. */
export function zoneNamed(name: string): Zone | undefined {
  if (name === "UTC") return UTC;
  const parts = name.split("/");
  if (!parts.every((part) => PART.test(part) && part !== "." && part !== "..") || /^[+\d]/.test(name)) return undefined;
  const format = formatFor(name);
  if (!format) return undefined;
  // The platform does not care about capitals; Kubernetes does.
  const known = format.resolvedOptions().timeZone;
  if (known !== name && known.toLowerCase() === name.toLowerCase()) return undefined;
  return { name, offsetAt: (ms) => offsetOf(format, ms) };
}

function formatFor(timeZone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function offsetOf(format: Intl.DateTimeFormat, ms: number): number {
  const seconds = Math.floor(ms / 1000) * 1000;
  const shown = new Map(format.formatToParts(seconds).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? 0;
  const wall = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  return wall - seconds;
}

const MINUTE_MS = 60_000;

/** RFC 3339 in whole seconds as the zone's clocks show it: `2026-06-01T09:00:00+02:00`. */
export function timestampIn({ offsetAt }: Zone, date: Date): string {
  const offset = offsetAt(date.getTime());
  const wall = timestamp(new Date(date.getTime() + offset));
  if (offset === 0) return wall;
  const minutes = Math.abs(Math.trunc(offset / MINUTE_MS));
  const two = (number: number) => String(number).padStart(2, "0");
  return `${wall.slice(0, -1)}${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
