/** Base64, and what patterns find. */
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { patternOf } from "../patterns.ts";

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;

function decode(text: string): Uint8Array {
  if (!BASE64.test(text)) throw failure("illegal base64 data");
  return new Uint8Array(Buffer.from(text, "base64"));
}

export const encoderLibrary: readonly FunctionDeclaration[] = [
  declare("base64.decode", overload("base64_decode_string", "(string) -> bytes", decode)),
  declare(
    "base64.encode",
    overload("base64_encode_bytes", "(bytes) -> string", (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")),
  ),
];

function find(text: string, pattern: string): string {
  const match = patternOf(pattern).find(text);
  return match ? text.slice(match.start, match.end) : "";
}

function findAll(text: string, pattern: string, limit = -1n): string[] {
  const most = limit < 0n ? Number.POSITIVE_INFINITY : Number(limit);
  return patternOf(pattern)
    .findAll(text, most)
    .map(({ start, end }) => text.slice(start, end));
}

export const regexLibrary: readonly FunctionDeclaration[] = [
  declare("find", overload("string_find_string", "string.(string) -> string", find)),
  declare(
    "findAll",
    overload("string_find_all_string", "string.(string) -> list(string)", (text: string, pattern: string) =>
      findAll(text, pattern),
    ),
    overload(
      "string_find_all_string_int",
      "string.(string, int) -> list(string)",
      (text: string, pattern: string, limit: bigint) => findAll(text, pattern, limit),
    ),
  ),
];
