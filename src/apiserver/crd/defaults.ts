/** Fills in what a schema has defaults for, and removes nulls where null means nothing. */
import { clone, isObject } from "#lib/json";
import type { Node } from "./node.ts";
import { CopyOnWrite } from "./own.ts";

/**
 * The value with defaults. Null in a field that may not be null becomes the default, or, where there is none,
 * is removed: Go clients write null for empty lists and zero times. What needs no change is shared with the
 * original, which is left as it is; a value that needs none at all comes back itself.
 */
export function fill(node: Node, value: unknown): unknown {
  if (Array.isArray(value)) return fillList(node, value);
  if (!isObject(value)) return value;

  const filling = new CopyOnWrite(value);
  for (const key of Object.keys(value)) {
    const child = node.properties.get(key) ?? node.additional;
    if (!child || child === true) continue;
    const inner = value[key];
    if (inner !== null || child.nullable) {
      const filled = fill(child, inner);
      if (filled !== inner) filling.set(key, filled);
    } else if (child.default) {
      filling.set(key, defaultOf(child, child.default.value));
    } else {
      filling.remove(key);
    }
  }
  for (const [name, child] of node.defaulted) {
    if (!Object.hasOwn(value, name)) filling.set(name, defaultOf(child, child.default?.value));
  }
  return filling.result;
}

function fillList({ items }: Node, list: unknown[]): unknown[] {
  if (!items) return list;
  let changed = false;
  const filled = list.map((item) => {
    const result =
      item === null && !items.nullable && items.default ? defaultOf(items, items.default.value) : fill(items, item);
    changed ||= result !== item;
    return result;
  });
  return changed ? filled : list;
}

/** A default may itself leave out what has a default below it. */
function defaultOf(node: Node, value: unknown): unknown {
  return fill(node, clone(value));
}
