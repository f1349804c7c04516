/** Lists whose elements are merged instead of replaced: objects by a key, scalars as a set. */
import { isObject } from "#lib/json";
import { plainError } from "../errors.ts";
import { type Fields, hasDirective, PATCH } from "./directives.ts";
import { inOrder } from "./element-order.ts";
import { mixedElements, noMergeKey, rejected, unknownDirective, wrongOrder, wrongType } from "./refusals.ts";

type List = readonly unknown[];

interface ListPatch {
  readonly live: List;
  readonly patch: List;
  /** What tells objects apart; undefined for lists of scalars. */
  readonly mergeKey: string | undefined;
  /** An element after a patch of it. */
  mergeElement(live: Fields, patch: Fields): Fields;
}

/** The list after a patch of its elements. */
export function mergeList({ live, patch, mergeKey, mergeElement }: ListPatch): List {
  if (live.length === 0 && patch.length === 0) return live;
  if (elementsOf(live, patch) === "scalars") {
    return inOrder([...new Set([...live, ...patch])], { first: patch, before: live }, itself);
  }
  if (mergeKey === undefined) throw plainError("cannot merge lists without merge key for struct");
  const keyOf = keyReader(mergeKey);
  const { kept, additions } = obeyDirectives(live as Fields[], patch as Fields[], keyOf);
  const merged = [...kept];
  const found = new Map<unknown, number>();
  for (const [index, element] of kept.entries()) {
    const key = keyOf(element);
    if (!found.has(key)) found.set(key, index);
  }
  for (const element of additions) {
    const key = keyOf(element);
    const index = found.get(key);
    const known = index === undefined ? undefined : merged[index];
    if (index !== undefined && known) merged[index] = mergeElement(known, element);
    // A new element is taken as it is: a directive inside of it is a field that its type does not have.
    else found.set(key, merged.push(element) - 1);
  }
  return inOrder(merged, { first: additions, before: kept }, keyOf);
}

/** The list without the scalars that the patch names. */
export function deleteFromList(change: ListPatch): List {
  const { live, patch } = change;
  if (live.length === 0 && patch.length === 0) return live;
  if (elementsOf(live, patch) === "objects") return mergeList(change);
  const gone = new Set(patch);
  return live.filter((element) => !gone.has(element));
}

/** The list as `$setElementOrder` wants it; what it does not name stays where it stood among the others. */
export function reorder(merged: List, order: List, before: List, mergeKey: string | undefined): List {
  const nameless = mergeKey === undefined && [...before, ...merged, ...order].find(isObject);
  if (nameless) throw noMergeKey(nameless as Fields, "");
  return inOrder(merged, { first: order, before }, mergeKey === undefined ? itself : keyReader(mergeKey));
}

/** Refuses an order that leaves out elements of the patch, or contradicts the order they have there. */
export function checkOrder(patch: List, order: List, mergeKey: string | undefined): void {
  if (patch.length === 0 || order.length === 0) return;
  const keyOf = mergeKey === undefined ? itself : keyReader(mergeKey);
  const wanted = patch.filter((element) => !hasDirective(element)).map(keyOf);
  let met = 0;
  for (const element of order) {
    if (met < wanted.length && keyOf(element) === wanted[met]) met++;
  }
  if (met < wanted.length) throw wrongOrder(patch, order);
}

/** Carries out `$patch` of elements; what is left of the patch are elements to merge. */
function obeyDirectives(live: Fields[], patch: Fields[], keyOf: (element: unknown) => unknown) {
  const additions: Fields[] = [];
  const deleted = new Set<unknown>();
  let replaces = false;
  for (const element of patch) {
    const directive = hasDirective(element) ? element[PATCH] : undefined;
    if (directive === undefined) additions.push(element);
    else if (directive === "delete") deleted.add(keyOf(element));
    else if (directive === "replace") replaces = true;
    else if (directive === "merge") throw plainError("merging lists cannot yet be specified in the patch");
    else throw unknownDirective(directive, element);
  }
  if (replaces) return { kept: additions, additions: [] };
  return { kept: deleted.size === 0 ? live : live.filter((element) => !deleted.has(keyOf(element))), additions };
}

const itself = (element: unknown): unknown => element;

function keyReader(mergeKey: string): (element: unknown) => unknown {
  return (element) => {
    if (!isObject(element)) throw wrongType("object", element);
    if (!Object.hasOwn(element, mergeKey)) throw noMergeKey(element, mergeKey);
    return element[mergeKey];
  };
}

/** Lists that are merged hold one sort of elements. */
function elementsOf(...lists: readonly List[]): "objects" | "scalars" {
  const [sort, ...others] = new Set(lists.flat().map(sortOf));
  if (sort === "list") throw rejected("lists of lists are not supported");
  if (others.length > 0) throw mixedElements(...lists);
  return sort === "object" ? "objects" : "scalars";
}

function sortOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  if (value === null) return "null";
  return typeof value === "bigint" ? "number" : typeof value;
}
