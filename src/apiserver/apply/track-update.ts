/** Who owns what after a write that is no apply: whoever changed a field owns it, alone. */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { timestamp } from "#lib/clock";
import { equal, isObject } from "#lib/json";
import { TypeMismatch } from "./list-item.ts";
import {
  capped,
  identityOf,
  type Manager,
  type Managers,
  NO_MANAGERS,
  readManagers,
  writeManagers,
} from "./managers.ts";
import { NEVER_OWNED } from "./never-owned.ts";
import { difference, isEmpty, NO_PATHS, union } from "./path-set.ts";
import { Change, reconciledManagers, takeOver, type Write } from "./take-over.ts";

export interface Update {
  /** As it is stored; absent on create. */
  readonly before: DynamicObject | undefined;
  /** As it was requested, with defaults, before the server puts in what is its own. */
  readonly after: DynamicObject;
  /** The managedFields that the request carries: a client may edit them, and clear them. */
  readonly requested?: unknown;
}

/** The managedFields of the object that is written; undefined when there are none. */
export function trackUpdate(write: Write, update: Update): ManagedFieldsEntry[] | undefined {
  const managers = managersBefore(write, update);
  // An object that has no managers is not tracked before somebody applies to it.
  if (managers.size === 0 && update.before) return undefined;
  try {
    return writeManagers(managersAfter(write, update, managers));
  } catch (error) {
    // No owners are better than wrong ones; the write itself is for others to judge.
    if (error instanceof TypeMismatch) return undefined;
    throw error;
  }
}

function managersBefore({ subresource }: Write, { before, requested }: Update): Managers {
  const stored = () => readOrNone(before?.metadata.managedFields);
  // Through a subresource nobody edits the managers of the whole.
  if (subresource) return stored();
  if (isReset(requested)) return NO_MANAGERS;
  if (!Array.isArray(requested) || equal(requested, before?.metadata.managedFields)) return stored();
  const edited = readOrNone(requested);
  return edited.size > 0 ? edited : stored();
}

/** `[]` and `[{}]` say that nobody shall own anything; saying nothing leaves them as they are. */
function isReset(requested: unknown): boolean {
  if (!Array.isArray(requested)) return false;
  const [first] = requested;
  return requested.length === 0 || (requested.length === 1 && isObject(first) && Object.keys(first).length === 0);
}

function readOrNone(entries: readonly ManagedFieldsEntry[] | undefined): Managers {
  try {
    return readManagers(entries);
  } catch (error) {
    if (error instanceof SyntaxError) return NO_MANAGERS;
    throw error;
  }
}

/** What `trackUpdate` does, between reading and writing entries. Throws TypeMismatch. */
export function managersAfter(
  write: Write,
  { before, after }: Omit<Update, "requested">,
  managers: Managers,
): Managers {
  const { manager, apiVersion, subresource, now, versions } = write;
  const change = new Change(write, (version) => [
    before ? version.present(before) : version.empty(),
    version.present(after),
  ]);
  const comparison = change.in(apiVersion);
  if (!comparison) return managers;

  const identity = { manager: manager || "unknown", operation: "Update", apiVersion, subresource } as const;
  const id = identityOf(identity);
  const out = new Map<string, Manager>(takeOver(reconciledManagers(managers, versions), change, id).managers);
  const own = out.get(id);
  const taken = difference(union(comparison.modified, comparison.added), NEVER_OWNED);
  const fields = union(difference(own?.fields ?? NO_PATHS, comparison.removed), taken);
  // Losing fields is no news of the manager: its time tells when it last wrote something.
  const time = isEmpty(taken) ? own?.time : timestamp(now);
  if (isEmpty(fields)) out.delete(id);
  else out.set(id, { ...identity, ...(time && { time }), fields });
  return capped(out);
}
