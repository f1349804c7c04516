/** Finding one's way in JSON text without reading it. */

const QUOTE = '"';
const BACKSLASH = 0x5c;

/**
 * Where the string that opens at `start` closes; the end of the text for one that does not. Looks from quote to quote,
 * because most of a text is inside of strings, and the engine searches faster than a loop does.
 */
export function endOfString(text: string, start: number): number {
  let at = text.indexOf(QUOTE, start + 1);
  while (at > 0 && isEscaped(text, at)) at = text.indexOf(QUOTE, at + 1);
  return at > 0 ? at : text.length;
}

/** Whether an odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}
