/**
 * Taking over from somebody who wrote whole objects, and no longer does: the fields that they answer for become those
 * of whoever applies now. Otherwise a field that a later manifest no longer has would stay for ever, because they still
 * wish for it.
 */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { appliedBy } from "../ownership.ts";

export interface Succession {
  /** The account as it should be. */
  readonly managedFields: readonly ManagedFieldsEntry[];
  /** Whether fields came over that the heir has not applied: they go when it applies again. */
  readonly isMore: boolean;
}

/** Undefined where nothing is to be inherited. */
export function succession(heir: string, predecessors: readonly string[], live: DynamicObject): Succession | undefined {
  const account = live.metadata.managedFields ?? [];
  const own = appliedBy(heir, live);
  const theirs = account.filter(
    (entry) =>
      entry.operation === "Update" &&
      !entry.subresource &&
      entry.apiVersion === own?.apiVersion &&
      predecessors.includes(entry.manager ?? ""),
  );
  if (!own || theirs.length === 0) return undefined;
  const fieldsV1 = theirs.reduce((fields, entry) => union(fields, entry.fieldsV1 ?? {}), own.fieldsV1 ?? {});
  return {
    managedFields: account.flatMap((entry) =>
      theirs.includes(entry) ? [] : entry === own ? [{ ...own, fieldsV1 }] : [entry],
    ),
    isMore: !equal(fieldsV1, own.fieldsV1),
  };
}

type Fields = Record<string, unknown>;

function union(one: Fields, other: Fields): Fields {
  const both = { ...one };
  for (const [field, inner] of Object.entries(other)) {
    const known = both[field];
    both[field] = isObject(known) && isObject(inner) ? union(known, inner) : (known ?? inner);
  }
  return both;
}
