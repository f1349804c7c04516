/** Patterns of schemas, which are written for Go's regexp package. */
import { compileRegex, type Regex, RegexError } from "#lib/regex";

/** The pattern, compiled, or undefined where it is not one. */
export function compilePattern(pattern: string): Regex | undefined {
  try {
    return compileRegex(pattern);
  } catch (error) {
    if (error instanceof RegexError) return undefined;
    throw error;
  }
}

/** Values such as types and reasons of conditions come again and again; so many of them, if they are short, are remembered. */
const MOST_KNOWN = 100;
const LONGEST_KNOWN = 100;

/** Whether a value matches the pattern; undefined where it is not one. */
export function matcherOf(pattern: string): ((value: string) => boolean) | undefined {
  const expression = compilePattern(pattern);
  if (!expression) return undefined;
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return true;
    if (!expression.test(value)) return false;
    if (value.length > LONGEST_KNOWN) return true;
    if (known.size >= MOST_KNOWN) known.clear();
    known.add(value);
    return true;
  };
}
