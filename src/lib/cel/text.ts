/** Strings by code points, as expressions count them. */

const SURROGATE = /[\ud800-\udfff]/;

export function codePointCount(text: string): number {
  if (!SURROGATE.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The characters of a text; a string itself where each is one unit, which needs no copy. */
export function characters(text: string): { readonly length: number; slice(from: number, to?: number): string } {
  if (!SURROGATE.test(text)) return text;
  const chars = Array.from(text);
  return { length: chars.length, slice: (from, to) => chars.slice(from, to).join("") };
}

/** How many characters come before a position that counts UTF-16 units. */
export function characterIndex(text: string, unit: number): number {
  return codePointCount(text.slice(0, unit));
}

/** The UTF-16 unit at which a character starts. */
export function unitIndex(text: string, character: number): number {
  if (!SURROGATE.test(text)) return character;
  return Array.from(text).slice(0, character).join("").length;
}
