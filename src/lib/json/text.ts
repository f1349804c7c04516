import { randomUUID } from "node:crypto";

export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Only a number of sixteen digits or more can lie beyond what a double holds exactly. */
const MAYBE_UNSAFE = /\d{16}/;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;

/** Reads JSON text; integers that a number cannot hold come back as BigInt. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return MAYBE_UNSAFE.test(text) ? JSON.parse(markUnsafe(text), revive) : JSON.parse(text);
}

/** Writes JSON text; BigInt becomes a plain number. */
export function stringifyJson(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const marked = JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? `${MARK}${inner}` : inner), indent);
    return marked.replace(new RegExp(`"${MARK}(-?\\d+)"`, "g"), "$1");
  }
}

/** What no text can hold by chance or by malice: made anew in every process, and never shown to anybody. */
const MARK = `\uE0F1${randomUUID()}:`;

/** Rewrites every integer beyond 2^53 outside of strings to a marked string, which `revive` reads back. */
function markUnsafe(text: string): string {
  let out = "";
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    const char = text.charCodeAt(at);
    if (char === 0x22) {
      at = endOfString(text, at);
      continue;
    }
    if (char === 0x2d || (char >= 0x30 && char <= 0x39)) {
      NUMBER.lastIndex = at;
      const match = NUMBER.exec(text);
      if (!match) break; // not JSON: JSON.parse will say where
      const [digits, fraction, exponent] = match;
      if (!fraction && !exponent && !Number.isSafeInteger(Number(digits))) {
        out += `${text.slice(copied, at)}"${MARK}${digits}"`;
        copied = at + digits.length;
      }
      at += digits.length;
      continue;
    }
    at++;
  }
  return out + text.slice(copied);
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x5c) at++;
    else if (char === 0x22) return at + 1;
  }
  return text.length;
}

function revive(_: string, value: unknown): unknown {
  return typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value;
}
