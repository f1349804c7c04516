/** A value without the fields and items of a set of paths. */
import { itemElement } from "./list-item.ts";
import { fieldElement } from "./path-element.ts";
import { below, isEmpty, isMember, type PathSet } from "./path-set.ts";
import { put } from "./put.ts";
import {
  formOf,
  type ListType,
  listOf,
  type MapType,
  mapOf,
  memberType,
  UNTYPED,
  type ValueType,
} from "./value-type.ts";

/** Null when nothing is left. */
export function removePaths(type: ValueType, value: unknown, paths: PathSet): unknown {
  const form = formOf(type, value);
  if (form === "map" && type.map) return removeMembers(type.map, value, paths);
  if (form === "list" && type.list) return removeItems(type.list, value, paths);
  return value;
}

function removeMembers(map: MapType, value: unknown, paths: PathSet): unknown {
  const members = mapOf(value);
  if (!members || map.atomic) return null;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(members)) {
    const element = fieldElement(key);
    if (isMember(paths, element)) continue;
    const inner = below(paths, element);
    const type = memberType(map, key) ?? UNTYPED;
    put(out, key, isEmpty(inner) ? members[key] : removePaths(type, members[key], inner));
  }
  return Object.keys(out).length > 0 ? out : null;
}

function removeItems(list: ListType, value: unknown, paths: PathSet): unknown {
  const items = listOf(value);
  if (!items || list.relation === "atomic") return null;
  const out: unknown[] = [];
  for (const item of items) {
    const element = itemElement(list, item);
    if (isMember(paths, element)) continue;
    const inner = below(paths, element);
    out.push(isEmpty(inner) ? item : removePaths(list.item, item, inner));
  }
  return out.length > 0 ? out : null;
}
