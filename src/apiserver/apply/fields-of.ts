/** The paths that a value mentions: what whoever applies it will own. */
import { itemElement } from "./list-item.ts";
import { fieldElement, fieldNameOf, isKey, type PathElement } from "./path-element.ts";
import { foldLevel, mapLevel, type PathSet, PathSetBuilder } from "./path-set.ts";
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

/** Throws TypeMismatch when the items of a list cannot be told apart. */
export function fieldsOf(type: ValueType, value: unknown): PathSet {
  const collector = new Collector();
  collector.visit(type, value);
  return collector.paths.build();
}

class Collector {
  readonly paths = new PathSetBuilder();
  readonly #path: PathElement[] = [];

  visit(type: ValueType, value: unknown): void {
    const form = formOf(type, value);
    if (form === "map" && type.map) this.#visitMap(type.map, value);
    else if (form === "list" && type.list) this.#visitList(type.list, value);
    else this.paths.add(this.#path);
  }

  #visitMap(map: MapType, value: unknown): void {
    if (map.atomic) {
      this.paths.add(this.#path);
      return;
    }
    const members = mapOf(value);
    if (!members) return;
    for (const key of Object.keys(members)) {
      const type = memberType(map, key);
      if (!type) continue;
      const inner = members[key];
      this.#path.push(fieldElement(key));
      this.visit(type, inner);
      // The fields of a struct are owned by their parts; a key of a map, and what has no parts, also by itself.
      if (inner === null || isEmptyObject(inner) || map.field(key) === undefined) this.paths.add(this.#path);
      this.#path.pop();
    }
  }

  #visitList(list: ListType, value: unknown): void {
    if (list.relation === "atomic") {
      this.paths.add(this.#path);
      return;
    }
    const items = (listOf(value) ?? []).map((item) => ({ item, element: itemElement(list, item) }));
    const seen = new Set<PathElement>();
    const repeated = new Set<PathElement>();
    for (const { element } of items) (seen.has(element) ? repeated : seen).add(element);
    for (const { item, element } of items) {
      this.#path.push(element);
      if (!repeated.has(element)) this.visit(list.item, item);
      this.paths.add(this.#path);
      this.#path.pop();
    }
  }
}

function isEmptyObject(value: unknown): boolean {
  const map = mapOf(value);
  return map !== undefined && Object.keys(map).length === 0;
}

/**
 * The set with the fields of structs above its paths. They are not owned as such, but when nothing of a struct is
 * left, nothing of it should stay.
 */
export function withNamedFields(type: ValueType | undefined, set: PathSet): PathSet {
  return mapLevel(
    set,
    (element) => {
      const name = fieldNameOf(element);
      return name !== undefined && type?.map?.field(name) !== undefined;
    },
    (element, children) => withNamedFields(typeBelow(type, element), children),
  );
}

function typeBelow(type: ValueType | undefined, element: PathElement): ValueType | undefined {
  const name = fieldNameOf(element);
  if (name !== undefined) return type?.map && memberType(type.map, name);
  return isKey(element) ? type?.list?.item : undefined;
}

/** The set as the type knows it now: what has become one thing since is owned as one thing. */
export function reconciled(type: ValueType | undefined, set: PathSet): PathSet {
  if (!type) return set;
  return foldLevel(
    set,
    (element) => {
      const inner = typeBelow(type, element);
      if (inner?.map) return inner.map.atomic && inner !== UNTYPED;
      return inner?.scalar === undefined && inner?.list?.relation === "atomic";
    },
    (element, children) => reconciled(typeBelow(type, element), children),
  );
}
