/** Text to steps. A hand-written scanner: the dialect is small, and messages can say where it broke. */

export type Step =
  | { type: "fields"; names: string[] }
  | { type: "wildcard" }
  | { type: "descend" }
  | { type: "slices"; slices: Slice[] }
  | { type: "filter"; filter: Filter };

export interface Slice {
  start?: number;
  end?: number;
  step: number;
  /** `[3]` is a slice of one, and unlike `[3:4]` may count from the end without an end of its own. */
  single: boolean;
}

export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=";

export interface Filter {
  left: Operand;
  /** Without an operator the filter asks whether the left side exists. */
  comparison?: { operator: Operator; right: Operand };
}

export type Operand = { path: Step[] } | { literal: string | number | boolean | null };

/** Deeper nesting of filters has no use, and the parser recurses. */
const DEEPEST_FILTER = 16;

const FIELD_ENDS = new Set(" \t\r\n.,[]$@{}()");
const FILTER_ENDS = new Set("=!<>'\"");
const SPACE = /\s/;

export function parse(text: string): Step[] {
  const trimmed = text.trim();
  const braced = trimmed.startsWith("{") && trimmed.endsWith("}");
  const scanner = new Scanner(braced ? trimmed.slice(1, -1).trim() : trimmed, text);
  const steps = scanner.path();
  scanner.end();
  if (steps.length > 0 && steps.at(-1)?.type === "descend") scanner.fail("nothing follows ..");
  return steps;
}

class Scanner {
  readonly #text: string;
  readonly #whole: string;
  #at = 0;
  #depth = 0;

  constructor(text: string, whole: string) {
    this.#text = text;
    this.#whole = whole;
  }

  fail(what: string): never {
    throw new SyntaxError(`invalid JSONPath ${JSON.stringify(this.#whole)}: ${what} (at ${this.#at})`);
  }

  end(): void {
    if (this.#at < this.#text.length) this.fail(`unexpected ${JSON.stringify(this.#peek())}`);
  }

  /** `$`, `@`, or nothing; then steps. The first field needs no dot before it. */
  path(): Step[] {
    const steps: Step[] = [];
    if (this.#peek() === "$" || this.#peek() === "@") this.#at++;
    else if (this.#isFieldStart()) steps.push(this.#field());
    for (;;) {
      if (this.#take("..")) {
        if (this.#depth > 0) this.fail(".. is not supported inside a filter");
        steps.push({ type: "descend" });
        if (this.#peek() !== "[") steps.push(this.#field());
      } else if (this.#take(".")) {
        // A dot alone is the value itself, and a dot before a bracket adds nothing.
        if (this.#isFieldStart()) steps.push(this.#field());
        else if (steps.length > 0 && this.#peek() !== "[") this.fail("a field name is missing after .");
      } else if (this.#peek() === "[") {
        steps.push(this.#brackets());
      } else {
        return steps;
      }
    }
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #take(expected: string): boolean {
    if (!this.#text.startsWith(expected, this.#at)) return false;
    this.#at += expected.length;
    return true;
  }

  #skipSpace(): void {
    while (SPACE.test(this.#peek() ?? "")) this.#at++;
  }

  #isFieldEnd(char: string): boolean {
    return FIELD_ENDS.has(char) || (this.#depth > 0 && FILTER_ENDS.has(char));
  }

  #isFieldStart(): boolean {
    const char = this.#peek();
    return char !== undefined && !this.#isFieldEnd(char);
  }

  #field(): Step {
    let name = "";
    let escaped = false;
    for (let char = this.#peek(); char !== undefined && !this.#isFieldEnd(char); char = this.#peek()) {
      this.#at++;
      if (char === "\\") {
        const next = this.#peek();
        if (next === undefined) this.fail("nothing follows \\");
        name += next;
        escaped = true;
        this.#at++;
      } else {
        name += char;
      }
    }
    if (name === "") this.fail("a field name is missing");
    return name === "*" && !escaped ? { type: "wildcard" } : { type: "fields", names: [name] };
  }

  #brackets(): Step {
    this.#at++;
    this.#skipSpace();
    if (this.#take("?(")) return this.#closing({ type: "filter", filter: this.#filter() });
    if (this.#take("*")) return this.#closing({ type: "wildcard" });
    const char = this.#peek();
    if (char === "'" || char === '"')
      return this.#closing({ type: "fields", names: this.#union(() => this.#quoted()) });
    return this.#closing({ type: "slices", slices: this.#union(() => this.#slice()) });
  }

  #closing(step: Step): Step {
    this.#skipSpace();
    if (!this.#take("]")) this.fail("] is missing");
    return step;
  }

  #union<T>(item: () => T): T[] {
    const items: T[] = [];
    do {
      this.#skipSpace();
      items.push(item());
      this.#skipSpace();
    } while (this.#take(","));
    return items;
  }

  #quoted(): string {
    const quote = this.#peek();
    if (quote !== "'" && quote !== '"') this.fail("a quoted name is missing");
    this.#at++;
    let text = "";
    for (let char = this.#peek(); char !== undefined; char = this.#peek()) {
      this.#at++;
      if (char === quote) return text;
      if (char === "\\") {
        const next = this.#peek();
        if (next === undefined) break;
        text += next;
        this.#at++;
      } else {
        text += char;
      }
    }
    return this.fail("the closing quote is missing");
  }

  #slice(): Slice {
    const start = this.#integer();
    if (!this.#take(":")) {
      if (start === undefined) this.fail("an index, a name, * or ?( must stand in brackets");
      return { start, step: 1, single: true };
    }
    const end = this.#integer();
    const step = this.#take(":") ? (this.#integer() ?? 1) : 1;
    if (step <= 0) this.fail("the step of a slice must be positive");
    return { ...(start !== undefined && { start }), ...(end !== undefined && { end }), step, single: false };
  }

  #integer(): number | undefined {
    this.#skipSpace();
    const match = /^-?\d+/.exec(this.#text.slice(this.#at, this.#at + 20));
    if (!match) return undefined;
    this.#at += match[0].length;
    this.#skipSpace();
    return Number(match[0]);
  }

  #filter(): Filter {
    if (++this.#depth > DEEPEST_FILTER) this.fail("filters are nested too deeply");
    const left = this.#operand();
    this.#skipSpace();
    const operator = (["==", "!=", "<=", ">=", "<", ">"] as const).find((candidate) => this.#take(candidate));
    const filter = operator ? { left, comparison: { operator, right: this.#operand() } } : { left };
    this.#skipSpace();
    if (!this.#take(")")) this.fail(") is missing");
    this.#depth--;
    return filter;
  }

  #operand(): Operand {
    this.#skipSpace();
    const char = this.#peek();
    if (char === "'" || char === '"') return { literal: this.#quoted() };
    if (char === "@" || char === "." || char === "[") return { path: this.path() };
    const match = /^[^\s)=!<>\]]+/.exec(this.#text.slice(this.#at));
    const word = match?.[0] ?? this.fail("a value to compare is missing");
    this.#at += word.length;
    if (word === "true" || word === "false") return { literal: word === "true" };
    if (word === "null" || word === "nil") return { literal: null };
    if (/^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(word)) return { literal: Number(word) };
    return this.fail(`${JSON.stringify(word)} is neither a path nor a literal`);
  }
}
