/** Which variables an expression reads, and which of their fields. */
import { type Expr, partsOf } from "./ast.ts";
import type { Checked } from "./checker.ts";

/** A variable and the way down from it, as far as it is written out: `a.b[0].c` is a, [b, 0, c]. */
export interface Reference {
  readonly name: string;
  readonly path: readonly (string | number)[];
  readonly offset: number;
}

/** Every use of a variable; names that a macro introduces are not among them. */
export function referencesOf(expr: Expr, { names, calls }: Pick<Checked, "names" | "calls">): Reference[] {
  const found: Reference[] = [];

  const visit = (node: Expr, locals: ReadonlySet<string>): void => {
    const chain = chainOf(node, names);
    if (chain) {
      if (!locals.has(chain.name)) found.push({ name: chain.name, path: chain.path, offset: chain.offset });
      for (const index of chain.indexes) visit(index, locals);
      return;
    }
    if (node.kind !== "comprehension") {
      // `math` in `math.ceil(x)` belongs to the function's name.
      const isQualified = node.kind === "call" && calls.get(node.id)?.isMember === false;
      for (const part of isQualified ? node.args : partsOf(node)) visit(part, locals);
      return;
    }
    visit(node.range, locals);
    visit(node.init, locals);
    const inner = new Set([...locals, node.accumulator]);
    const loop = new Set(inner);
    if (!node.isBinding) {
      loop.add(node.variable);
      if (node.variable2 !== undefined) loop.add(node.variable2);
      visit(node.condition, loop);
      visit(node.step, loop);
    }
    visit(node.result, inner);
  };

  visit(expr, new Set());
  return found;
}

interface Chain {
  readonly name: string;
  readonly path: readonly (string | number)[];
  readonly offset: number;
  /** Indexes that are computed; they may refer to something themselves. */
  readonly indexes: readonly Expr[];
  /** Behind a computed index nothing more is known. */
  readonly isOpen: boolean;
}

function chainOf(node: Expr, names: ReadonlyMap<number, string>): Chain | undefined {
  if (node.kind === "ident") return { name: node.name, path: [], offset: node.offset, indexes: [], isOpen: false };
  if (node.kind === "select") {
    const name = names.get(node.id);
    if (name !== undefined) return { name, path: [], offset: node.offset, indexes: [], isOpen: false };
    return extended(chainOf(node.operand, names), node.field);
  }
  if (node.kind !== "call" || !["_[_]", "_[?_]", "_?._"].includes(node.name)) return undefined;
  const [operand, index] = node.args;
  const chain = operand && chainOf(operand, names);
  if (!chain || !index) return undefined;
  const key = index.kind === "literal" ? index.value : undefined;
  if (typeof key === "string") return extended(chain, key);
  if (typeof key === "bigint") return extended(chain, Number(key));
  return { ...chain, indexes: [...chain.indexes, index], isOpen: true };
}

function extended(chain: Chain | undefined, step: string | number): Chain | undefined {
  if (!chain || chain.isOpen) return chain;
  return { ...chain, path: [...chain.path, step] };
}
