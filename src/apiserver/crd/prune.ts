/** Removes from an object what its schema does not know. */
import { isObject } from "#lib/json";
import { decodeMetadata } from "./metadata.ts";
import type { Node } from "./node.ts";
import { CopyOnWrite } from "./own.ts";
import { childPath, indexPath, type Path } from "./path.ts";

/**
 * The value without fields that the schema does not know; their paths are added to `unknown`. What needs no
 * change is shared with the original, which is left as it is.
 */
export function prune(node: Node, value: unknown, path: Path, unknown: string[]): unknown {
  if (Array.isArray(value)) return pruneList(node, value, path, unknown);
  if (!isObject(value) || isLeaf(node)) return value;

  const pruning = new CopyOnWrite(value);
  for (const key of Object.keys(value)) {
    const inner = value[key];
    const at = childPath(path, key);
    if (node.embedded && (key === "apiVersion" || key === "kind")) continue;
    if (node.embedded && key === "metadata") {
      if (isObject(inner)) pruning.set(key, decodeMetadata(inner, at, unknown));
      continue;
    }
    const child = node.properties.get(key) ?? node.additional;
    if (child === true) continue;
    if (child) {
      const kept = prune(child, inner, at, unknown);
      if (kept !== inner) pruning.set(key, kept);
    } else if (!node.preserve) {
      pruning.remove(key);
      unknown.push(at);
    }
  }
  return pruning.result;
}

function pruneList(node: Node, list: unknown[], path: Path, unknown: string[]): unknown[] {
  const { items } = node;
  if (!items) return list;
  let changed = false;
  const kept = list.map((item, index) => {
    const result = prune(items, item, indexPath(path, index), unknown);
    changed ||= result !== item;
    return result;
  });
  return changed ? kept : list;
}

/** An object in the place of a scalar is not pruned but refused by validation. */
function isLeaf({ type, intOrString }: Node): boolean {
  return intOrString || (type !== undefined && type !== "object");
}
