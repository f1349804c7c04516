/** The live object with a configuration put over it: nothing is removed, and what both name is the configuration's. */
import { itemElement } from "./list-item.ts";
import type { PathElement } from "./path-element.ts";
import { put } from "./put.ts";
import { formOf, type ListType, listOf, type MapType, mapOf, memberType, type ValueType } from "./value-type.ts";

/** The configuration must fit its type; of the live object only the lists must. */
export function mergeValues(type: ValueType, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  if (live === undefined) return config;
  const form = formOf(type, config);
  if (form !== formOf(type, live) && live !== null && config !== null) return config;
  if (form === "map" && type.map) return mergeMaps(type.map, live, config);
  if (form === "list" && type.list) return mergeLists(type.list, live, config);
  return config;
}

function mergeMaps(map: MapType, live: unknown, config: unknown): unknown {
  const [members, wished] = [mapOf(live), mapOf(config)];
  if (map.atomic || !members) return config;
  // A null takes nothing away from what has parts.
  if (!wished) return Object.keys(members).length > 0 ? members : config;
  if (Object.keys(members).length === 0 && Object.keys(wished).length === 0) return config;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(members)) {
    const wish = Object.hasOwn(wished, key) ? wished[key] : undefined;
    const type = memberType(map, key);
    put(out, key, wish === undefined || !type ? members[key] : mergeValues(type, members[key], wish));
  }
  for (const key of Object.keys(wished)) if (!Object.hasOwn(members, key)) put(out, key, wished[key]);
  return out;
}

function mergeLists(list: ListType, live: unknown, config: unknown): unknown {
  const [items, wished] = [listOf(live), listOf(config)];
  if (list.relation === "atomic" || !items?.length) return config;
  if (!wished?.length) return items;
  return mergeItems(list, items, wished);
}

/**
 * Items that both lists have come in the order of the configuration, and what only the live list has stays where it
 * is among them. Live items that cannot be told apart are replaced by the one item of the configuration.
 */
function mergeItems(list: ListType, live: readonly unknown[], config: readonly unknown[]): unknown[] {
  const lefts = live.map((item) => itemElement(list, item));
  const rights = config.map((item) => itemElement(list, item));
  const wishes = new Map(rights.map((element, index) => [element, config[index]]));
  const counts = new Map<PathElement, number>();
  for (const element of lefts) counts.set(element, (counts.get(element) ?? 0) + 1);
  const known = new Map(lefts.map((element, index) => [element, live[index]]));
  const merged = (element: PathElement): unknown => {
    const old = (counts.get(element) ?? 0) > 1 ? undefined : known.get(element);
    return mergeValues(list.item, old, wishes.get(element));
  };

  const shared = rights.filter((element) => known.has(element));
  let nextShared = shared.shift();
  const done = new Set<PathElement>();
  const out: unknown[] = [];
  for (let left = 0, right = 0; left < lefts.length || right < rights.length; ) {
    const [mine, theirs] = [lefts[left], rights[right]];
    if (mine !== undefined && theirs !== undefined) {
      if (mine === theirs) {
        done.add(mine);
        out.push(merged(mine));
        left++;
        right++;
        nextShared = shared.shift();
        continue;
      }
      if (wishes.has(mine) && nextShared !== undefined && nextShared !== mine) {
        left++; // its place in the configuration is yet to come
        continue;
      }
    }
    if (mine !== undefined) {
      if (!wishes.has(mine)) {
        out.push(live[left]);
        left++;
        continue;
      }
      if (done.has(mine)) left++;
    }
    if (theirs !== undefined) {
      done.add(theirs);
      out.push(merged(theirs));
      right++;
      if (nextShared === theirs) nextShared = shared.shift();
    }
  }
  return out;
}
