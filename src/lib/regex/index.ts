/**
 * Regular expressions in RE2's syntax that match in time linear to the text, whatever the pattern: patterns come
 * from strangers (schemas, rules), and a backtracking engine would let one of them stop the whole process.
 */
export { compileRegex, type Match, Regex } from "./regex.ts";
export { RegexError } from "./syntax.ts";
