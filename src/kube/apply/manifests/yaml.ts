/**
 * YAML as kubectl reads it, which is not quite YAML 1.2: `yes` is true, `0644` is 420, `<<` merges, and integers are
 * exact. A file mode that is read differently here than by kubectl would be another file mode on the cluster.
 */
import { FAILSAFE_SCHEMA, type LoadOptions, load, Type, YAMLException } from "js-yaml";
import { clone, parseJson } from "#lib/json";

/** One document of a text, or what is wrong with it. Lines count from 1 and in the whole text. */
export interface YamlDocument {
  readonly line: number;
  readonly value?: unknown;
  readonly problem?: string;
}

const TRUE = new Set(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]);
const FALSE = new Set(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]);
const NULL = new Set(["", "~", "null", "Null", "NULL"]);

const SCHEMA = FAILSAFE_SCHEMA.extend({
  implicit: [
    scalar(
      "null",
      (text) => text === null || NULL.has(text),
      () => null,
    ),
    scalar(
      "bool",
      (text) => text !== null && (TRUE.has(text) || FALSE.has(text)),
      (text) => TRUE.has(text),
    ),
    scalar(
      "int",
      (text) => text !== null && integerOf(text) !== undefined,
      (text) => integerOf(text),
    ),
    scalar(
      "float",
      (text) => text !== null && floatOf(text) !== undefined,
      (text) => floatOf(text),
    ),
    scalar(
      "merge",
      (text) => text === null || text === "<<",
      (text) => text,
    ),
  ],
});

function scalar(name: string, is: (text: string | null) => boolean, construct: (text: string) => unknown): Type {
  return new Type(`tag:yaml.org,2002:${name}`, { kind: "scalar", resolve: is, construct });
}

const INTEGER = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
/** What Go takes for an integer; anything larger becomes a float there. */
const LARGEST_INTEGER = 2n ** 64n - 1n;
const SMALLEST_INTEGER = -(2n ** 63n);

function integerOf(text: string): number | bigint | undefined {
  if (!/^[-+0-9]/.test(text)) return undefined;
  const [, sign, digits] = INTEGER.exec(text.replaceAll("_", "")) ?? [];
  if (digits === undefined) return undefined;
  const octal = /^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits;
  const value = BigInt(octal.toLowerCase()) * (sign === "-" ? -1n : 1n);
  if (value > LARGEST_INTEGER || value < SMALLEST_INTEGER) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function floatOf(text: string): number | undefined {
  const plain = text.replaceAll("_", "");
  if (!/^[-+0-9.]/.test(text) || !FLOAT.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? value : undefined;
}

/** The documents of a text that hold anything. A broken document does not hide what is wrong with the others. */
export function parseDocuments(text: string): YamlDocument[] {
  const plain = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return partsOf(plain).flatMap(({ line, text: part }): YamlDocument[] => {
    if (isEmpty(part)) return [];
    const { value, problem, problemLine = 0 } = parsed(part);
    if (problem !== undefined) return [{ line: line + problemLine, problem }];
    return value === null || value === undefined ? [] : [{ line: line + leadingLines(part), value }];
  });
}

function partsOf(text: string): { line: number; text: string }[] {
  const parts: { line: number; text: string }[] = [];
  let current: string[] = [];
  let start = 1;
  const finish = (next: number) => {
    parts.push({ line: start, text: current.join("\n") });
    current = [];
    start = next;
  };
  for (const [index, line] of text.split("\n").entries()) {
    if (/^---(?=\s|$)/.test(line)) {
      finish(index + 1);
      current.push(`   ${line.slice(3)}`); // what stands behind the mark belongs to the document, at its column
    } else if (/^\.\.\.\s*$/.test(line)) finish(index + 2);
    else current.push(line);
  }
  finish(0);
  return parts;
}

/** Nothing but blanks, comments and directives. */
function isEmpty(part: string): boolean {
  return part.split("\n").every((line) => /^\s*(?:#.*)?$/.test(line) || line.startsWith("%"));
}

function leadingLines(part: string): number {
  return part.split("\n").findIndex((line) => !/^\s*(?:#.*)?$/.test(line));
}

/** Deeper than any object that a server takes. */
const DEEPEST = 500;
/** The parser has a bound of its own, which its types do not tell of; definitions of large kinds come near it. */
const OPTIONS: LoadOptions & { maxDepth: number } = { schema: SCHEMA, maxDepth: DEEPEST };

function parsed(text: string): { value?: unknown; problem?: string; problemLine?: number } {
  if (text.trimStart().startsWith("{")) {
    try {
      return bounded(parseJson(text), text.length);
    } catch {
      // Flow style of YAML begins with the same bracket.
    }
  }
  try {
    return bounded(load(text, OPTIONS), text.length);
  } catch (error) {
    if (error instanceof RangeError) return { problem: TOO_DEEP };
    if (!(error instanceof YAMLException)) throw error;
    // The message of the parser quotes lines of the file, which may hold secrets; its reason does not.
    return { problem: error.reason, problemLine: error.mark?.line ?? 0 };
  }
}

const TOO_DEEP = `it is nested deeper than ${DEEPEST} levels`;
/** Without aliases every value takes a character at least. */
const ALIASED = "its aliases unfold to far more than the text holds";
/** Aliases that repeat a block are no attack; those of an attack multiply. */
const GROWTH = 10;

/** A few bytes of aliases can stand for more values than fit into memory. */
function bounded(root: unknown, size: number): { value?: unknown; problem?: string } {
  let count = 0;
  const problemOf = (value: unknown, depth: number): string | undefined => {
    if (depth > DEEPEST) return TOO_DEEP;
    if (++count > size * GROWTH) return ALIASED;
    if (typeof value !== "object" || value === null) return undefined;
    for (const inner of Object.values(value)) {
      const problem = problemOf(inner, depth + 1);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  const problem = problemOf(root, 0);
  return problem === undefined ? { value: clone(root) } : { problem };
}
