import { clone, equal, isObject } from "#lib/json";
import { ownField, setField } from "./fields.ts";

/** The document after an RFC 7386 merge patch: objects are merged, `null` removes, all else replaces. */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return clone(patch);
  const result: Record<string, unknown> = {};
  if (isObject(document)) {
    for (const key of Object.keys(document)) {
      if (!Object.hasOwn(patch, key)) setField(result, key, document[key]);
      else if (patch[key] !== null) setField(result, key, applyMergePatch(document[key], patch[key]));
    }
  }
  for (const key of Object.keys(patch)) {
    if (patch[key] === null || Object.hasOwn(result, key)) continue;
    setField(result, key, applyMergePatch(undefined, patch[key]));
  }
  return result;
}

/**
 * The smallest merge patch that turns `before` into `after`; `undefined` when there is nothing to do. Fields
 * that are undefined or null count as absent, because a merge patch cannot set them.
 */
export function mergeDiff(before: unknown, after: unknown): unknown {
  if (before === after) return undefined; // what is shared need not be looked through
  if (!isObject(before) || !isObject(after)) {
    const wanted = plain(after);
    return equal(plain(before), wanted) ? undefined : (wanted ?? null);
  }
  const patch: Record<string, unknown> = {};
  for (const key of Object.keys(after)) {
    const [from, to] = [ownField(before, key), after[key]];
    if (isAbsent(to)) continue;
    const change = isAbsent(from) ? plain(to) : mergeDiff(from, to);
    if (change !== undefined) setField(patch, key, change);
  }
  for (const key of Object.keys(before)) {
    if (!isAbsent(before[key]) && isAbsent(ownField(after, key))) setField(patch, key, null);
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** The value as it looks after a way through JSON: undefined fields are gone, and so are nulls outside of lists. */
function plain(value: unknown, inList = false): unknown {
  if (Array.isArray(value)) return value.map((item) => (item === undefined ? null : plain(item, true)));
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const field = value[key];
    if (field === undefined || (field === null && !inList)) continue;
    setField(copy, key, plain(field, inList));
  }
  return copy;
}
