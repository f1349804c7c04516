/**
 * Strategic merge patches: merge patches that know the type of the object, so that lists are merged by the keys of
 * their elements, with directives for what merging alone cannot say.
 */
import { isObject } from "#lib/json";
import {
  deletedField,
  type Fields,
  hasDirective,
  isDeletion,
  isOrder,
  orderedField,
  PATCH,
  RETAIN_KEYS,
  withoutDirectives,
  withoutNulls,
} from "./directives.ts";
import { checkOrder, deleteFromList, mergeList, reorder } from "./list-merge.ts";
import { type PatchRule, type PatchType, patchTypeOfKind, ruleOfList, ruleOfObject } from "./patch-type.ts";
import { badRetainKeys, unknownDirective, wrongType } from "./refusals.ts";

/**
 * The object after the patch; both are left alone, and the result may share parts with them. The type is named by its
 * key in the type table; without one, lists are replaced as in a merge patch. Throws ApiError for a patch that
 * contradicts itself or the type.
 */
export function strategicMerge(typeKey: string | undefined, original: Fields, patch: Fields): Fields {
  return mergeObject(original, patch, patchTypeOfKind(typeKey));
}

/** What an object is while it is patched: a map, because fields may have any name, `__proto__` among them. */
type Draft = Map<string, unknown>;

function mergeObject(original: Fields, patch: Fields, type: PatchType): Fields {
  if (hasDirective(patch)) return directed(patch);
  const draft: Draft = new Map(Object.entries(original));
  const changes: Draft = new Map(Object.entries(patch));
  retainKeys(draft, changes);
  orderLists(draft, changes, type);
  // Elements are deleted after others were added, so that of two contradicting wishes always the same one wins.
  for (const [key, change] of changes) if (!isDeletion(key)) mergeField(draft, key, change, type);
  for (const [key, change] of changes) if (isDeletion(key)) deleteElements(draft, deletedField(key), change, type);
  return Object.fromEntries(draft);
}

/** `$patch` in an object: all of it is replaced, or emptied. */
function directed(patch: Fields): Fields {
  const { [PATCH]: directive, ...rest } = patch;
  if (directive === "replace") return rest;
  if (directive === "delete") return {};
  throw unknownDirective(directive, patch);
}

/** `$retainKeys`: fields that it does not name go, and the patch may not set them. */
function retainKeys(draft: Draft, changes: Draft): void {
  if (!changes.has(RETAIN_KEYS)) return;
  const names = changes.get(RETAIN_KEYS);
  changes.delete(RETAIN_KEYS);
  if (!Array.isArray(names)) throw badRetainKeys();
  const retained = new Set<unknown>(names);
  for (const [key, change] of changes) {
    const isSet = change !== null && !isDeletion(key) && !isOrder(key);
    if (isSet && !retained.has(key)) throw badRetainKeys();
  }
  for (const key of [...draft.keys()]) if (!retained.has(key)) draft.delete(key);
}

/** Lists that have a `$setElementOrder` are merged here, and put in that order. */
function orderLists(draft: Draft, changes: Draft, type: PatchType): void {
  for (const [key, order] of [...changes].filter(([name]) => isOrder(name))) {
    const name = orderedField(key);
    const list = listAt(draft, name);
    const change = listAt(changes, name);
    changes.delete(key);
    changes.delete(name);
    if (!Array.isArray(order)) throw wrongType("list", order);
    const rule = ruleOfList(type, name);
    checkOrder(change ?? [], order, rule.mergeKey);
    if (!list && !change) continue;
    const merged = !change ? list : !list ? withoutDirectives(change) : patchedList(list, change, rule);
    draft.set(name, reorder(merged as unknown[], order, list ?? [], rule.mergeKey));
  }
}

function listAt(fields: Draft, name: string): readonly unknown[] | undefined {
  const value = fields.get(name);
  if (value === undefined || Array.isArray(value)) return value;
  throw wrongType("list", value);
}

function mergeField(draft: Draft, name: string, change: unknown, type: PatchType): void {
  const value = draft.get(name);
  const next = change === null ? undefined : mergedValue(value, change, name, type);
  if (next === undefined) draft.delete(name);
  else draft.set(name, next);
}

/** The field after the change; undefined when it goes. */
function mergedValue(value: unknown, change: unknown, name: string, type: PatchType): unknown {
  if (Array.isArray(value) && Array.isArray(change)) return patchedList(value, change, ruleOfList(type, name));
  if (!isObject(value) || !isObject(change)) return withoutDirectives(withoutNulls(change));
  const rule = ruleOfObject(type, name);
  return rule.strategy === "replace" ? change : mergeObject(value, change, rule.type);
}

function patchedList(live: readonly unknown[], patch: readonly unknown[], rule: PatchRule): readonly unknown[] {
  return rule.strategy === "merge" ? mergeList(listPatch(live, patch, rule)) : patch;
}

/** `$deleteFromPrimitiveList`, which works on every list, merged or not. */
function deleteElements(draft: Draft, name: string, change: unknown, type: PatchType): void {
  const list = draft.get(name);
  if (change === null) draft.delete(name);
  if (!Array.isArray(list) || !Array.isArray(change)) return;
  draft.set(name, deleteFromList(listPatch(list, change, ruleOfList(type, name))));
}

function listPatch(live: readonly unknown[], patch: readonly unknown[], { mergeKey, type }: PatchRule) {
  const mergeElement = (element: Fields, change: Fields) => mergeObject(element, change, type);
  return { live, patch, mergeKey, mergeElement };
}
