/** Reading and filling in objects whose shape is known by name only. */
import { isObject } from "#lib/json";

export type Fields = Record<string, unknown>;

/** The value at a path; undefined where any step of it is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let here = value;
  for (const step of path) {
    if (!isObject(here) || !Object.hasOwn(here, step)) return undefined;
    here = here[step];
  }
  return here;
}

/** The object at a path; an empty one, not part of the value, where there is none. */
export function fieldsAt(value: unknown, ...path: readonly string[]): Fields {
  const found = at(value, ...path);
  return isObject(found) ? found : {};
}

/** The list at a path; an empty one where there is none. */
export function listAt(value: unknown, ...path: readonly string[]): unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** The objects of the list at a path. */
export function objectsAt(value: unknown, ...path: readonly string[]): Fields[] {
  return listAt(value, ...path).filter(isObject);
}

/** The texts of the list at a path. */
export function textsAt(value: unknown, ...path: readonly string[]): string[] {
  return listAt(value, ...path).filter((item) => typeof item === "string");
}

/** The text at a path; empty where there is none. */
export function textAt(value: unknown, ...path: readonly string[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

/** The number at a path; undefined where there is none. */
export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === "number" ? found : undefined;
}

/** The texts of the map at a path. */
export function textMapAt(value: unknown, ...path: readonly string[]): [key: string, value: string][] {
  return Object.entries(fieldsAt(value, ...path)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Sets each of the values whose field is absent. */
export function fill(fields: Fields, values: Fields): void {
  for (const [key, value] of Object.entries(values)) {
    if (isAbsent(at(fields, key))) fields[key] = value;
  }
}

/** Sets each of the values whose field is absent or an empty text. */
export function fillText(fields: Fields, values: Record<string, string>): void {
  for (const [key, value] of Object.entries(values)) {
    if (isAbsent(at(fields, key)) || fields[key] === "") fields[key] = value;
  }
}

/** The object in a field, put there if it is absent. */
export function ensure(fields: Fields, key: string): Fields {
  const found = at(fields, key);
  if (isObject(found)) return found;
  const made: Fields = {};
  fields[key] = made;
  return made;
}

/** Takes a field from another object, absence included. */
export function take(fields: Fields, from: Fields, key: string): void {
  if (Object.hasOwn(from, key)) fields[key] = from[key];
  else delete fields[key];
}
