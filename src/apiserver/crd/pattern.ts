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
