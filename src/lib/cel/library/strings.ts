/** More functions on strings. */
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { characterIndex, characters, unitIndex } from "../text.ts";
import type { CelValue } from "../values.ts";
import { formatText } from "./string-format.ts";

type List = readonly CelValue[];

function charAt(text: string, index: bigint): string {
  const chars = characters(text);
  if (index < 0n || index > chars.length) throw failure(`index out of range: ${index}`);
  return chars.slice(Number(index), Number(index) + 1);
}

function indexOf(text: string, part: string, from = 0n): bigint {
  const { length } = characters(text);
  if (from < 0n || from > length) throw failure(`index out of range: ${from}`);
  if (part === "") return from;
  const found = text.indexOf(part, unitIndex(text, Number(from)));
  return found < 0 ? -1n : BigInt(characterIndex(text, found));
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const { length } = characters(text);
  if (from !== undefined && (from < 0n || from > length)) throw failure(`index out of range: ${from}`);
  if (part === "") return from ?? BigInt(length);
  const found = text.lastIndexOf(part, from === undefined ? undefined : unitIndex(text, Number(from)));
  return found < 0 ? -1n : BigInt(characterIndex(text, found));
}

function substring(text: string, from: bigint, to?: bigint): string {
  const chars = characters(text);
  const end = to ?? BigInt(chars.length);
  if (from < 0n || from > chars.length) throw failure(`index out of range: ${from}`);
  if (end < 0n || end > chars.length) throw failure(`index out of range: ${end}`);
  if (from > end) throw failure(`invalid substring range. start: ${from}, end: ${end}`);
  return chars.slice(Number(from), Number(end));
}

function replace(text: string, old: string, by: string, limit = -1n): string {
  if (limit === 0n) return text;
  if (limit < 0n) return text.replaceAll(old, () => by);
  // Nothing stands between any two characters, and at both ends.
  const parts = old === "" ? ["", ...Array.from(text), ""] : text.split(old);
  const count = Math.min(parts.length - 1, Number(limit));
  const head = parts.slice(0, count + 1).join(by);
  const tail = parts.slice(count + 1);
  return tail.length === 0 ? head : head + old + tail.join(old);
}

function split(text: string, by: string, limit = -1n): string[] {
  if (limit === 0n) return [];
  const parts = by === "" ? Array.from(text) : text.split(by);
  if (limit < 0n || parts.length <= limit) return parts;
  const count = Number(limit) - 1;
  return [...parts.slice(0, count), parts.slice(count).join(by)];
}

function join(list: List, by = ""): string {
  for (const item of list)
    if (typeof item !== "string") throw failure("no such overload: join of items that are not strings");
  return list.join(by);
}

/** What Unicode calls white space; JavaScript's trim also takes the byte order mark. */
const SPACE = "[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const OUTER_SPACE = new RegExp(`^${SPACE}+|${SPACE}+$`, "g");

const QUOTED: ReadonlyMap<string, string> = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

function quote(text: string): string {
  return `"${Array.from(text, (char) => QUOTED.get(char) ?? char).join("")}"`;
}

const ascii = (text: string, pattern: RegExp, by: (char: string) => string) => text.replace(pattern, by);

export const stringLibrary: readonly FunctionDeclaration[] = [
  declare("charAt", overload("string_char_at_int", "string.(int) -> string", charAt)),
  declare(
    "indexOf",
    overload("string_index_of_string", "string.(string) -> int", (text: string, part: string) => indexOf(text, part)),
    overload("string_index_of_string_int", "string.(string, int) -> int", (text: string, part: string, from: bigint) =>
      indexOf(text, part, from),
    ),
  ),
  declare(
    "lastIndexOf",
    overload("string_last_index_of_string", "string.(string) -> int", (text: string, part: string) =>
      lastIndexOf(text, part),
    ),
    overload(
      "string_last_index_of_string_int",
      "string.(string, int) -> int",
      (text: string, part: string, from: bigint) => lastIndexOf(text, part, from),
    ),
  ),
  declare(
    "lowerAscii",
    overload("string_lower_ascii", "string.() -> string", (text: string) =>
      ascii(text, /[A-Z]+/g, (found) => found.toLowerCase()),
    ),
  ),
  declare(
    "upperAscii",
    overload("string_upper_ascii", "string.() -> string", (text: string) =>
      ascii(text, /[a-z]+/g, (found) => found.toUpperCase()),
    ),
  ),
  declare(
    "replace",
    overload(
      "string_replace_string_string",
      "string.(string, string) -> string",
      (text: string, old: string, by: string) => replace(text, old, by),
    ),
    overload(
      "string_replace_string_string_int",
      "string.(string, string, int) -> string",
      (text: string, old: string, by: string, limit: bigint) => replace(text, old, by, limit),
    ),
  ),
  declare(
    "split",
    overload("string_split_string", "string.(string) -> list(string)", (text: string, by: string) => split(text, by)),
    overload(
      "string_split_string_int",
      "string.(string, int) -> list(string)",
      (text: string, by: string, limit: bigint) => split(text, by, limit),
    ),
  ),
  declare(
    "substring",
    overload("string_substring_int", "string.(int) -> string", (text: string, from: bigint) => substring(text, from)),
    overload("string_substring_int_int", "string.(int, int) -> string", (text: string, from: bigint, to: bigint) =>
      substring(text, from, to),
    ),
  ),
  declare(
    "trim",
    overload("string_trim", "string.() -> string", (text: string) => text.replace(OUTER_SPACE, "")),
  ),
  declare(
    "join",
    overload("list_join", "list(string).() -> string", (list: List) => join(list)),
    overload("list_join_string", "list(string).(string) -> string", (list: List, by: string) => join(list, by)),
  ),
  declare(
    "reverse",
    overload("string_reverse", "string.() -> string", (text: string) => Array.from(text).reverse().join("")),
  ),
  declare("strings.quote", overload("strings_quote", "(string) -> string", quote)),
  declare("format", overload("string_format", "string.(list(dyn)) -> string", formatText)),
];
