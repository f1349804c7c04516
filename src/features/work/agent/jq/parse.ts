/** From text to a tree. */

export type Expr =
  | { readonly type: "identity" | "recurse" }
  | { readonly type: "literal"; readonly value: unknown }
  /** `.[key]`, `.name`, `.[0]` of what the target gives. */
  | { readonly type: "at"; readonly target: Expr; readonly key: Expr }
  | { readonly type: "slice"; readonly target: Expr; readonly from: Expr | undefined; readonly to: Expr | undefined }
  | { readonly type: "each"; readonly target: Expr }
  | { readonly type: "try"; readonly body: Expr }
  /** All that the body gives, as one list. */
  | { readonly type: "list"; readonly body: Expr | undefined }
  | { readonly type: "if"; readonly test: Expr; readonly then: Expr; readonly otherwise: Expr }
  | { readonly type: "pipe" | "comma" | "and" | "or" | "alternative"; readonly left: Expr; readonly right: Expr }
  | { readonly type: "compare"; readonly operator: Operator; readonly left: Expr; readonly right: Expr }
  | { readonly type: "call"; readonly name: string; readonly args: readonly Expr[] };

export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=";

interface Token {
  readonly type: "symbol" | "name" | "field" | "string" | "number" | "end";
  readonly text: string;
  readonly at: number;
}

const SPACE = /[ \t\r\n]*/y;
const TOKENS: readonly (readonly [Token["type"], RegExp])[] = [
  ["field", /\.[A-Za-z_][A-Za-z0-9_]*/y],
  ["name", /[A-Za-z_][A-Za-z0-9_]*/y],
  ["number", /-?[0-9]+(\.[0-9]+)?/y],
  ["string", /"(?:[^"\\]|\\.)*"/y],
  ["symbol", /\.\.|==|!=|<=|>=|\/\/|[.[\]()|,<>?:;]/y],
];
const OPERATORS = new Set<string>(["==", "!=", "<", "<=", ">", ">="]);
/** Nobody writes more by hand, and a deeper tree would take the stack with it. */
const DEEPEST = 100;
const LONGEST = 4_096;

export function parse(text: string): Expr {
  if (text.length > LONGEST) throw new Error(`the expression is longer than ${LONGEST} characters`);
  return new Parser(tokensOf(text)).whole();
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  for (at += match(SPACE)?.length ?? 0; at < text.length; at += match(SPACE)?.length ?? 0) {
    const found = TOKENS.map(([type, pattern]) => ({ type, text: match(pattern) })).find((each) => each.text);
    if (!found?.text) throw new Error(`unexpected ${JSON.stringify(text[at])} at ${at + 1}`);
    tokens.push({ type: found.type, text: found.text, at });
    at += found.text.length;
  }
  return [...tokens, { type: "end", text: "", at }];
}

const IDENTITY: Expr = { type: "identity" };

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expr {
    const expr = this.#pipe();
    if (this.#peek().type !== "end") this.#fail();
    return expr;
  }

  #pipe(): Expr {
    if (++this.#depth > DEEPEST) throw new Error("the expression is nested too deeply");
    const left = this.#comma();
    const expr: Expr = this.#take("|") ? { type: "pipe", left, right: this.#pipe() } : left;
    this.#depth--;
    return expr;
  }

  #comma(): Expr {
    let left = this.#alternative();
    while (this.#take(",")) left = { type: "comma", left, right: this.#alternative() };
    return left;
  }

  #alternative(): Expr {
    const left = this.#or();
    return this.#take("//") ? { type: "alternative", left, right: this.#alternative() } : left;
  }

  #or(): Expr {
    let left = this.#and();
    while (this.#takeName("or")) left = { type: "or", left, right: this.#and() };
    return left;
  }

  #and(): Expr {
    let left = this.#comparison();
    while (this.#takeName("and")) left = { type: "and", left, right: this.#comparison() };
    return left;
  }

  #comparison(): Expr {
    const left = this.#postfix();
    const { type, text } = this.#peek();
    if (type !== "symbol" || !OPERATORS.has(text)) return left;
    this.#next++;
    return { type: "compare", operator: text as Operator, left, right: this.#postfix() };
  }

  #postfix(): Expr {
    let expr = this.#term();
    for (;;) {
      const { type, text } = this.#peek();
      if (type === "field") {
        this.#next++;
        expr = { type: "at", target: expr, key: literal(text.slice(1)) };
      } else if (text === "." && (this.#peek(1).type === "string" || this.#peek(1).text === "[")) {
        this.#next++;
        if (this.#peek().type === "string") expr = { type: "at", target: expr, key: this.#string() };
      } else if (type === "symbol" && text === "[") {
        this.#next++;
        expr = this.#bracket(expr);
      } else if (type === "symbol" && text === "?") {
        this.#next++;
        expr = { type: "try", body: expr };
      } else return expr;
    }
  }

  #bracket(target: Expr): Expr {
    if (this.#take("]")) return { type: "each", target };
    const from = this.#take(":") ? undefined : this.#pipe();
    if (from !== undefined && this.#take("]")) return { type: "at", target, key: from };
    if (from !== undefined) this.#expect(":");
    const to = this.#peek().text === "]" ? undefined : this.#pipe();
    this.#expect("]");
    return { type: "slice", target, from, to };
  }

  #term(): Expr {
    const { type, text } = this.#peek();
    if (type === "string") return this.#string();
    this.#next++;
    if (type === "number") return literal(Number(text));
    if (type === "field") return { type: "at", target: IDENTITY, key: literal(text.slice(1)) };
    if (type === "name") return this.#named(text);
    if (text === "..") return { type: "recurse" };
    if (text === "(") {
      const inner = this.#pipe();
      this.#expect(")");
      return inner;
    }
    if (text === "[") {
      const body = this.#peek().text === "]" ? undefined : this.#pipe();
      this.#expect("]");
      return { type: "list", body };
    }
    if (text === ".") {
      return this.#peek().type === "string" ? { type: "at", target: IDENTITY, key: this.#string() } : IDENTITY;
    }
    this.#next--;
    return this.#fail();
  }

  #named(name: string): Expr {
    const constant = CONSTANTS.get(name);
    if (constant !== undefined) return constant;
    if (name === "if") return this.#condition();
    const args: Expr[] = [];
    if (this.#take("(")) {
      do args.push(this.#pipe());
      while (this.#take(";"));
      this.#expect(")");
    }
    return { type: "call", name, args };
  }

  /** What stands behind `if` or `elif`. Without `else` the value stays as it is. */
  #condition(): Expr {
    const test = this.#pipe();
    this.#expectName("then");
    const then = this.#pipe();
    if (this.#takeName("elif")) return { type: "if", test, then, otherwise: this.#condition() };
    const otherwise = this.#takeName("else") ? this.#pipe() : IDENTITY;
    this.#expectName("end");
    return { type: "if", test, then, otherwise };
  }

  #string(): Expr {
    const { text } = this.#peek();
    if (text.includes("\\(")) throw new Error("texts with expressions in them are not understood");
    this.#next++;
    return literal(JSON.parse(text));
  }

  #peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)] ?? { type: "end", text: "", at: 0 };
  }

  #take(symbol: string): boolean {
    const { type, text } = this.#peek();
    if (type !== "symbol" || text !== symbol) return false;
    this.#next++;
    return true;
  }

  #takeName(name: string): boolean {
    const { type, text } = this.#peek();
    if (type !== "name" || text !== name) return false;
    this.#next++;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) this.#fail();
  }

  #expectName(name: string): void {
    if (!this.#takeName(name)) this.#fail();
  }

  #fail(): never {
    const { type, text, at } = this.#peek();
    throw new Error(
      type === "end" ? "the expression ends too early" : `unexpected ${JSON.stringify(text)} at ${at + 1}`,
    );
  }
}

function literal(value: unknown): Expr {
  return { type: "literal", value };
}

const CONSTANTS: ReadonlyMap<string, Expr> = new Map([
  ["true", literal(true)],
  ["false", literal(false)],
  ["null", literal(null)],
]);
