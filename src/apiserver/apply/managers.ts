/** The managers of an object's fields: `metadata.managedFields`, read and written. */
import type { ManagedFieldsEntry } from "#api/meta";
import { BoundedCache } from "#lib/bounded-cache";
import { isObject } from "#lib/json";
import { decodeFields, encodeFields, isEmpty, type PathSet, union } from "./path-set.ts";

/** Who wrote, and how: one manager may have several entries. */
export interface ManagerIdentity {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
}

export interface Manager extends ManagerIdentity {
  readonly time?: string;
  readonly fields: PathSet;
}

/** By identity. */
export type Managers = ReadonlyMap<string, Manager>;

export const NO_MANAGERS: Managers = new Map();

/** Whoever applies is the same one in whichever version he applies. */
export function identityOf({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  return JSON.stringify([manager, operation, operation === "Apply" ? "" : apiVersion, subresource]);
}

/** Entries are read again with every write, and most writes leave most of them alone. */
const decoded = new WeakMap<object, PathSet>();
const encoded = new WeakMap<PathSet, Record<string, unknown>>();

interface Fields {
  readonly fieldsV1: Record<string, unknown>;
  readonly fields: PathSet;
}

/**
 * By text. What one program makes of one kind mostly has the same fields, and they often take more room than the object
 * itself: those that are alike share them. Nobody changes either form.
 */
const alike = new BoundedCache<Fields>(1024);
/** Longer ones seldom come twice. */
const LONGEST_SHARED = 2048;

/** Throws SyntaxError for entries that make no sense. */
export function readManagers(entries: readonly ManagedFieldsEntry[] | undefined): Managers {
  if (!entries || entries.length === 0) return NO_MANAGERS;
  const managers = new Map<string, Manager>();
  for (const [index, entry] of entries.entries()) {
    const manager = readManager(entry, index);
    managers.set(identityOf(manager), manager);
  }
  return managers;
}

/** Why entries make no sense; undefined when they do. */
export function managersFlaw(entries: readonly ManagedFieldsEntry[] | undefined): string | undefined {
  try {
    readManagers(entries);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}

function readManager(entry: ManagedFieldsEntry, index: number): Manager {
  const { manager = "", operation, apiVersion, subresource = "", time, fieldsType, fieldsV1 } = entry;
  if (operation !== "Apply" && operation !== "Update") throw new SyntaxError("operation must be `Apply` or `Update`");
  if (!apiVersion) throw new SyntaxError("apiVersion must not be empty");
  if (!fieldsType) throw new SyntaxError(`missing fieldsType in managed fields entry ${index}`);
  if (fieldsType !== "FieldsV1") {
    throw new SyntaxError(`invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`);
  }
  const identity = { manager, operation, apiVersion, subresource } as const;
  return { ...identity, ...(time && { time }), fields: fieldsIn(fieldsV1) };
}

function fieldsIn(fieldsV1: unknown): PathSet {
  if (!isObject(fieldsV1)) return decodeFields({});
  const known = decoded.get(fieldsV1);
  if (known) return known;
  const { fields } = shared(JSON.stringify(fieldsV1), () => ({ fieldsV1, fields: decodeFields(fieldsV1) }));
  decoded.set(fieldsV1, fields);
  return fields;
}

/** What is known by this text, or what is made now and known from now on. */
function shared(text: string, make: () => Fields): Fields {
  const known = text.length > LONGEST_SHARED ? undefined : alike.get(text);
  if (known) return known;
  const made = make();
  decoded.set(made.fieldsV1, made.fields);
  if (!isEmpty(made.fields)) encoded.set(made.fields, made.fieldsV1);
  if (text.length <= LONGEST_SHARED) alike.set(text, made);
  return made;
}

/** Undefined when there are none. */
export function writeManagers(managers: Managers): ManagedFieldsEntry[] | undefined {
  if (managers.size === 0) return undefined;
  return [...managers.values()].sort(byOrder).map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    manager,
    operation,
    apiVersion,
    ...(time && { time }),
    fieldsType: "FieldsV1",
    fieldsV1: fieldsV1Of(fields),
    ...(subresource && { subresource }),
  }));
}

function fieldsV1Of(fields: PathSet): Record<string, unknown> {
  const known = encoded.get(fields);
  if (known) return known;
  const fieldsV1 = encodeFields(fields);
  return shared(JSON.stringify(fieldsV1), () => ({ fieldsV1, fields })).fieldsV1;
}

function byOrder(a: Manager, b: Manager): number {
  return (
    compare(a.operation, b.operation) ||
    compare(a.time ?? "", b.time ?? "") ||
    compare(a.manager, b.manager) ||
    compare(a.apiVersion, b.apiVersion) ||
    compare(a.subresource, b.subresource)
  );
}

/** So many Update entries an object may have; appliers are kept, because their entries are their memory. */
const MOST_UPDATERS = 10;
const ANCIENT = "ancient-changes";

/** Merges the oldest Update entries into one per version, until there are few enough. */
export function capped(managers: Managers): Managers {
  const updaters = [...managers].filter(([, { operation }]) => operation === "Update");
  if (updaters.length <= MOST_UPDATERS) return managers;
  updaters.sort(([id, a], [otherId, b]) => compare(a.time ?? "", b.time ?? "") || compare(id, otherId));

  const out = new Map(managers);
  const firsts = new Map<string, string>();
  let count = updaters.length;
  for (const [id, updater] of updaters) {
    if (count <= MOST_UPDATERS) break;
    const { apiVersion } = updater;
    const first = firsts.get(apiVersion);
    if (first === undefined) {
      firsts.set(apiVersion, id);
      continue;
    }
    const bucket = { manager: ANCIENT, operation: "Update", apiVersion, subresource: "" } as const;
    const bucketId = identityOf(bucket);
    const gathered = out.get(bucketId) ?? out.get(first);
    if (!out.has(bucketId)) out.delete(first);
    out.delete(id);
    out.set(bucketId, {
      ...bucket,
      ...(updater.time && { time: updater.time }), // the younger of the two
      fields: union(updater.fields, gathered?.fields ?? updater.fields),
    });
    count--;
  }
  return out;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
