/** Reads an expression, and writes out its macros. */
import type { Call, Expr, MapEntry } from "./ast.ts";
import { compileError } from "./errors.ts";
import { SyntaxIssue, type Token, tokenize } from "./lexer.ts";
import { type ExprFactory, expandMacro, type Macro } from "./macros.ts";
import type { CelValue } from "./values.ts";

/** Longer than any real rule; what is beyond is refused before it costs anything. */
const LONGEST_SOURCE = 100_000;
const DEEPEST = 250;

const RESERVED: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

const RELATIONS: ReadonlyMap<string, string> = new Map([
  ...["==", "!=", "<", "<=", ">", ">="].map((text): [string, string] => [text, `_${text}_`]),
  ["in", "@in"],
]);
const SUMS = new Map([
  ["+", "_+_"],
  ["-", "_-_"],
]);
const PRODUCTS = new Map([
  ["*", "_*_"],
  ["/", "_/_"],
  ["%", "_%_"],
]);

/** The tree of an expression. Throws CelError of kind syntax. */
export function parse(source: string, macros: readonly Macro[] = []): Expr {
  try {
    if (source.length > LONGEST_SOURCE) {
      throw new SyntaxIssue(
        `expression code point size exceeds limit: size: ${source.length}, limit ${LONGEST_SOURCE}`,
        0,
      );
    }
    return new Parser(tokenize(source), macros).parse();
  } catch (error) {
    if (error instanceof SyntaxIssue) throw compileError("syntax", source, [error]);
    throw error;
  }
}

class Parser implements ExprFactory {
  readonly #tokens: readonly Token[];
  readonly #macros: readonly Macro[];
  #at = 0;
  #depth = 0;
  #ids = 0;

  constructor(tokens: readonly Token[], macros: readonly Macro[]) {
    this.#tokens = tokens;
    this.#macros = macros;
  }

  parse(): Expr {
    const expr = this.#expr();
    if (this.#peek().kind !== "end") throw this.#unexpected();
    return expr;
  }

  id(): number {
    return ++this.#ids;
  }

  literal(value: CelValue, offset: number): Expr {
    return { kind: "literal", id: this.id(), offset, value };
  }

  ident(name: string, offset: number): Expr {
    return { kind: "ident", id: this.id(), offset, name };
  }

  call(name: string, args: readonly Expr[], offset: number, target?: Expr): Call {
    return { kind: "call", id: this.id(), offset, name, target, args };
  }

  list(items: readonly Expr[], offset: number): Expr {
    return { kind: "list", id: this.id(), offset, items, optional: new Set() };
  }

  map(entries: readonly MapEntry[], offset: number): Expr {
    return { kind: "map", id: this.id(), offset, entries };
  }

  #expr(): Expr {
    if (++this.#depth > DEEPEST) {
      throw new SyntaxIssue(`expression recursion limit exceeded: ${DEEPEST}`, this.#peek().offset);
    }
    const condition = this.#or();
    let expr = condition;
    const question = this.#peek();
    if (this.#take("?")) {
      const yes = this.#or();
      this.#expect(":");
      const no = this.#expr();
      expr = this.call("_?_:_", [condition, yes, no], question.offset);
    }
    this.#depth--;
    return expr;
  }

  #or(): Expr {
    return this.#logical("||", "_||_", () => this.#logical("&&", "_&&_", () => this.#relation()));
  }

  /** A row of && or || becomes a balanced tree, so that long rows do not nest deeply. */
  #logical(operator: string, name: string, operand: () => Expr): Expr {
    const operands = [operand()];
    const offsets: number[] = [];
    for (;;) {
      const { offset } = this.#peek();
      if (!this.#take(operator)) break;
      offsets.push(offset);
      operands.push(operand());
    }
    const balance = (from: number, to: number): Expr => {
      const only = operands[from];
      if (from === to && only) return only;
      const middle = (from + to) >> 1;
      return this.call(name, [balance(from, middle), balance(middle + 1, to)], offsets[middle] ?? 0);
    };
    return balance(0, operands.length - 1);
  }

  #relation(): Expr {
    return this.#leftToRight(RELATIONS, () =>
      this.#leftToRight(SUMS, () => this.#leftToRight(PRODUCTS, () => this.#unary())),
    );
  }

  #leftToRight(operators: ReadonlyMap<string, string>, operand: () => Expr): Expr {
    let left = operand();
    let length = 0;
    for (;;) {
      const token = this.#peek();
      const name = token.kind === "operator" ? operators.get(token.text) : undefined;
      if (name === undefined) return left;
      if (++length > DEEPEST) throw new SyntaxIssue(`expression recursion limit exceeded: ${DEEPEST}`, token.offset);
      this.#at++;
      left = this.call(name, [left, operand()], token.offset);
    }
  }

  #unary(): Expr {
    const token = this.#peek();
    if (token.kind !== "operator" || (token.text !== "!" && token.text !== "-")) return this.#member(this.#primary());
    let count = 0;
    while (this.#take(token.text)) count++;
    const next = this.#peek();
    if (
      token.text === "-" &&
      next.kind === "literal" &&
      (typeof next.value === "number" || typeof next.value === "bigint")
    ) {
      this.#at++;
      const literal = this.#member(this.literal(-next.value, token.offset));
      return count % 2 === 1 ? literal : this.call("-_", [literal], token.offset);
    }
    const operand = this.#member(this.#primary());
    // Two signs cancel each other out, except that they still want an operand they apply to.
    if (count % 2 === 0) return operand;
    return this.call(token.text === "!" ? "!_" : "-_", [operand], token.offset);
  }

  #member(start: Expr): Expr {
    let expr = start;
    let length = 0;
    for (;;) {
      const { offset } = this.#peek();
      if (++length > DEEPEST) throw new SyntaxIssue(`expression recursion limit exceeded: ${DEEPEST}`, offset);
      if (this.#take(".")) expr = this.#selection(expr, offset);
      else if (this.#take("[")) expr = this.#index(expr, offset);
      else return expr;
    }
  }

  #selection(operand: Expr, offset: number): Expr {
    const isOptional = this.#take("?");
    const token = this.#next();
    if (token.kind !== "ident" && token.kind !== "escaped") throw this.#unexpected(token);
    const open = this.#peek();
    if (!isOptional && token.kind === "ident" && this.#take("(")) {
      return this.#callOf(token, this.#args(")"), open.offset, operand);
    }
    if (isOptional) return this.call("_?._", [operand, this.literal(token.text, token.offset)], offset);
    return { kind: "select", id: this.id(), offset, operand, field: token.text, isTest: false };
  }

  #index(operand: Expr, offset: number): Expr {
    const isOptional = this.#take("?");
    const index = this.#expr();
    this.#expect("]");
    return this.call(isOptional ? "_[?_]" : "_[_]", [operand, index], offset);
  }

  #callOf(token: Token, args: readonly Expr[], offset: number, target?: Expr): Expr {
    const call = this.call(token.text, args, offset, target);
    for (const macro of this.#macros) {
      const expanded = macro(call, this);
      if (expanded) return expanded;
    }
    return expandMacro(call, token.offset, this) ?? call;
  }

  #primary(): Expr {
    const token = this.#next();
    if (token.kind === "literal") {
      if (token.magnitude !== undefined && token.magnitude >= 2n ** 63n) {
        throw new SyntaxIssue("invalid int literal", token.offset);
      }
      return this.literal(token.value, token.offset);
    }
    if (token.kind === "ident") return this.#name(token);
    if (token.kind !== "operator") throw this.#unexpected(token);
    switch (token.text) {
      case "(": {
        const expr = this.#expr();
        this.#expect(")");
        return expr;
      }
      case "[":
        return this.#listLiteral(token.offset);
      case "{":
        return this.map(this.#entries(), token.offset);
      case ".": {
        const name = this.#next();
        if (name.kind !== "ident") throw this.#unexpected(name);
        return this.#name(name);
      }
      default:
        throw this.#unexpected(token);
    }
  }

  #name(token: Token): Expr {
    if (RESERVED.has(token.text)) throw new SyntaxIssue(`reserved identifier: ${token.text}`, token.offset);
    const open = this.#peek();
    if (this.#take("(")) return this.#callOf(token, this.#args(")"), open.offset);
    const struct = this.#structName(token);
    if (struct) return struct;
    return this.ident(token.text, token.offset);
  }

  /** `a.b.C{` starts a message; the names before the brace belong to it. */
  #structName(token: Token): Expr | undefined {
    let at = this.#at;
    let name = token.text;
    while (this.#tokens[at]?.text === "." && this.#tokens[at + 1]?.kind === "ident") {
      name += `.${this.#tokens[at + 1]?.text}`;
      at += 2;
    }
    const brace = this.#tokens[at];
    if (brace?.kind !== "operator" || brace.text !== "{") return undefined;
    this.#at = at + 1;
    while (!this.#take("}")) {
      this.#take("?");
      const field = this.#next();
      if (field.kind !== "ident" && field.kind !== "escaped") throw this.#unexpected(field);
      this.#expect(":");
      this.#expr();
      if (!this.#take(",") && this.#peek().text !== "}") throw this.#unexpected();
    }
    return { kind: "struct", id: this.id(), offset: brace.offset, name };
  }

  #args(close: string): Expr[] {
    const args: Expr[] = [];
    if (this.#take(close)) return args;
    for (;;) {
      args.push(this.#expr());
      if (this.#take(close)) return args;
      this.#expect(",");
    }
  }

  #listLiteral(offset: number): Expr {
    const items: Expr[] = [];
    const optional = new Set<number>();
    while (!this.#take("]")) {
      if (this.#take("?")) optional.add(items.length);
      items.push(this.#expr());
      if (!this.#take(",") && this.#peek().text !== "]") throw this.#unexpected();
    }
    return { kind: "list", id: this.id(), offset, items, optional };
  }

  #entries(): MapEntry[] {
    const entries: MapEntry[] = [];
    while (!this.#take("}")) {
      const isOptional = this.#take("?");
      const key = this.#expr();
      this.#expect(":");
      entries.push({ key, value: this.#expr(), isOptional });
      if (!this.#take(",") && this.#peek().text !== "}") throw this.#unexpected();
    }
    return entries;
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #next(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #take(operator: string): boolean {
    const { kind, text } = this.#peek();
    if (kind !== "operator" || text !== operator) return false;
    this.#at++;
    return true;
  }

  #expect(operator: string): void {
    if (!this.#take(operator))
      throw new SyntaxIssue(`Syntax error: missing '${operator}' at '${this.#peek().text}'`, this.#peek().offset);
  }

  #unexpected(token = this.#peek()): SyntaxIssue {
    return new SyntaxIssue(`Syntax error: mismatched input '${token.text}'`, token.offset);
  }
}

const END: Token = { kind: "end", text: "<EOF>", value: null, offset: 0 };
