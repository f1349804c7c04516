/** What can be wrong with an expression, and where. */

/** One complaint about an expression; `offset` counts UTF-16 units from its start. */
export interface Issue {
  readonly message: string;
  readonly offset: number;
}

/**
 * What went wrong: the expression cannot be read, its types do not fit, it failed while running, or it did more
 * work than it was allowed to.
 */
export type CelErrorKind = "syntax" | "type" | "evaluation" | "cost";

export class CelError extends Error {
  override name = "CelError";
  readonly kind: CelErrorKind;
  readonly issues: readonly Issue[];
  /** What had been spent when evaluation failed. */
  cost = 0;

  constructor(kind: CelErrorKind, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.kind = kind;
    this.issues = issues;
  }
}

/** The error of an expression that could not be compiled: every complaint with the line it is about. */
export function compileError(kind: "syntax" | "type", source: string, issues: readonly Issue[]): CelError {
  return new CelError(kind, issues.map((issue) => shownIn(source, issue)).join("\n"), issues);
}

/** An error while an expression runs. */
export function failure(message: string): CelError {
  return new CelError("evaluation", message);
}

export function noSuchKey(key: unknown): CelError {
  return failure(`no such key: ${String(key)}`);
}

export function outOfBounds(index: unknown): CelError {
  return failure(`index out of bounds: ${String(index)}`);
}

export function overflow(what = "integer"): CelError {
  return failure(`${what} overflow`);
}

/** Line (from 1) and column (from 0, in characters) of an offset. */
export function positionOf(source: string, offset: number): { line: number; column: number } {
  const before = source.slice(0, offset).split("\n");
  return { line: before.length, column: Array.from(before.at(-1) ?? "").length };
}

const LONGEST_SNIPPET = 16384;

function shownIn(source: string, { message, offset }: Issue): string {
  const { line, column } = positionOf(source, offset);
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
  const text = (source.split("\n")[line - 1] ?? "").replaceAll("\t", " ");
  if (text.length > LONGEST_SNIPPET) return head;
  const chars = Array.from(text);
  const dots = chars.slice(0, column).map((char) => (isWide(char) ? "．" : "."));
  return `${head}\n | ${text}\n | ${dots.join("")}${isWide(chars[column] ?? "") ? "＾" : "^"}`;
}

function isWide(char: string): boolean {
  return (char.codePointAt(0) ?? 0) > 0x7f;
}
