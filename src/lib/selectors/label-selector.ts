import type { LabelSelector, LabelSelectorRequirement } from "#api/meta";
import { SelectorError } from "./error.ts";
import {
  keyProblem,
  type LabelMatcher,
  type LabelOperator,
  type LabelRequirement,
  matcher,
  requirement,
} from "./requirement.ts";

/** Reads `a=b,c!=d,e in (f,g),h,!i,j>1`; the empty text matches everything. Throws SelectorError. */
export function parseLabelSelector(text: string): LabelMatcher {
  return matcher(new Parser(text).selector());
}

/** The matcher of a metav1.LabelSelector: a missing one matches nothing, an empty one everything. */
export function labelSelector(selector: LabelSelector | undefined): LabelMatcher {
  if (!selector) return matcher(undefined);
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labels = Object.entries(matchLabels).sort(([a], [b]) => (a < b ? -1 : 1));
  return matcher([
    ...labels.map(([key, value]) => requirement(key, "=", [value])),
    ...matchExpressions.map(expression),
  ]);
}

const OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

function expression({ key, operator, values = [] }: LabelSelectorRequirement): LabelRequirement {
  const known = OPERATORS.get(operator);
  if (!known) throw new SelectorError(`${JSON.stringify(operator)} is not a valid label selector operator`);
  return requirement(key, known, values);
}

interface Token {
  readonly type: "word" | "in" | "notin" | "symbol" | "end";
  readonly text: string;
}

const END: Token = { type: "end", text: "" };
/** Two-character symbols first, so that `==` is not read as `=` twice. */
const TOKEN = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))/y;

const BINARY: ReadonlyMap<string, LabelOperator> = new Map([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);

class Parser {
  readonly #tokens: Token[] = [];
  #at = 0;

  constructor(text: string) {
    TOKEN.lastIndex = 0;
    for (let match = TOKEN.exec(text); match; match = TOKEN.exec(text)) {
      const [, symbol, word = ""] = match;
      if (symbol !== undefined) this.#tokens.push({ type: "symbol", text: symbol });
      else this.#tokens.push({ type: word === "in" || word === "notin" ? word : "word", text: word });
    }
  }

  selector(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const first = this.#peek();
      if (first.type === "end") return requirements;
      if (!startsRequirement(first)) throw found(first, ", expected: !, identifier, or 'end of string'");
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.type === "end") return requirements;
      if (next.text !== ",") throw found(next, ", expected: ',' or 'end of string'");
      const after = this.#peek();
      if (!startsRequirement(after)) throw found(after, ", expected: identifier after ','");
    }
  }

  #requirement(): LabelRequirement {
    try {
      const negated = this.#peek().text === "!";
      if (negated) this.#take();
      const key = this.#take();
      if (!isWord(key)) throw found(key, ", expected: identifier");
      const badKey = keyProblem(key.text, "<nil>"); // the path that Kubernetes prints where it has none
      if (badKey) throw new SelectorError(badKey);
      if (negated) return requirement(key.text, "!", []);
      if (this.#ends()) return requirement(key.text, "exists", []);
      const operator = this.#operator();
      const values = operator === "in" || operator === "notin" ? this.#list() : [this.#value()];
      return requirement(key.text, operator, values);
    } catch (error) {
      if (error instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${error.message}`);
      throw error;
    }
  }

  #operator(): LabelOperator {
    const token = this.#take();
    const operator = token.type === "word" ? undefined : BINARY.get(token.text);
    if (!operator) throw found(token, ", expected: in, notin, =, ==, !=, gt, lt");
    return operator;
  }

  /** A value may be left out: `a=` asks for the empty one. */
  #value(): string {
    if (this.#ends()) return "";
    const token = this.#take();
    if (!isWord(token)) throw found(token, ", expected: identifier");
    return token.text;
  }

  /** `(a,b)`; between two commas, or a comma and a bracket, lies the empty value. */
  #list(): string[] {
    const open = this.#take();
    if (open.text !== "(") throw found(open, " expected: '('");
    if (this.#peek().text === ")") {
      this.#take();
      return [];
    }
    const values: string[] = [];
    for (;;) {
      const token = this.#peek();
      if (isWord(token)) values.push(this.#take().text);
      else if (token.text === "," || token.text === ")") values.push("");
      else
        throw found(
          token,
          values.length === 0 ? ", expected: ',', ')' or identifier" : ", expected: ',', or identifier",
        );
      const separator = this.#take();
      if (separator.text === ")") return values;
      if (separator.text !== ",") throw found(separator, ", expected: ',' or ')'");
    }
  }

  #ends(): boolean {
    const { type, text } = this.#peek();
    return type === "end" || text === ",";
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? END;
  }

  #take(): Token {
    return this.#tokens[this.#at++] ?? END;
  }
}

/** `in` and `notin` are words where no operator can stand. */
function isWord({ type }: Token): boolean {
  return type === "word" || type === "in" || type === "notin";
}

function startsRequirement(token: Token): boolean {
  return isWord(token) || token.text === "!";
}

function found({ text }: Token, expected: string): SelectorError {
  return new SelectorError(`found '${text}'${expected}`);
}
