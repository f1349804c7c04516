/** The fields of a strategic merge patch that say how to merge, and are no part of the result. */
import { isObject } from "#lib/json";
import { badElementOrder, badPrimitiveList } from "./refusals.ts";

export type Fields = Record<string, unknown>;

/** In an object: how it, or the element of a list that it is, is to be merged. */
export const PATCH = "$patch";
/** In an object: the fields that may stay; all others go. */
export const RETAIN_KEYS = "$retainKeys";
/** Before the name of a list: the order in which its elements should stand. */
const SET_ELEMENT_ORDER = "$setElementOrder";
/** Before the name of a list of scalars: the elements to remove from it. */
const DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList";

export function hasDirective(value: unknown): boolean {
  return isObject(value) && Object.hasOwn(value, PATCH);
}

export const isOrder = (key: string): boolean => key.startsWith(SET_ELEMENT_ORDER);
export const isDeletion = (key: string): boolean => key.startsWith(DELETE_FROM_PRIMITIVE_LIST);

/** `containers` of `$setElementOrder/containers`. */
export function orderedField(key: string): string {
  if (!key.startsWith(`${SET_ELEMENT_ORDER}/`)) throw badElementOrder();
  return key.slice(SET_ELEMENT_ORDER.length + 1);
}

/** `finalizers` of `$deleteFromPrimitiveList/finalizers`. */
export function deletedField(key: string): string {
  if (!key.startsWith(`${DELETE_FROM_PRIMITIVE_LIST}/`)) throw badPrimitiveList();
  return key.slice(DELETE_FROM_PRIMITIVE_LIST.length + 1);
}

/** Without objects that carry `$patch`, wherever they are; undefined when the value is one itself. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => !hasDirective(item)).map(withoutDirectives);
  if (!isObject(value)) return value;
  return hasDirective(value) ? undefined : mapFields(value, withoutDirectives);
}

/** Without fields that are null: there is nothing here that they could delete. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  return mapFields(value, (item) => (item === null ? undefined : withoutNulls(item)));
}

/** Fields that become undefined are left out. */
function mapFields(fields: Fields, change: (value: unknown) => unknown): Fields {
  const changed = Object.entries(fields).map(([key, value]) => [key, change(value)] as const);
  return Object.fromEntries(changed.filter(([, value]) => value !== undefined));
}
