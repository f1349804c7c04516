/** What differs between two states of an object, by path. */
import { equal } from "#lib/json";
import { itemElement } from "./list-item.ts";
import { fieldElement, type PathElement } from "./path-element.ts";
import { differenceWithBelow, type PathSet, PathSetBuilder } from "./path-set.ts";
import {
  type Form,
  formOf,
  type ListType,
  listOf,
  type MapType,
  mapOf,
  memberType,
  type ValueType,
} from "./value-type.ts";

/** No path is in more than one of the sets. */
export interface Comparison {
  readonly added: PathSet;
  readonly modified: PathSet;
  readonly removed: PathSet;
}

/** Throws TypeMismatch when the items of a list cannot be told apart. */
export function compareValues(type: ValueType, before: unknown, after: unknown): Comparison {
  const comparer = new Comparer();
  comparer.visit(type, before, after);
  return comparer.result();
}

/** The comparison without some paths and what is below them. */
export function withoutPaths({ added, modified, removed }: Comparison, ignored: PathSet): Comparison {
  return {
    added: differenceWithBelow(added, ignored),
    modified: differenceWithBelow(modified, ignored),
    removed: differenceWithBelow(removed, ignored),
  };
}

/** Absent is `undefined`; null is a value. */
class Comparer {
  readonly #added = new PathSetBuilder();
  readonly #modified = new PathSetBuilder();
  readonly #removed = new PathSetBuilder();
  readonly #path: PathElement[] = [];

  result(): Comparison {
    return { added: this.#added.build(), modified: this.#modified.build(), removed: this.#removed.build() };
  }

  visit(type: ValueType, before: unknown, after: unknown): void {
    if (before === after) return;
    const [was, is] = [formOf(type, before), formOf(type, after)];
    // A value that changes its form loses the parts of the old one and gets those of the new.
    if (before !== undefined && after !== undefined && was !== is) this.#visitAs(was, type, before, after);
    const isWhole = this.#visitAs(after === undefined ? was : is, type, before, after);
    if (isWhole) return;
    if (before === undefined) this.#added.add(this.#path);
    else if (after === undefined) this.#removed.add(this.#path);
  }

  /** Answers whether the value is one thing, and has been dealt with. */
  #visitAs(form: Form, type: ValueType, before: unknown, after: unknown): boolean {
    if (form === "map" && type.map) return this.#visitMap(type.map, before, after);
    if (form === "list" && type.list) return this.#visitList(type.list, before, after);
    this.#whole(before, after);
    return true;
  }

  #whole(before: unknown, after: unknown): void {
    if (before === undefined) this.#added.add(this.#path);
    else if (after === undefined) this.#removed.add(this.#path);
    else if (!equal(before, after)) this.#modified.add(this.#path);
  }

  #visitMap(map: MapType, before: unknown, after: unknown): boolean {
    const [was, is] = [mapOf(before), mapOf(after)];
    // Nothing to nothing: the difference between none, null and empty is the value itself.
    if (map.atomic || (hasNone(was) && hasNone(is))) {
      this.#whole(before, after);
      return true;
    }
    if (was) {
      for (const key of Object.keys(was)) {
        const next = is && Object.hasOwn(is, key) ? is[key] : undefined;
        this.#visitMember(map, key, was[key], next);
      }
    }
    if (is) {
      for (const key of Object.keys(is)) {
        if (!was || !Object.hasOwn(was, key)) this.#visitMember(map, key, undefined, is[key]);
      }
    }
    return false;
  }

  #visitMember(map: MapType, key: string, before: unknown, after: unknown): void {
    if (before === after) return;
    const type = memberType(map, key);
    if (!type) return; // a field that this version does not have belongs to nobody
    this.#path.push(fieldElement(key));
    this.visit(type, before, after);
    this.#path.pop();
  }

  #visitList(list: ListType, before: unknown, after: unknown): boolean {
    const [was, is] = [listOf(before), listOf(after)];
    if (list.relation === "atomic" || ((was?.length ?? 0) === 0 && (is?.length ?? 0) === 0)) {
      this.#whole(before, after);
      return true;
    }
    // Most lists stay as they are, and finding out is cheaper than telling their items apart.
    if (equal(was, is)) return false;
    const [old, next] = [itemsOf(list, was), itemsOf(list, is)];
    for (const [element, items] of old) this.#visitItems(list, element, items, next.get(element) ?? []);
    for (const [element, items] of next) if (!old.has(element)) this.#visitItems(list, element, [], items);
    return false;
  }

  /** Items that cannot be told apart are one thing together. */
  #visitItems({ item }: ListType, element: PathElement, before: unknown[], after: unknown[]): void {
    this.#path.push(element);
    if (before.length <= 1 && after.length <= 1) this.visit(item, before[0], after[0]);
    else if (before.length > 1 && after.length > 1) {
      if (!equal(before, after)) this.#modified.add(this.#path);
    } else if (before.length > 1) {
      if (after.length > 0) this.visit(item, undefined, after[0]);
      this.#removed.add(this.#path);
    } else {
      if (before.length > 0) this.visit(item, before[0], undefined);
      this.#added.add(this.#path);
    }
    this.#path.pop();
  }
}

function hasNone(map: Record<string, unknown> | undefined): boolean {
  if (map) for (const key in map) if (Object.hasOwn(map, key)) return false;
  return true;
}

function itemsOf(list: ListType, items: readonly unknown[] | undefined): Map<PathElement, unknown[]> {
  const byElement = new Map<PathElement, unknown[]>();
  for (const item of items ?? []) {
    const element = itemElement(list, item);
    const same = byElement.get(element);
    if (same) same.push(item);
    else byElement.set(element, [item]);
  }
  return byElement;
}
