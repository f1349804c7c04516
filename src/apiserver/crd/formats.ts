/** The formats of OpenAPI that a schema may ask for. A format that is not listed accepts everything. */
import { isIPv4, isIPv6 } from "node:net";

type StringFormat = (text: string) => boolean;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const TIME = /^(\d{2}):(\d{2}):(\d{2})(\.\d+)?(z|[+-]\d{2}:\d{2})$/i;
const HOSTNAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*\.?$/i;
const MAC = /^([0-9a-f]{2}([:-])[0-9a-f]{2}(\2[0-9a-f]{2}){4,6}|[0-9a-f]{4}(\.[0-9a-f]{4}){2,3})$/i;
const GO_DURATION = /^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w)\s*)+$/;
const ISO_DURATION = /^\d+(\.\d+)?\s+(nanosecond|microsecond|millisecond|second|minute|hour|day|week)s?$/i;

const STRING_FORMATS: ReadonlyMap<string, StringFormat> = new Map<string, StringFormat>([
  ["date", isDate],
  ["date-time", isDateTime],
  ["datetime", isDateTime],
  ["duration", (text) => text === "0" || GO_DURATION.test(text) || ISO_DURATION.test(text)],
  ["email", (text) => text.length <= 320 && /^[^@\s]+@[^@\s]+$/.test(text)],
  ["hostname", (text) => text.length <= 255 && HOSTNAME.test(text)],
  ["ipv4", isIPv4],
  ["ipv6", isPlainIPv6],
  ["cidr", isCidr],
  ["mac", (text) => MAC.test(text)],
  ["uri", (text) => /^([a-z][a-z0-9+.-]*:|\/)/i.test(text) && !hasSpaceOrControl(text)],
  ["uuid", (text) => UUID.test(text)],
  ["uuid3", (text) => isUuidVersion(text, "3")],
  ["uuid4", (text) => isUuidVersion(text, "4")],
  ["uuid5", (text) => isUuidVersion(text, "5")],
  ["byte", isBase64],
  ["bsonobjectid", (text) => /^[0-9a-f]{24}$/i.test(text)],
  ["creditcard", (text) => /^[\d -]{13,23}$/.test(text) && hasLuhnSum(text.replace(/[ -]/g, ""))],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["ssn", (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ["hexcolor", (text) => /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)],
  ["rgbcolor", isRgbColor],
]);

const INTEGER_RANGES: ReadonlyMap<string, readonly [bigint, bigint]> = new Map([
  ["int32", [-(2n ** 31n), 2n ** 31n - 1n]],
  ["int64", [-(2n ** 63n), 2n ** 63n - 1n]],
]);

/** The check of a format for strings, where it has one. */
export function stringFormat(name: string): StringFormat | undefined {
  return STRING_FORMATS.get(name);
}

/** The smallest and the largest integer of a format, where it has them. */
export function integerRange(name: string): readonly [bigint, bigint] | undefined {
  return INTEGER_RANGES.get(name);
}

/** RFC 3339 with date, time and zone. */
export function isDateTime(text: string): boolean {
  const [date = "", time = "", ...more] = text.split(/t/i);
  if (more.length > 0 || !isDate(date)) return false;
  const match = TIME.exec(time);
  return match !== null && Number(match[1]) < 24 && Number(match[2]) < 60 && Number(match[3]) < 61;
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!match) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes("%");
}

function isCidr(text: string): boolean {
  const [address = "", prefix = "", ...more] = text.split("/");
  if (more.length > 0 || !/^\d{1,3}$/.test(prefix)) return false;
  return (isIPv4(address) && Number(prefix) <= 32) || (isPlainIPv6(address) && Number(prefix) <= 128);
}

function hasSpaceOrControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) <= 0x20) return true;
  return false;
}

function isUuidVersion(text: string, version: string): boolean {
  return UUID.test(text) && text.replaceAll("-", "")[12] === version;
}

/** Without a repeated group: the bytes may be megabytes, and a backtracking engine keeps every repetition. */
function isBase64(text: string): boolean {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.slice(0, text.length - padding));
}

function hasLuhnSum(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[- ]/g, "");
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (10 - index) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[- ]/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 1 ? 3 : 1), 0) % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const match = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  return match?.slice(1).every((part) => Number(part) <= 255) ?? false;
}
