/** From a tree and a value to what the tree leads to: values, each with its path where it is a part of the whole. */
import { equal, isObject } from "#lib/json";
import { compileRegex } from "#lib/regex";
import type { Expr, Operator } from "./parse.ts";

type Path = readonly (string | number)[];

interface Node {
  readonly value: unknown;
  /** Undefined for what was computed. */
  readonly path: Path | undefined;
}

/** An expression may do so much work; users write them, and the agent serves others too. */
const MOST_STEPS = 1_000_000;

/** Where the expression leads to in the value. */
export function pathsOf(expr: Expr, value: unknown): Path[] {
  const budget = { left: MOST_STEPS };
  return evaluate(expr, { value, path: [] }, budget).map(({ path, value: found }) => {
    if (path === undefined) throw new Error(`it leads to a ${typeOf(found)} that is no part of the object`);
    return path;
  });
}

interface Budget {
  left: number;
}

function evaluate(expr: Expr, input: Node, budget: Budget): Node[] {
  if (--budget.left < 0) throw new Error("it takes too long");
  switch (expr.type) {
    case "identity":
      return [input];
    case "recurse":
      return descendants(input, budget);
    case "literal":
      return [computed(expr.value)];
    case "at":
      return evaluate(expr.target, input, budget).flatMap((target) =>
        evaluate(expr.key, input, budget).map((key) => childAt(target, key.value)),
      );
    case "slice":
      return evaluate(expr.target, input, budget).flatMap((target) => {
        const bound = (side: Expr | undefined) => side && evaluate(side, input, budget)[0]?.value;
        return sliced(target, bound(expr.from), bound(expr.to));
      });
    case "each":
      return evaluate(expr.target, input, budget).flatMap((target) => children(target, budget));
    case "try":
      try {
        return evaluate(expr.body, input, budget);
      } catch (error) {
        if (budget.left < 0) throw error;
        return [];
      }
    case "list":
      return [computed(expr.body ? evaluate(expr.body, input, budget).map(({ value }) => value) : [])];
    case "if":
      return evaluate(expr.test, input, budget).flatMap(({ value }) =>
        evaluate(isTruthy(value) ? expr.then : expr.otherwise, input, budget),
      );
    case "pipe":
      return evaluate(expr.left, input, budget).flatMap((node) => evaluate(expr.right, node, budget));
    case "comma":
      return [...evaluate(expr.left, input, budget), ...evaluate(expr.right, input, budget)];
    case "alternative": {
      const found = evaluate(expr.left, input, budget).filter(({ value }) => isTruthy(value));
      return found.length > 0 ? found : evaluate(expr.right, input, budget);
    }
    case "and":
    case "or":
      return evaluate(expr.left, input, budget).flatMap(({ value: left }) => {
        if (isTruthy(left) === (expr.type === "or")) return [computed(expr.type === "or")];
        return evaluate(expr.right, input, budget).map(({ value: right }) => computed(isTruthy(right)));
      });
    case "compare":
      return evaluate(expr.right, input, budget).flatMap(({ value: right }) =>
        evaluate(expr.left, input, budget).map(({ value: left }) => computed(compare(expr.operator, left, right))),
      );
    case "call":
      return called(expr, input, budget);
  }
}

function computed(value: unknown): Node {
  return { value, path: undefined };
}

function below({ path }: Node, step: string | number): Path | undefined {
  return path && [...path, step];
}

function childAt(target: Node, key: unknown): Node {
  const { value } = target;
  if (typeof key === "string") {
    if (isObject(value)) return { value: Object.hasOwn(value, key) ? value[key] : null, path: below(target, key) };
    if (value === null || value === undefined) return { value: null, path: below(target, key) };
  }
  if (typeof key === "number") {
    if (Array.isArray(value)) {
      const index = key < 0 ? value.length + key : key;
      return { value: value[index] ?? null, path: below(target, index) };
    }
    if (value === null || value === undefined) return { value: null, path: below(target, key) };
  }
  throw new Error(`a ${typeOf(value)} cannot be asked for ${shown(key)}`);
}

function children(target: Node, budget: Budget): Node[] {
  const { value } = target;
  const entries: [string | number, unknown][] | undefined = Array.isArray(value)
    ? value.map((item, index) => [index, item])
    : isObject(value)
      ? Object.entries(value)
      : undefined;
  if (!entries) throw new Error(`a ${typeOf(value)} has nothing in it to go through`);
  budget.left -= entries.length;
  return entries.map(([step, child]) => ({ value: child, path: below(target, step) }));
}

function sliced(target: Node, from: unknown, to: unknown): Node[] {
  const { value } = target;
  if (value === null) return [];
  if (!Array.isArray(value)) throw new Error(`a ${typeOf(value)} is no list`);
  const bound = (side: unknown, otherwise: number) => {
    const at = typeof side === "number" ? side : otherwise;
    return Math.min(Math.max(at < 0 ? at + value.length : at, 0), value.length);
  };
  const [first, last] = [bound(from, 0), bound(to, value.length)];
  return value.slice(first, last).map((item, index) => ({ value: item, path: below(target, first + index) }));
}

function descendants(root: Node, budget: Budget): Node[] {
  const found: Node[] = [];
  const open = [root];
  for (let node = open.pop(); node; node = open.pop()) {
    found.push(node);
    if (Array.isArray(node.value) || isObject(node.value)) open.push(...children(node, budget).reverse());
  }
  return found;
}

type Call = Extract<Expr, { type: "call" }>;

function called(expr: Call, input: Node, budget: Budget): Node[] {
  const { name, args } = expr;
  const [first, second] = args;
  const wanted = args.length === 0 ? SORTS[name] : undefined;
  if (wanted) return wanted.includes(typeOf(input.value)) ? [input] : [];
  const isEach = (test: Expr, node: Node) => evaluate(test, node, budget).some(({ value }) => isTruthy(value));
  switch (`${name}/${args.length}`) {
    case "select/1":
      return first ? evaluate(first, input, budget).flatMap(({ value }) => (isTruthy(value) ? [input] : [])) : [];
    case "empty/0":
      return [];
    case "recurse/0":
      return descendants(input, budget);
    case "not/0":
      return [computed(!isTruthy(input.value))];
    case "any/0":
    case "all/0":
    case "any/1":
    case "all/1": {
      const results = children(input, budget).map((child) => (first ? isEach(first, child) : isTruthy(child.value)));
      return [computed(name === "any" ? results.some(Boolean) : results.every(Boolean))];
    }
    case "IN/1":
      return [computed(first ? evaluate(first, input, budget).some(({ value }) => equal(value, input.value)) : false)];
    case "getpath/1":
      return first ? evaluate(first, input, budget).map(({ value }) => list(value).reduce(childAt, input)) : [];
    case "limit/2":
      return first && second
        ? evaluate(first, input, budget).flatMap(({ value }) => evaluate(second, input, budget).slice(0, count(value)))
        : [];
    case "first/1":
      return first ? evaluate(first, input, budget).slice(0, 1) : [];
    case "last/1":
      return first ? evaluate(first, input, budget).slice(-1) : [];
    case "first/0":
      return [childAt(input, 0)];
    case "last/0":
      return [childAt(input, -1)];
    default: {
      const compute = FUNCTIONS[`${name}/${args.length}`];
      if (!compute) throw new Error(`${name}/${args.length} is not understood here`);
      const given = [first, second].flatMap((arg) => (arg ? [evaluate(arg, input, budget)[0]?.value] : []));
      return [computed(compute(input.value, ...given))];
    }
  }
}

/** Functions that let through what is of some type. */
const SORTS: Readonly<Record<string, readonly string[]>> = {
  nulls: ["null"],
  booleans: ["boolean"],
  numbers: ["number"],
  strings: ["string"],
  arrays: ["array"],
  objects: ["object"],
  iterables: ["array", "object"],
  scalars: ["null", "boolean", "number", "string"],
  values: ["boolean", "number", "string", "array", "object"],
};

const FUNCTIONS: Readonly<Record<string, (value: unknown, ...args: unknown[]) => unknown>> = {
  "length/0": lengthOf,
  "type/0": typeOf,
  "keys/0": (value) => (isObject(value) ? Object.keys(value).sort() : Object.keys(list(value)).map(Number)),
  "has/1": (value, key) =>
    Array.isArray(value) ? typeof key === "number" && key < value.length : Object.hasOwn(object(value), text(key)),
  "startswith/1": (value, prefix) => text(value).startsWith(text(prefix)),
  "endswith/1": (value, suffix) => text(value).endsWith(text(suffix)),
  "contains/1": contains,
  "inside/1": (value, other) => contains(other, value),
  "test/1": (value, pattern) => compileRegex(text(pattern)).test(text(value)),
  "test/2": (value, pattern, flags) => compileRegex(withFlags(text(pattern), flags)).test(text(value)),
  "ltrimstr/1": (value, prefix) => (hasPrefix(value, prefix) ? text(value).slice(text(prefix).length) : value),
  "ascii_downcase/0": (value) => text(value).toLowerCase(),
  "ascii_upcase/0": (value) => text(value).toUpperCase(),
  "tostring/0": (value) => (typeof value === "string" ? value : JSON.stringify(value)),
};

function hasPrefix(value: unknown, prefix: unknown): boolean {
  return typeof value === "string" && typeof prefix === "string" && value.startsWith(prefix);
}

/** Of jq's flags those that say something of a test: `i` for any case, `s` for a point that is a line end too. */
function withFlags(pattern: string, flags: unknown): string {
  const said = flags === null || flags === undefined ? "" : text(flags).replace(/[gn]/g, "");
  if (!/^[is]*$/.test(said)) throw new Error(`the flags ${shown(flags)} are not understood here`);
  return said === "" ? pattern : `(?${said})${pattern}`;
}

function count(value: unknown): number {
  if (typeof value === "number" && value >= 0) return value;
  throw new Error(`a ${typeOf(value)} is no number to count to`);
}

function contains(value: unknown, other: unknown): boolean {
  if (typeof value === "string" && typeof other === "string") return value.includes(other);
  if (Array.isArray(value) && Array.isArray(other)) {
    return other.every((wanted) => value.some((item) => contains(item, wanted)));
  }
  if (isObject(value) && isObject(other)) {
    return Object.entries(other).every(([key, wanted]) => Object.hasOwn(value, key) && contains(value[key], wanted));
  }
  return equal(value, other);
}

function lengthOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "string") return Array.from(value).length;
  if (typeof value === "number") return Math.abs(value);
  if (typeof value === "boolean") throw new Error(`a ${typeOf(value)} has no length`);
  return Object.keys(value as object).length;
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "bigint" ? "number" : typeof value;
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Error(`a ${typeOf(value)} is no text`);
}

function object(value: unknown): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new Error(`a ${typeOf(value)} is no object`);
}

function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`a ${typeOf(value)} is neither an object nor a list`);
}

function isTruthy(value: unknown): boolean {
  return value !== null && value !== undefined && value !== false;
}

/** jq orders all values: null, false, true, numbers, texts, lists, objects. */
const RANKS = ["null", "boolean", "number", "string", "array", "object"];

function compare(operator: Operator, left: unknown, right: unknown): boolean {
  if (operator === "==") return equal(left ?? null, right ?? null);
  if (operator === "!=") return !equal(left ?? null, right ?? null);
  const order = orderOf(left, right);
  if (operator === "<") return order < 0;
  if (operator === "<=") return order <= 0;
  return operator === ">" ? order > 0 : order >= 0;
}

function orderOf(left: unknown, right: unknown): number {
  const [a, b] = [RANKS.indexOf(typeOf(left)), RANKS.indexOf(typeOf(right))];
  if (a !== b) return a - b;
  const [x, y] = [comparable(left), comparable(right)];
  return x < y ? -1 : x > y ? 1 : 0;
}

function comparable(value: unknown): string | number | bigint {
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value;
  return typeof value === "boolean" ? Number(value) : JSON.stringify(value ?? null);
}

const LONGEST_SHOWN = 60;

/** What the expression itself says. Of the object nothing is repeated but types: it may be a Secret. */
function shown(value: unknown): string {
  const words = JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each)) ?? "nothing";
  return words.length > LONGEST_SHOWN ? `${words.slice(0, LONGEST_SHOWN)}…` : words;
}
