/** An expression as a tree, after macros have been written out. */
import type { CelValue } from "./values.ts";

interface Common {
  /** Unique within one expression; what is learnt about a node is kept under it. */
  readonly id: number;
  /** Where complaints about the node point to. */
  readonly offset: number;
}

export interface Literal extends Common {
  readonly kind: "literal";
  readonly value: CelValue;
}

export interface Ident extends Common {
  readonly kind: "ident";
  readonly name: string;
}

export interface Select extends Common {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)`. */
  readonly isTest: boolean;
}

export interface Call extends Common {
  readonly kind: "call";
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListExpr extends Common {
  readonly kind: "list";
  readonly items: readonly Expr[];
  /** Which items are left out when they are none. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry {
  readonly key: Expr;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface MapExpr extends Common {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

/** `Name{field: value}`: read, so that it can be refused by name. */
export interface StructExpr extends Common {
  readonly kind: "struct";
  readonly name: string;
}

/** A loop: what every macro over lists and maps becomes. */
export interface Comprehension extends Common {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly variable: string;
  /** Set for loops over index and item, or key and value. */
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
  /** `cel.bind`: nothing is looped over, the accumulator is a name for `init`. */
  readonly isBinding: boolean;
}

export type Expr = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension;

/** The accumulator of written-out macros; no identifier of an expression can be spelt so. */
export const ACCUMULATOR = "@result";

/** Every direct part of an expression, in the order it is written. */
export function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "select":
      return [expr.operand];
    case "call":
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case "list":
      return expr.items;
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case "comprehension":
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}

/** `a.b.c` as text, if the expression is nothing but names. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "ident") return expr.name;
  if (expr.kind !== "select" || expr.isTest) return undefined;
  const operand = qualifiedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}
