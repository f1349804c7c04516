import { errorText } from "./error-text.ts";
import type { Entry, Fields } from "./logger.ts";

const MAX_TEXT = 2_000;
const MAX_ITEMS = 10;

/** `2026-11-16T01:02:03.456Z INFO  registration  cluster=cluster1 accepted  by=ann` */
export function humanLine({ time, level, message, bound, fields }: Entry): string {
  const { component, ...context } = bound;
  const head = `${time.toISOString()} ${level.toUpperCase().padEnd(5)} ${component === undefined ? "" : `${text(component)}  `}`;
  const before = pairs(context);
  const after = pairs(fields);
  return `${head}${before && `${before} `}${escapeControls(message)}${after && `  ${after}`}`;
}

/** The same as one JSON object; time, level and message come first and cannot be overwritten by fields. */
export function jsonLine({ time, level, message, bound, fields }: Entry): string {
  const line = new Map<string, unknown>([
    ["time", time.toISOString()],
    ["level", level],
    ["message", message],
  ]);
  for (const [key, value] of [...Object.entries(bound), ...Object.entries(fields)]) {
    if (value === undefined) continue;
    const name = key === "time" || key === "level" || key === "message" ? `field.${key}` : key;
    line.set(name, typeof value === "boolean" || Number.isFinite(value) ? value : text(value));
  }
  return JSON.stringify(Object.fromEntries(line));
}

function pairs(fields: Fields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${escapeControls(key)}=${quoted(text(value))}`)
    .join(" ");
}

/** A value in a few words. Objects are not looked into: they may be large, and may hold secrets. */
function text(value: unknown): string {
  if (value instanceof Error) return cut(errorText(value));
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "invalid date" : value.toISOString();
  if (Array.isArray(value)) {
    const items = value.slice(0, MAX_ITEMS).map((item) => (Array.isArray(item) ? "[…]" : text(item)));
    return `[${items.join(",")}${value.length > MAX_ITEMS ? `,…+${value.length - MAX_ITEMS}` : ""}]`;
  }
  if (typeof value === "object" && value !== null) return "{…}";
  if (typeof value === "function" || typeof value === "symbol") return `(${typeof value})`;
  return cut(String(value));
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}

function quoted(text: string): string {
  return text === "" || /[\s"=\p{Cc}]/u.test(text) ? JSON.stringify(text) : text;
}

/** A line stays one line, and a terminal is told nothing, whatever the text brings along. */
function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (char) =>
    JSON.stringify(char)
      .slice(1, -1)
      .replace(/^[^\\]$/, hex),
  );
}

function hex(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
