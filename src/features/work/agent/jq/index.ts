/**
 * The part of jq in which fields of an object are named: paths, `select` with comparisons, and the functions that such
 * conditions are written with. `del(<expression>)` is all that is ever done with it.
 */
import { clone } from "#lib/json";
import { pathsOf } from "./evaluate.ts";
import { parse } from "./parse.ts";

/** The value without all that the expression leads to. Throws with words for whoever wrote the expression. */
export function without(value: unknown, expression: string): unknown {
  const paths = pathsOf(parse(expression), value);
  if (paths.some((path) => path.length === 0)) return null;
  const rest = clone(value);
  // From the end, so that no index moves under the next one.
  for (const path of [...paths].sort(later)) removeAt(rest, path);
  return rest;
}

type Path = readonly (string | number)[];

function later(a: Path, b: Path): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const [left, right] = [a[at], b[at]];
    if (left === right || left === undefined || right === undefined) continue;
    if (typeof left === "number" && typeof right === "number") return right - left;
    return String(left) < String(right) ? 1 : -1;
  }
  return b.length - a.length;
}

function removeAt(root: unknown, path: Path): void {
  let parent: unknown = root;
  for (const step of path.slice(0, -1)) {
    if (typeof parent !== "object" || parent === null || !Object.hasOwn(parent, step)) return;
    parent = (parent as Record<string | number, unknown>)[step];
  }
  const last = path.at(-1);
  if (Array.isArray(parent)) {
    if (typeof last === "number" && last < parent.length) parent.splice(last, 1);
  } else if (typeof parent === "object" && parent !== null && typeof last === "string") {
    delete (parent as Record<string, unknown>)[last];
  }
}
