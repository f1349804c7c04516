/** A moment as protobuf keeps it. */
export interface Moment {
  readonly seconds: number;
  readonly nanos: number;
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;
const SIX_DECIMALS = /T\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;

/** What Go calls the zero time, 0001-01-01T00:00:00Z: it is shown as null. */
const ZERO_SECONDS = -62_135_596_800;
const LAST_SECONDS = 253_402_300_799; // 9999-12-31T23:59:59Z

/** Reads RFC 3339; undefined when it is not that. */
export function readTime(text: string): Moment | undefined {
  const match = RFC3339.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", sign, offsetHours = "0", offsetMinutes = "0"] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  // A day that the month does not have, or an hour that the day does not have, would carry over.
  if (date.getUTCDate() !== Number(day) || date.getUTCMonth() !== Number(month) - 1) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  if (Number(offsetHours) > 24 || Number(offsetMinutes) > 59) return undefined;
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60 * (sign === "-" ? -1 : 1);
  const moment = { seconds: date.getTime() / 1000 - offset, nanos: Number(fraction.slice(0, 9).padEnd(9, "0")) };
  return isShowable(moment) ? moment : undefined;
}

/** Reads RFC 3339 with exactly six decimals, the only form that MicroTime accepts. */
export function readMicroTime(text: string): Moment | undefined {
  return SIX_DECIMALS.test(text) ? readTime(text) : undefined;
}

export function isZeroTime({ seconds, nanos }: Moment): boolean {
  return seconds === ZERO_SECONDS && nanos === 0;
}

/** Whether a year of four digits can show it. */
export function isShowable({ seconds, nanos }: Moment): boolean {
  return seconds >= ZERO_SECONDS && seconds <= LAST_SECONDS && nanos >= 0 && nanos < 1_000_000_000;
}

/** `2006-01-02T15:04:05Z` */
export function showTime({ seconds }: Moment): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** `2006-01-02T15:04:05.000000Z` */
export function showMicroTime({ seconds, nanos }: Moment): string {
  const micros = String(Math.floor(nanos / 1000)).padStart(6, "0");
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${micros}Z`;
}
