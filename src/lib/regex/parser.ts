/** Reads RE2's syntax. */
import { ignoringCase, inRanges, negated, perlClass, posixClass, unicodeClass } from "./classes.ts";
import { type CharTest, RegexError, type Syntax } from "./syntax.ts";

/** As in RE2: more copies of one expression would only make the machine large. */
const MOST_REPEATS = 1000;
const DEEPEST = 250;

interface Flags {
  ignoreCase: boolean;
  multiline: boolean;
  dotAll: boolean;
  ungreedy: boolean;
}

/** The tree of a pattern. Throws RegexError. */
export function parseRegex(pattern: string): Syntax {
  return new Parser(pattern).parse();
}

const EMPTY: Syntax = { kind: "empty" };

class Parser {
  readonly #pattern: string;
  readonly #chars: readonly string[];
  #at = 0;
  #depth = 0;
  #flags: Flags = { ignoreCase: false, multiline: false, dotAll: false, ungreedy: false };
  readonly #names = new Set<string>();

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#chars = Array.from(pattern);
  }

  parse(): Syntax {
    const tree = this.#choice();
    if (this.#at < this.#chars.length) throw new RegexError("unexpected )", this.#pattern);
    return tree;
  }

  #choice(): Syntax {
    if (++this.#depth > DEEPEST) throw new RegexError("expression nests too deeply", this.#pattern);
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    this.#depth--;
    return options.length === 1 && options[0] ? options[0] : { kind: "choice", options };
  }

  #sequence(): Syntax {
    const parts: Syntax[] = [];
    for (;;) {
      const next = this.#peek();
      if (next === undefined || next === "|" || next === ")") break;
      const part = this.#repeated();
      if (part.kind !== "empty") parts.push(part);
    }
    if (parts.length === 0) return EMPTY;
    return parts.length === 1 && parts[0] ? parts[0] : { kind: "sequence", parts };
  }

  #repeated(): Syntax {
    const start = this.#at;
    let body = this.#atom();
    let isRepeated = false;
    for (;;) {
      const from = this.#at;
      const bounds = this.#bounds();
      if (!bounds) return body;
      const lazy = this.#take("?");
      const operator = this.#text(from);
      if (isRepeated) throw new RegexError("invalid nested repetition operator", this.#text(start).slice(-2));
      if (body.kind === "empty" && this.#text(start, from) === "") {
        throw new RegexError("missing argument to repetition operator", operator);
      }
      const [min, max] = bounds;
      const isTooMuch = min > MOST_REPEATS || (max !== Number.POSITIVE_INFINITY && max > MOST_REPEATS);
      if (
        isTooMuch ||
        (max !== Number.POSITIVE_INFINITY && min > max) ||
        copies(body) * atLeastOne(bounds) > MOST_REPEATS
      ) {
        throw new RegexError("invalid repeat count", operator);
      }
      body = { kind: "repeat", body, min, max, greedy: lazy === this.#flags.ungreedy };
      isRepeated = true;
    }
  }

  /** How often, if a repetition operator is next. `{` that does not start one is a character. */
  #bounds(): readonly [number, number] | undefined {
    if (this.#take("*")) return [0, Number.POSITIVE_INFINITY];
    if (this.#take("+")) return [1, Number.POSITIVE_INFINITY];
    if (this.#take("?")) return [0, 1];
    if (this.#peek() !== "{") return undefined;
    const found = /^\{(\d{1,9})(,(\d{0,9}))?\}/.exec(this.#chars.slice(this.#at, this.#at + 22).join(""));
    if (!found) return undefined;
    this.#at += found[0].length;
    const min = Number(found[1]);
    if (found[2] === undefined) return [min, min];
    return [min, found[3] ? Number(found[3]) : Number.POSITIVE_INFINITY];
  }

  #atom(): Syntax {
    const char = this.#next();
    switch (char) {
      case "(":
        return this.#group();
      case "[":
        return { kind: "set", test: this.#class() };
      case ".":
        return this.#flags.dotAll ? ANY : ANY_BUT_NEWLINE;
      case "^":
        return { kind: "assert", assertion: this.#flags.multiline ? "lineStart" : "textStart" };
      case "$":
        return { kind: "assert", assertion: this.#flags.multiline ? "lineEnd" : "textEnd" };
      case "\\":
        return this.#escape();
      case "*":
      case "+":
      case "?":
        throw new RegexError("missing argument to repetition operator", char);
      default:
        return this.#literal(codeOf(char));
    }
  }

  #literal(code: number): Syntax {
    if (!this.#flags.ignoreCase) return { kind: "char", code };
    return { kind: "set", test: ignoringCase((other) => other === code) };
  }

  #group(): Syntax {
    if (!this.#take("?")) return this.#inGroup(this.#flags);
    const rest = this.#chars.slice(this.#at).join("");
    const named = /^P?<([^>]*)>/.exec(rest);
    if (named && !/^<[=!]/.test(rest)) {
      const name = named[1] ?? "";
      if (!/^[A-Za-z0-9_]+$/.test(name)) throw new RegexError("invalid named capture", `(?${named[0]}`);
      if (this.#names.has(name)) throw new RegexError("duplicate capture group name", name);
      this.#names.add(name);
      this.#at += Array.from(named[0]).length;
      return this.#inGroup(this.#flags);
    }
    const flags = /^([imsU]*)(?:-([imsU]+))?([:)])/.exec(rest);
    if (!flags || flags[0] === ")") throw new RegexError("invalid or unsupported Perl syntax", `(?${rest.slice(0, 1)}`);
    this.#at += flags[0].length;
    const changed = withFlags(this.#flags, flags[1] ?? "", flags[2] ?? "");
    if (flags[3] === ":") return this.#inGroup(changed);
    this.#flags = changed;
    return EMPTY;
  }

  /** What stands between parentheses; flags set inside end with them. */
  #inGroup(flags: Flags): Syntax {
    const outer = this.#flags;
    this.#flags = flags;
    const inner = this.#choice();
    if (!this.#take(")")) throw new RegexError("missing closing )", this.#pattern);
    this.#flags = outer;
    // An empty group is something that can be repeated, unlike nothing.
    return inner.kind === "empty" ? { kind: "sequence", parts: [] } : inner;
  }

  #escape(): Syntax {
    const char = this.#peek();
    if (char === undefined) throw new RegexError("trailing backslash at end of expression", "");
    const assertion = ASSERTIONS.get(char);
    if (assertion) {
      this.#at++;
      return { kind: "assert", assertion };
    }
    if (char === "Q") return this.#quoted();
    const test = this.#escapedClass();
    if (test) return { kind: "set", test: this.#flags.ignoreCase ? ignoringCase(test) : test };
    return this.#literal(this.#escapedChar());
  }

  #quoted(): Syntax {
    this.#at++;
    const parts: Syntax[] = [];
    while (this.#at < this.#chars.length) {
      if (this.#peek() === "\\" && this.#chars[this.#at + 1] === "E") {
        this.#at += 2;
        break;
      }
      parts.push(this.#literal(codeOf(this.#next())));
    }
    return { kind: "sequence", parts };
  }

  /** `\d`, `\pL`, `\p{Greek}`: what follows a backslash, if it is a class. */
  #escapedClass(): CharTest | undefined {
    const letter = this.#peek() ?? "";
    const perl = perlClass(letter);
    if (perl) {
      this.#at++;
      return perl;
    }
    if (letter !== "p" && letter !== "P") return undefined;
    const found = /^[pP](?:\{(\^?)(\w+)\}|(\w))/.exec(this.#chars.slice(this.#at, this.#at + 64).join(""));
    const test = found ? unicodeClass(found[2] ?? found[3] ?? "") : undefined;
    if (!found || !test) throw new RegexError("invalid character class range", `\\${found?.[0] ?? letter}`);
    this.#at += found[0].length;
    return (letter === "P") === (found[1] === "^") ? test : negated(test);
  }

  #escapedChar(): number {
    const rest = this.#chars.slice(this.#at, this.#at + 12).join("");
    const code = /^x(?:\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2}))/.exec(rest);
    if (code) {
      const value = Number.parseInt(code[1] ?? code[2] ?? "", 16);
      if (value > 0x10ffff) throw new RegexError("invalid escape sequence", `\\${code[0]}`);
      this.#at += code[0].length;
      return value;
    }
    const octal = /^(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/.exec(rest);
    if (octal) {
      this.#at += octal[0].length;
      return Number.parseInt(octal[0], 8);
    }
    const char = this.#next();
    const control = CONTROLS.get(char);
    if (control !== undefined) return control;
    if (/[A-Za-z0-9]/.test(char) || codeOf(char) > 0x7f) throw new RegexError("invalid escape sequence", `\\${char}`);
    return codeOf(char);
  }

  #class(): CharTest {
    const start = this.#at - 1;
    const isNegated = this.#take("^");
    const ranges: [number, number][] = [];
    const tests: CharTest[] = [];
    let isFirst = true;
    for (;;) {
      const char = this.#peek();
      if (char === undefined) throw new RegexError("missing closing ]", this.#text(start));
      if (char === "]" && !isFirst) break;
      isFirst = false;
      const test = this.#classInClass();
      if (test) tests.push(test);
      else ranges.push(this.#range());
    }
    this.#at++;
    const inClass = inRanges(ranges);
    let test: CharTest = tests.length === 0 ? inClass : (code) => inClass(code) || tests.some((one) => one(code));
    if (this.#flags.ignoreCase) test = ignoringCase(test);
    return isNegated ? negated(test) : test;
  }

  #classInClass(): CharTest | undefined {
    if (this.#peek() === "[" && this.#chars[this.#at + 1] === ":") {
      const found = /^\[:(\^?\w+):\]/.exec(this.#chars.slice(this.#at, this.#at + 20).join(""));
      if (!found) return undefined;
      const test = posixClass(found[1] ?? "");
      if (!test) throw new RegexError("invalid character class range", found[0]);
      this.#at += found[0].length;
      return test;
    }
    if (this.#peek() !== "\\") return undefined;
    this.#at++;
    const test = this.#escapedClass();
    if (!test) this.#at--;
    return test;
  }

  #range(): [number, number] {
    const start = this.#at;
    const low = this.#classChar();
    if (this.#peek() !== "-" || this.#chars[this.#at + 1] === "]" || this.#chars[this.#at + 1] === undefined) {
      return [low, low];
    }
    this.#at++;
    const high = this.#classChar();
    if (high < low) throw new RegexError("invalid character class range", this.#text(start));
    return [low, high];
  }

  #classChar(): number {
    const char = this.#next();
    return char === "\\" ? this.#escapedChar() : codeOf(char);
  }

  #peek(): string | undefined {
    return this.#chars[this.#at];
  }

  #next(): string {
    const char = this.#chars[this.#at++];
    if (char === undefined) throw new RegexError("trailing backslash at end of expression", "");
    return char;
  }

  #take(char: string): boolean {
    if (this.#chars[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #text(from: number, to = this.#at): string {
    return this.#chars.slice(from, to).join("");
  }
}

const ANY: Syntax = { kind: "set", test: () => true };
const ANY_BUT_NEWLINE: Syntax = { kind: "set", test: (code) => code !== 0x0a };

const ASSERTIONS = new Map([
  ["A", "textStart"],
  ["z", "textEnd"],
  ["b", "wordBoundary"],
  ["B", "notWordBoundary"],
] as const) as ReadonlyMap<string, "textStart" | "textEnd" | "wordBoundary" | "notWordBoundary">;

const CONTROLS: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);

function withFlags(flags: Flags, on: string, off: string): Flags {
  const changed = { ...flags };
  for (const [letters, value] of [
    [on, true],
    [off, false],
  ] as const) {
    if (letters.includes("i")) changed.ignoreCase = value;
    if (letters.includes("m")) changed.multiline = value;
    if (letters.includes("s")) changed.dotAll = value;
    if (letters.includes("U")) changed.ungreedy = value;
  }
  return changed;
}

function atLeastOne([min, max]: readonly [number, number]): number {
  return Math.max(1, max === Number.POSITIVE_INFINITY ? min : max);
}

/** How often the innermost expression is copied when counted repetitions are written out. */
function copies(tree: Syntax): number {
  switch (tree.kind) {
    case "repeat":
      return copies(tree.body) * atLeastOne([tree.min, tree.max]);
    case "sequence":
      return Math.max(1, ...tree.parts.map(copies));
    case "choice":
      return Math.max(1, ...tree.options.map(copies));
    default:
      return 1;
  }
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0;
}
