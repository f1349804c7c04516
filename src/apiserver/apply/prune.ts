/** What goes when a manager no longer applies it. */
import type { DynamicObject } from "#api/meta";
import { fieldsOf, withNamedFields } from "./fields-of.ts";
import type { Manager, Managers } from "./managers.ts";
import { difference, intersection, isEmpty, NO_PATHS, type PathSet, union } from "./path-set.ts";
import { removePaths } from "./remove.ts";
import type { VersionedType, Versions } from "./take-over.ts";
import type { ValueType } from "./value-type.ts";

export interface Pruning {
  /** The live object with the new configuration in it, in the version `apiVersion`. */
  readonly merged: DynamicObject;
  /** All managers, with what the new configuration owns. */
  readonly managers: Managers;
  /** What the manager applied last. */
  readonly last: Manager | undefined;
  readonly apiVersion: string;
  readonly versions: Versions;
}

/** The merged object without what the manager applied last, applies no more, and nobody else owns. */
export function prune({ merged, managers, last, apiVersion, versions }: Pruning): DynamicObject {
  const [version, lastVersion] = [versions(apiVersion), last && versions(last.apiVersion)];
  if (!version || !last || !lastVersion || isEmpty(last.fields)) return merged;

  const whole = converted(merged, version, lastVersion);
  const { type } = lastVersion;
  const lastFields = withNamedFields(type, last.fields);
  const bare = removed(type, whole, lastFields);
  const kept = withOwned(bare, { whole, managers, lastVersion, first: last.apiVersion, versions });
  // Owned or not: only what the manager itself applied goes.
  const gone = intersection(difference(namedFields(type, whole), namedFields(type, kept)), lastFields);
  return converted(removed(type, whole, gone), lastVersion, version);
}

interface Owned {
  whole: DynamicObject;
  managers: Managers;
  lastVersion: VersionedType;
  first: string;
  versions: Versions;
}

/** Puts back what was taken away but is owned; owners in the version at hand go first. */
function withOwned(bare: DynamicObject, { whole, managers, lastVersion, first, versions }: Owned): DynamicObject {
  const owned = new Map<string, PathSet>([[first, NO_PATHS]]);
  for (const { apiVersion, fields } of managers.values())
    owned.set(apiVersion, union(owned.get(apiVersion) ?? NO_PATHS, fields));
  let kept = bare;
  for (const [apiVersion, fields] of owned) {
    const version = versions(apiVersion);
    if (!version) continue;
    const { type } = version;
    const all = converted(whole, lastVersion, version);
    const wanted = union(namedFields(type, converted(kept, lastVersion, version)), withNamedFields(type, fields));
    kept = converted(removed(type, all, difference(namedFields(type, all), wanted)), version, lastVersion);
  }
  return kept;
}

function namedFields(type: ValueType, object: DynamicObject): PathSet {
  return withNamedFields(type, fieldsOf(type, object));
}

function removed(type: ValueType, object: DynamicObject, paths: PathSet): DynamicObject {
  const { apiVersion, kind } = object;
  const left = (removePaths(type, object, paths) ?? {}) as DynamicObject;
  // What an object is called is never up for removal.
  return { ...left, apiVersion, kind, metadata: left.metadata ?? ({} as DynamicObject["metadata"]) };
}

function converted(object: DynamicObject, from: VersionedType, to: VersionedType): DynamicObject {
  return from === to ? object : to.present(from.toShared(object));
}
