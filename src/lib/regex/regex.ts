/** Runs a pattern over a text, one character at a time, with every alternative alive at once. */
import { isWordChar } from "./classes.ts";
import { parseRegex } from "./parser.ts";
import { assemble, type Instruction } from "./program.ts";
import type { Assertion } from "./syntax.ts";

/** Where a match lies, in UTF-16 units, so that `text.slice(start, end)` is what matched. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

/** Compiles a pattern; throws RegexError where it is not RE2's syntax. */
export function compileRegex(pattern: string): Regex {
  return new Regex(pattern);
}

/** In instructions of a program. */
const MOST_KEPT = 1000;

export class Regex {
  readonly source: string;
  readonly #program: readonly Instruction[];
  #kept: [Threads, Threads] | undefined;

  constructor(pattern: string) {
    this.source = pattern;
    this.#program = assemble(parseRegex(pattern));
  }

  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean {
    return this.#run(text, 0, true) !== undefined;
  }

  /** The leftmost match that starts at `from` or later; alternatives that come first win. */
  find(text: string, from = 0): Match | undefined {
    return this.#run(text, from, false);
  }

  /** Matches that do not overlap, from left to right, at most `limit` of them. */
  findAll(text: string, limit = Number.POSITIVE_INFINITY): Match[] {
    const found: Match[] = [];
    let from = 0;
    let lastEnd = -1;
    while (found.length < limit && from <= text.length) {
      const match = this.find(text, from);
      if (!match) break;
      const isEmpty = match.end === match.start;
      // An empty match that touches the one before says nothing new.
      if (!isEmpty || match.start !== lastEnd) found.push(match);
      lastEnd = match.end;
      from = isEmpty ? match.end + widthAt(text, match.end) : match.end;
    }
    return found;
  }

  /** Two empty sets; small ones are kept for the next run, large ones would only take up memory. */
  #threads(): [Threads, Threads] {
    const { length } = this.#program;
    const [current, next] = this.#kept ?? [new Threads(length), new Threads(length)];
    current.clear();
    next.clear();
    if (length <= MOST_KEPT) this.#kept = [current, next];
    return [current, next];
  }

  #run(text: string, from: number, isTest: boolean): Match | undefined {
    const program = this.#program;
    let [current, next] = this.#threads();
    let found: Match | undefined;

    for (let at = from; ; ) {
      if (!found) follow(program, current, 0, at, text, at);
      if (current.size === 0) break;
      const code = text.codePointAt(at);
      const width = code === undefined ? 0 : code > 0xffff ? 2 : 1;
      for (let index = 0; index < current.size; index++) {
        const place = current.place(index);
        const instruction = program[place];
        if (!instruction) continue;
        if (instruction.op === "match") {
          found = { start: current.start(index), end: at };
          if (isTest) return found;
          break; // what comes after has lower priority
        }
        if (code === undefined) continue;
        const fits =
          instruction.op === "char" ? instruction.code === code : instruction.op === "set" && instruction.test(code);
        if (fits) follow(program, next, place + 1, current.start(index), text, at + width);
      }
      if (code === undefined) break;
      at += width;
      [current, next] = [next, current];
      next.clear();
    }
    return found;
  }
}

function widthAt(text: string, at: number): number {
  const code = text.codePointAt(at);
  return code !== undefined && code > 0xffff ? 2 : 1;
}

/** The alternatives that are alive, in order of priority, each at most once. */
class Threads {
  size = 0;
  readonly #places: Int32Array;
  readonly #starts: Int32Array;
  readonly #index: Int32Array;
  readonly stack: number[] = [];

  constructor(capacity: number) {
    this.#places = new Int32Array(capacity);
    this.#starts = new Int32Array(capacity);
    this.#index = new Int32Array(capacity);
  }

  place(index: number): number {
    return this.#places[index] ?? 0;
  }

  start(index: number): number {
    return this.#starts[index] ?? 0;
  }

  /** False where this place is taken. */
  add(place: number, start: number): boolean {
    const index = this.#index[place] ?? 0;
    if (index < this.size && this.#places[index] === place) return false;
    this.#index[place] = this.size;
    this.#places[this.size] = place;
    this.#starts[this.size] = start;
    this.size++;
    return true;
  }

  clear(): void {
    this.size = 0;
  }
}

/** Adds a thread, and follows jumps, splits and assertions until each thread waits for a character. */
function follow(
  program: readonly Instruction[],
  threads: Threads,
  from: number,
  start: number,
  text: string,
  at: number,
): void {
  const { stack } = threads;
  stack.push(from);
  for (;;) {
    const place = stack.pop();
    if (place === undefined) return;
    if (!threads.add(place, start)) continue;
    const instruction = program[place];
    if (instruction?.op === "jump") stack.push(instruction.to);
    else if (instruction?.op === "split") stack.push(instruction.second, instruction.first);
    else if (instruction?.op === "assert" && holds(instruction.assertion, text, at)) stack.push(place + 1);
  }
}

function holds(assertion: Assertion, text: string, at: number): boolean {
  switch (assertion) {
    case "textStart":
      return at === 0;
    case "textEnd":
      return at === text.length;
    case "lineStart":
      return at === 0 || text[at - 1] === "\n";
    case "lineEnd":
      return at === text.length || text[at] === "\n";
    default: {
      const before = at > 0 ? text.charCodeAt(at - 1) : undefined;
      const after = at < text.length ? text.charCodeAt(at) : undefined;
      const isBoundary = isWordChar(before) !== isWordChar(after);
      return isBoundary === (assertion === "wordBoundary");
    }
  }
}
