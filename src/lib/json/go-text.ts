import { isObject, stringifyJson } from "./text.ts";

/** JSON letter by letter as Go writes it: the names of a map in order, and no character that browsers may misread. */
export function goJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`;
  if (!isObject(value)) return goEscaped(stringifyJson(value));
  const names = Object.keys(value).sort(byBytes);
  return `{${names.map((name) => `${goJson(name)}:${goJson(value[name])}`).join(",")}}`;
}

/** JSON text with the characters escaped that Go escapes besides those that have to be. */
export function goEscaped(text: string): string {
  return text.replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** As UTF-8 has them, and not by halves of surrogate pairs. */
function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
