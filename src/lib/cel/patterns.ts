/** Patterns in expressions, compiled once for as long as they are in use. */
import { compileRegex, type Regex, RegexError } from "#lib/regex";
import { failure } from "./errors.ts";

/** Most are literals, and few; patterns made while running must not fill the memory. */
const MOST_KEPT = 500;
const kept = new Map<string, Regex>();

export function patternOf(source: string): Regex {
  const known = kept.get(source);
  if (known) return known;
  const compiled = compile(source);
  if (kept.size >= MOST_KEPT) {
    const [oldest] = kept.keys();
    if (oldest !== undefined) kept.delete(oldest);
  }
  kept.set(source, compiled);
  return compiled;
}

function compile(source: string): Regex {
  try {
    return compileRegex(source);
  } catch (error) {
    if (error instanceof RegexError) throw failure(error.message);
    throw error;
  }
}
