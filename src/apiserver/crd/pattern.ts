/**
 * Patterns of schemas are written for Go's regexp package. Most mean the same in JavaScript; what does not is
 * rewritten here.
 */

const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

/** The pattern as a RegExp, or undefined where JavaScript cannot express it. */
export function compilePattern(pattern: string): RegExp | undefined {
  const { source, flags } = translate(pattern);
  // Unicode mode counts code points as Go does; it is stricter about escapes, so the lax mode is second.
  for (const mode of ["u", ""]) {
    try {
      return new RegExp(source, flags + mode);
    } catch {
      // the next mode may accept it
    }
  }
  return undefined;
}

function translate(pattern: string): { source: string; flags: string } {
  const leading = /^\(\?([ims]+)\)/.exec(pattern);
  const source = pattern
    .slice(leading?.[0].length ?? 0)
    .replace(/\(\?P</g, "(?<")
    .replace(/\[:(\w+):\]/g, (whole, name: string) =>
      Object.hasOwn(POSIX_CLASSES, name) ? (POSIX_CLASSES[name] ?? whole) : whole,
    )
    .replace(/\\[Az\\]/g, (sequence) => ANCHORS.get(sequence) ?? sequence);
  return { source, flags: [...new Set(leading?.[1])].join("") };
}

/** `\\` is listed so that the second half of an escaped backslash is not taken for the start of an anchor. */
const ANCHORS = new Map([
  ["\\A", "^"],
  ["\\z", "$"],
  ["\\\\", "\\\\"],
]);
