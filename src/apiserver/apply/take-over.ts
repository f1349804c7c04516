/** What a write does to the other managers: whose fields it changes, and whose it removes. */
import type { DynamicObject } from "#api/meta";
import { type Comparison, compareValues, withoutPaths } from "./compare.ts";
import { reconciled } from "./fields-of.ts";
import type { Manager, Managers } from "./managers.ts";
import { difference, intersection, isEmpty, type PathSet, pathsOf, union } from "./path-set.ts";
import type { ValueType } from "./value-type.ts";

/** One version of a kind: how it is typed, and how its objects become those of other versions. */
export interface VersionedType {
  readonly type: ValueType;
  /** An object as this version shows it, from the form that all versions share. */
  present(object: DynamicObject): DynamicObject;
  /** The way back. */
  toShared(object: DynamicObject): DynamicObject;
  /** What a new object is before anybody says anything of it. */
  empty(): DynamicObject;
}

/** Undefined for versions that are not, or no longer, there. */
export type Versions = (apiVersion: string) => VersionedType | undefined;

export interface Write {
  readonly manager: string;
  readonly apiVersion: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  readonly now: Date;
  readonly versions: Versions;
  /** What this endpoint leaves alone, whatever the request says: nobody owns it for having said it. */
  readonly ignored: PathSet;
}

/** Two states of an object in their shared form, compared in whichever version is asked for. */
export class Change {
  readonly #write: Write;
  readonly #states: (apiVersion: string) => readonly [unknown, unknown] | undefined;
  readonly #comparisons = new Map<string, Comparison>();

  constructor(write: Write, states: (version: VersionedType) => readonly [unknown, unknown]) {
    this.#write = write;
    this.#states = (apiVersion) => {
      const version = write.versions(apiVersion);
      return version && states(version);
    };
  }

  /** Undefined when there is no such version. Throws TypeMismatch. */
  in(apiVersion: string): Comparison | undefined {
    const known = this.#comparisons.get(apiVersion);
    if (known) return known;
    const version = this.#write.versions(apiVersion);
    const states = this.#states(apiVersion);
    if (!version || !states) return undefined;
    const comparison = withoutPaths(compareValues(version.type, ...states), this.#write.ignored);
    this.#comparisons.set(apiVersion, comparison);
    return comparison;
  }
}

/** Somebody else's fields that a write would change. */
export interface Conflict {
  readonly with: Manager;
  readonly fields: PathSet;
}

export interface TakeOver {
  readonly managers: Managers;
  readonly conflicts: readonly Conflict[];
}

/** The managers after a change, all but `self` without what was changed or removed, and without those left with nothing. */
export function takeOver(managers: Managers, change: Change, self?: string): TakeOver {
  const out = new Map<string, Manager>();
  const conflicts: Conflict[] = [];
  for (const [id, manager] of managers) {
    let { fields } = manager;
    if (id !== self) {
      const comparison = change.in(manager.apiVersion);
      if (!comparison) continue; // its version is gone, and with it the meaning of its paths
      const { added, modified, removed } = comparison;
      const changed = union(intersection(fields, modified), intersection(fields, added));
      if (!isEmpty(changed)) conflicts.push({ with: manager, fields: changed });
      fields = difference(difference(fields, changed), removed);
    }
    if (!isEmpty(fields)) out.set(id, fields === manager.fields ? manager : { ...manager, fields });
  }
  return { managers: out, conflicts };
}

const reconciliations = new WeakMap<PathSet, { type: ValueType; fields: PathSet }>();

/** The managers with their fields as the types are today; those of versions that are gone are left out. */
export function reconciledManagers(managers: Managers, versions: Versions): Managers {
  const out = new Map<string, Manager>();
  for (const [id, manager] of managers) {
    const type = versions(manager.apiVersion)?.type;
    if (!type) continue;
    const { fields } = manager;
    const known = reconciliations.get(fields);
    const now = known?.type === type ? known.fields : reconciled(type, fields);
    if (known?.type !== type) reconciliations.set(fields, { type, fields: now });
    out.set(id, now === fields ? manager : { ...manager, fields: now });
  }
  return out;
}

/** Fields and conflicts as a list, in the order of paths. */
export function conflictPaths(conflicts: readonly Conflict[]): { with: Manager; path: readonly string[] }[] {
  return conflicts.flatMap(({ with: manager, fields }) => pathsOf(fields).map((path) => ({ with: manager, path })));
}
