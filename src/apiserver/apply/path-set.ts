/**
 * Sets of paths to fields, as trees: who owns what in an object. A path in a set says nothing of the paths below it.
 * Sets are never changed once they are handed out, and share what they have in common; so a set that an operation
 * leaves as it was comes back itself, and can be told by `===`.
 */
import { isObject } from "#lib/json";
import { compareElements, type PathElement, readElement } from "./path-element.ts";

export type Path = readonly PathElement[];

/** No node is empty: it is a member, or has members below it. */
interface PathNode {
  readonly member: boolean;
  readonly children: PathSet;
}

export type PathSet = ReadonlyMap<PathElement, PathNode>;

export const NO_PATHS: PathSet = new Map();

const LEAF: PathNode = { member: true, children: NO_PATHS };

export function pathSet(...paths: Path[]): PathSet {
  const builder = new PathSetBuilder();
  for (const path of paths) builder.add(path);
  return builder.build();
}

interface OpenNode {
  member: boolean;
  children: Map<PathElement, OpenNode>;
}

/** Collects paths, for walks that find them one by one. */
export class PathSetBuilder {
  #root: Map<PathElement, OpenNode> | undefined;

  /** The path may be reused by the caller. The whole object has no path and is owned by nobody. */
  add(path: Path): void {
    if (path.length === 0) return;
    this.#root ??= new Map();
    let level = this.#root;
    let node: OpenNode | undefined;
    for (const element of path) {
      // Most nodes are leaves, and need no map of their own.
      if (node?.children === NO_PATHS) node.children = new Map();
      if (node) level = node.children;
      node = level.get(element);
      if (!node) {
        node = { member: false, children: NO_PATHS as Map<PathElement, OpenNode> };
        level.set(element, node);
      }
    }
    if (node) node.member = true;
  }

  build(): PathSet {
    return this.#root ?? NO_PATHS;
  }
}

export function isEmpty(set: PathSet): boolean {
  return set.size === 0;
}

export function has(set: PathSet, path: Path): boolean {
  let level = set;
  let node: PathNode | undefined;
  for (const element of path) {
    node = level.get(element);
    if (!node) return false;
    level = node.children;
  }
  return node?.member ?? false;
}

/** What the set says of the paths that begin with this step, without the step. */
export function below(set: PathSet, element: PathElement): PathSet {
  return set.get(element)?.children ?? NO_PATHS;
}

export function isMember(set: PathSet, element: PathElement): boolean {
  return set.get(element)?.member ?? false;
}

export function union(a: PathSet, b: PathSet): PathSet {
  if (b.size === 0) return a;
  if (a.size === 0) return b;
  let out: Map<PathElement, PathNode> | undefined;
  for (const [element, added] of b) {
    const known = a.get(element);
    const node = known ? unionOfNodes(known, added) : added;
    if (node !== known) {
      out ??= new Map(a);
      out.set(element, node);
    }
  }
  return out ?? a;
}

function unionOfNodes(a: PathNode, b: PathNode): PathNode {
  const children = union(a.children, b.children);
  const member = a.member || b.member;
  return children === a.children && member === a.member ? a : { member, children };
}

/** The paths of `a` that are not in `b`; a path of `b` takes away only itself. */
export function difference(a: PathSet, b: PathSet): PathSet {
  return without(a, b, (node, taken) => ({
    member: node.member && !taken.member,
    children: difference(node.children, taken.children),
  }));
}

/** The paths of `a` that are neither in `b` nor below a path of `b`. */
export function differenceWithBelow(a: PathSet, b: PathSet): PathSet {
  return without(a, b, (node, taken) =>
    taken.member
      ? { member: false, children: NO_PATHS }
      : { member: node.member, children: differenceWithBelow(node.children, taken.children) },
  );
}

function without(a: PathSet, b: PathSet, rest: (node: PathNode, taken: PathNode) => PathNode): PathSet {
  let out: Map<PathElement, PathNode> | undefined;
  for (const [element, taken] of b) {
    const node = a.get(element);
    if (!node) continue;
    const left = rest(node, taken);
    if (left.member === node.member && left.children === node.children) continue;
    out ??= new Map(a);
    if (left.member || left.children.size > 0) out.set(element, left);
    else out.delete(element);
  }
  return out ?? a;
}

export function intersection(a: PathSet, b: PathSet): PathSet {
  const out = new Map<PathElement, PathNode>();
  const [few, many] = a.size <= b.size ? [a, b] : [b, a];
  for (const [element, node] of few) {
    const other = many.get(element);
    if (!other) continue;
    const member = node.member && other.member;
    const children = intersection(node.children, other.children);
    if (member || children.size > 0) out.set(element, { member, children });
  }
  return out.size > 0 ? out : NO_PATHS;
}

export function equalSets(a: PathSet, b: PathSet): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  for (const [element, node] of a) {
    const other = b.get(element);
    if (!other || other.member !== node.member || !equalSets(node.children, other.children)) return false;
  }
  return true;
}

/** Every path of the set: those of one level before those below it, each level in its order. */
export function pathsOf(set: PathSet): Path[] {
  const paths: Path[] = [];
  collect(set, [], paths);
  return paths;
}

function collect(set: PathSet, prefix: Path, paths: Path[]): void {
  const elements = [...set.keys()].sort(compareElements);
  for (const element of elements) if (set.get(element)?.member) paths.push([...prefix, element]);
  for (const element of elements) collect(below(set, element), [...prefix, element], paths);
}

/** The set with more steps of this level as members, and with what `deeper` makes of every subtree. */
export function mapLevel(
  set: PathSet,
  isMemberToo: (element: PathElement) => boolean,
  deeper: (element: PathElement, children: PathSet) => PathSet,
): PathSet {
  const out = new Map<PathElement, PathNode>();
  for (const [element, { member, children }] of set) {
    if (children.size === 0) out.set(element, LEAF);
    else out.set(element, { member: member || isMemberToo(element), children: deeper(element, children) });
  }
  return out;
}

/** The set in which some steps of this level stand for all below them; `deeper` says so of the levels below. */
export function foldLevel(
  set: PathSet,
  isFolded: (element: PathElement) => boolean,
  deeper: (element: PathElement, children: PathSet) => PathSet,
): PathSet {
  let out: Map<PathElement, PathNode> | undefined;
  for (const [element, node] of set) {
    if (node.children.size === 0) continue;
    const children = isFolded(element) ? NO_PATHS : deeper(element, node.children);
    if (children === node.children) continue;
    out ??= new Map(set);
    out.set(element, { member: node.member || children.size === 0, children });
  }
  return out ?? set;
}

export type FieldsV1 = { [element: string]: FieldsV1 };

/** The form in which managedFields keeps a set. */
export function encodeFields(set: PathSet): FieldsV1 {
  const out: FieldsV1 = {};
  for (const element of [...set.keys()].sort(compareElements)) {
    const { member, children } = set.get(element) as PathNode;
    out[element] = children.size === 0 ? {} : member ? { ".": {}, ...encodeFields(children) } : encodeFields(children);
  }
  return out;
}

/** Deeper than any object that the server takes. */
const DEEPEST = 1_000;

/** The way back. Throws SyntaxError for what is no set. */
export function decodeFields(fields: unknown): PathSet {
  return decodeLevel(fields, 0);
}

function decodeLevel(fields: unknown, depth: number): PathSet {
  if (!isObject(fields) || depth > DEEPEST) throw new SyntaxError("fields are objects in objects");
  const out = new Map<PathElement, PathNode>();
  for (const key of Object.keys(fields)) {
    if (key === ".") continue; // it is said of the step above
    const inner = fields[key];
    const children = decodeLevel(inner, depth + 1);
    const member = children.size === 0 || Object.hasOwn(inner as object, ".");
    out.set(readElement(key), { member, children });
  }
  return out.size > 0 ? out : NO_PATHS;
}
