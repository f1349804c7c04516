/** Steps applied to a value, breadth by breadth: every step maps the nodes found so far to their children. */
import { isObject } from "#lib/json";
import type { Filter, Operand, Operator, Slice, Step } from "./parse.ts";

export function evaluate(steps: readonly Step[], value: unknown): unknown[] {
  let found: unknown[] = [value];
  for (const step of steps) {
    if (step.type === "descend") {
      found = descendants(found);
      continue;
    }
    const next: unknown[] = [];
    for (const node of found) children(step, node, next);
    found = next;
    if (found.length === 0) break;
  }
  return found;
}

function children(step: Exclude<Step, { type: "descend" }>, node: unknown, into: unknown[]): void {
  switch (step.type) {
    case "fields":
      if (!isObject(node)) return;
      // A name written twice counts once: otherwise every union could double the result of the one before.
      for (const name of new Set(step.names)) if (Object.hasOwn(node, name)) into.push(node[name]);
      return;
    case "wildcard":
      for (const child of childrenOf(node)) into.push(child);
      return;
    case "slices":
      if (Array.isArray(node)) for (const index of indices(step.slices, node.length)) into.push(node[index]);
      return;
    case "filter":
      if (Array.isArray(node)) for (const item of node) if (passes(step.filter, item)) into.push(item);
      return;
  }
}

function childrenOf(node: unknown): unknown[] {
  if (Array.isArray(node)) return node;
  return isObject(node) ? Object.values(node) : [];
}

function indices(slices: readonly Slice[], length: number): Set<number> {
  const chosen = new Set<number>();
  for (const { start = 0, end = length, step, single } of slices) {
    const from = start < 0 ? start + length : start;
    if (single) {
      if (from >= 0 && from < length) chosen.add(from);
      continue;
    }
    const to = Math.min(end < 0 ? end + length : end, length);
    for (let index = Math.max(from, 0); index < to; index += step) chosen.add(index);
  }
  return chosen;
}

/**
 * The nodes and everything below them, parents first. Each node is met once, also when one of `roots` lies
 * below another, so that `..` after `..` costs no more than the first. No recursion: values may be deep.
 */
function descendants(roots: readonly unknown[]): unknown[] {
  const seen = new Set<unknown>();
  const found: unknown[] = [];
  const open = [...roots].reverse();
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node === "object" && node !== null) {
      if (seen.has(node)) continue;
      seen.add(node);
    }
    found.push(node);
    const below = childrenOf(node);
    for (let index = below.length - 1; index >= 0; index--) open.push(below[index]);
  }
  return found;
}

function passes({ left, comparison }: Filter, item: unknown): boolean {
  const found = operand(left, item);
  if (found.length === 0) return false;
  if (!comparison) return true;
  const other = operand(comparison.right, item);
  return other.length > 0 && compare(comparison.operator, found[0], other[0]);
}

function operand(side: Operand, item: unknown): unknown[] {
  return "path" in side ? evaluate(side.path, item) : [side.literal];
}

/** Numbers compare with numbers and strings with strings; anything else is only equal or not. */
function compare(operator: Operator, left: unknown, right: unknown): boolean {
  if (operator === "==") return same(left, right);
  if (operator === "!=") return !same(left, right);
  if (typeof left === "string" && typeof right === "string") return ordered(operator, left, right);
  if (isNumber(left) && isNumber(right)) return ordered(operator, left, right);
  return false;
}

function same(left: unknown, right: unknown): boolean {
  if (isNumber(left) && isNumber(right)) return left <= right && left >= right; // 1n is 1
  return left === right;
}

function ordered<T extends string | number | bigint>(operator: Operator, left: T, right: T): boolean {
  if (operator === "<") return left < right;
  if (operator === "<=") return left <= right;
  return operator === ">" ? left > right : left >= right;
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
