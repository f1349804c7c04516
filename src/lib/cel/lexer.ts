/** Splits an expression into words. */
import type { Issue } from "./errors.ts";
import { type CelValue, Uint } from "./values.ts";

export type TokenKind = "ident" | "escaped" | "literal" | "operator" | "end";

export interface Token {
  readonly kind: TokenKind;
  /** The word itself; names without their backticks. */
  readonly text: string;
  readonly value: CelValue;
  readonly offset: number;
  /** An integer without its sign may be one more than the largest, if a minus stands before it. */
  readonly magnitude?: bigint;
}

/** Thrown by lexer and parser: they stop at the first complaint. */
export class SyntaxIssue extends Error implements Issue {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

const OPERATORS = ["&&", "||", "==", "!=", "<=", ">=", ..."<>+-*/%!?:.,()[]{}="];

const NUMBER = /(?:0[xX]([0-9a-fA-F]+)([uU])?)|((?:\d+\.\d+|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|(\d+)([uU])?/y;
const IDENT = /[A-Za-z_][A-Za-z0-9_]*/y;
const ESCAPED_IDENT = /`([A-Za-z0-9_.\-/ ]+)`/y;
const STRING_START = /([rR][bB]?|[bB][rR]?)?("""|'''|"|')/y;
const SPACE = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y;

export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const read = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(source);
  };
  while (at < source.length) {
    const space = read(SPACE);
    if (space) {
      at += space[0].length;
      continue;
    }
    const offset = at;
    const start = read(STRING_START);
    if (start) {
      const [token, end] = stringToken(source, offset, start);
      tokens.push(token);
      at = end;
      continue;
    }
    const number = read(NUMBER);
    // `.5` is a number, but not after a name or a closing bracket, where the dot selects.
    if (number && !(source[at] === "." && endsOperand(tokens.at(-1)))) {
      tokens.push(numberToken(number, offset));
      at += number[0].length;
      continue;
    }
    const escaped = read(ESCAPED_IDENT);
    if (escaped) {
      tokens.push({ kind: "escaped", text: escaped[1] ?? "", value: null, offset });
      at += escaped[0].length;
      continue;
    }
    const ident = read(IDENT);
    if (ident) {
      tokens.push(word(ident[0], offset));
      at += ident[0].length;
      continue;
    }
    const operator = OPERATORS.find((text) => source.startsWith(text, at));
    if (operator === undefined || operator === "=") {
      const char = String.fromCodePoint(source.codePointAt(at) ?? 0);
      throw new SyntaxIssue(`Syntax error: token recognition error at: '${char}'`, at);
    }
    tokens.push({ kind: "operator", text: operator, value: null, offset });
    at += operator.length;
  }
  tokens.push({ kind: "end", text: "<EOF>", value: null, offset: source.length });
  return tokens;
}

function word(text: string, offset: number): Token {
  switch (text) {
    case "true":
    case "false":
      return { kind: "literal", text, value: text === "true", offset };
    case "null":
      return { kind: "literal", text, value: null, offset };
    case "in":
      return { kind: "operator", text, value: null, offset };
    default:
      return { kind: "ident", text, value: null, offset };
  }
}

function endsOperand(token: Token | undefined): boolean {
  if (!token) return false;
  return token.kind === "operator" ? [")", "]", "}"].includes(token.text) : true;
}

const LARGEST_INT = 2n ** 63n - 1n;
const LARGEST_UINT = 2n ** 64n - 1n;

function numberToken(found: RegExpExecArray, offset: number): Token {
  const [text, hex, hexUnsigned, float, digits, unsigned] = found;
  if (float !== undefined) return { kind: "literal", text, value: Number(float), offset };
  const magnitude = hex === undefined ? BigInt(digits ?? "0") : BigInt(`0x${hex}`);
  if (hexUnsigned ?? unsigned) {
    if (magnitude > LARGEST_UINT) throw new SyntaxIssue("invalid uint literal", offset);
    return { kind: "literal", text, value: new Uint(magnitude), offset };
  }
  if (magnitude > LARGEST_INT + 1n) throw new SyntaxIssue("invalid int literal", offset);
  return { kind: "literal", text, value: magnitude, offset, magnitude };
}

function stringToken(source: string, offset: number, start: RegExpExecArray): [Token, number] {
  const prefix = (start[1] ?? "").toLowerCase();
  const quote = start[2] ?? '"';
  const isRaw = prefix.includes("r");
  const isBytes = prefix.includes("b");
  const isLong = quote.length === 3;
  let at = offset + start[0].length;
  const parts: (string | number)[] = [];
  for (;;) {
    if (at >= source.length) throw new SyntaxIssue("Syntax error: unterminated string literal", offset);
    if (source.startsWith(quote, at)) break;
    const char = String.fromCodePoint(source.codePointAt(at) ?? 0);
    if (!isLong && (char === "\n" || char === "\r")) {
      throw new SyntaxIssue("Syntax error: unterminated string literal", offset);
    }
    if (char === "\\" && !isRaw) {
      const [code, width] = readEscape(source, at, isBytes);
      parts.push(code);
      at += width;
    } else if (char === "\\" && isRaw) {
      // A raw string keeps its backslashes, yet one before a quote keeps the string open.
      const after = source[at + 1] ?? "";
      const width = after === quote[0] || after === "\\" ? 2 : 1;
      parts.push(source.slice(at, at + width));
      at += width;
    } else {
      parts.push(char);
      at += char.length;
    }
  }
  const end = at + quote.length;
  const value = isBytes ? bytesOf(parts) : textOf(parts);
  return [{ kind: "literal", text: source.slice(offset, end), value, offset }, end];
}

const SIMPLE_ESCAPES: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["b", 8],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
  ["\\", 92],
  ["?", 63],
  ["'", 39],
  ['"', 34],
  ["`", 96],
]);

/** The code that an escape stands for (a byte in bytes, otherwise a code point) and how long it is. */
function readEscape(source: string, at: number, isBytes: boolean): [number, number] {
  const letter = source[at + 1] ?? "";
  const simple = SIMPLE_ESCAPES.get(letter);
  if (simple !== undefined) return [simple, 2];
  const coded = /^\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/.exec(
    source.slice(at, at + 10),
  );
  if (!coded) throw new SyntaxIssue(`Syntax error: invalid escape sequence '\\${letter}'`, at);
  const [text, hex, short, long, octal] = coded;
  if (isBytes && (short ?? long) !== undefined) {
    throw new SyntaxIssue("Syntax error: unicode escapes are not allowed in bytes", at);
  }
  const code = octal === undefined ? Number.parseInt(hex ?? short ?? long ?? "0", 16) : Number.parseInt(octal, 8);
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw new SyntaxIssue("Syntax error: invalid unicode code point", at);
  }
  return [code, text.length];
}

function textOf(parts: readonly (string | number)[]): string {
  return parts.map((part) => (typeof part === "string" ? part : String.fromCodePoint(part))).join("");
}

function bytesOf(parts: readonly (string | number)[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => (typeof part === "number" ? [part] : [...Buffer.from(part)])));
}
