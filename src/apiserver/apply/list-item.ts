/** How the items of a list are told apart. */
import { isObject } from "#lib/json";
import { keyElement, type PathElement, valueElement } from "./path-element.ts";
import type { ListType } from "./value-type.ts";

/** A value that is not what its type says; the message leaves out where. */
export class TypeMismatch extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TypeMismatch";
  }
}

/** The step that leads to an item of a set or of a list with keys. Throws TypeMismatch. */
export function itemElement(list: ListType, item: unknown): PathElement {
  return list.relation === "map" ? keyedElement(list, item) : setElement(item);
}

function keyedElement({ keys, keyDefaults }: ListType, item: unknown): PathElement {
  if (item === null) throw new TypeMismatch("associative list with keys may not have a null element");
  if (!isObject(item)) throw new TypeMismatch("associative list with keys may not have non-map elements");
  const names: string[] = [];
  const values: unknown[] = [];
  for (const key of keys) {
    const value = Object.hasOwn(item, key) ? item[key] : keyDefaults.get(key);
    if (value === undefined) continue;
    names.push(key);
    values.push(value);
  }
  if (names.length === 0) {
    const quoted = keys.map((key) => JSON.stringify(key)).join(" ");
    throw new TypeMismatch(
      `associative list with keys has an element that omits all key fields [${quoted}] (and doesn't have default values for any key fields)`,
    );
  }
  return keyElement(names, values);
}

function setElement(item: unknown): PathElement {
  if (item === null) throw new TypeMismatch("associative list without keys has an element that's an explicit null");
  if (Array.isArray(item)) throw new TypeMismatch("not supported: associative list with lists as elements");
  if (isObject(item)) throw new TypeMismatch("associative list without keys has an element that's a map type");
  return valueElement(item);
}
