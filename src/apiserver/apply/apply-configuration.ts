/** Server-side apply: a manager says all that it wants, and what it no longer says goes, unless somebody else wants it. */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { timestamp } from "#lib/clock";
import { equal } from "#lib/json";
import { ApiError, plainError } from "../errors.ts";
import { typeErrorsOf } from "./check.ts";
import { fieldsOf } from "./fields-of.ts";
import { allowedByLastApplied, syncLastApplied } from "./last-applied.ts";
import { TypeMismatch } from "./list-item.ts";
import { identityOf, type Manager, type Managers, readManagers, writeManagers } from "./managers.ts";
import { mergeValues } from "./merge.ts";
import { NEVER_OWNED } from "./never-owned.ts";
import { pathText } from "./path-element.ts";
import { difference, differenceWithBelow, has, isEmpty } from "./path-set.ts";
import { prune } from "./prune.ts";
import { Change, conflictPaths, reconciledManagers, takeOver, type VersionedType, type Write } from "./take-over.ts";
import { managersAfter } from "./track-update.ts";

export interface Application extends Write {
  readonly force: boolean;
}

export interface Applied {
  /** In the version of the write, with all that the live object had. */
  readonly object: DynamicObject;
  readonly managedFields: ManagedFieldsEntry[] | undefined;
}

/** Who owned what before anybody applied. */
const BEFORE_FIRST_APPLY = "before-first-apply";

/** Those who use this name have perhaps applied on the client's side before. */
const KUBECTL = "kubectl";

/** `live` is the object in its shared form, absent when there is none yet. Throws ApiError. */
export function applyConfiguration(
  application: Application,
  live: DynamicObject | undefined,
  config: DynamicObject,
): Applied {
  const { apiVersion, versions, manager } = application;
  const version = versions(apiVersion);
  if (!version) throw plainError(`no corresponding type for ${apiVersion}`);
  const wrong = typeErrorsOf(version.type, config);
  if (wrong !== undefined) throw plainError(`failed to create typed patch object (${subjectOf(config)}): ${wrong}`);
  const shown = withoutManagers(live ? version.present(live) : version.empty());

  try {
    const managers = reconciledManagers(managersBefore(application, live), versions);
    const applied = applyTo(application, version, shown, config, managers);
    const object = manager === KUBECTL ? syncLastApplied(applied.object, config) : applied.object;
    return { object, managedFields: writeManagers(applied.managers) };
  } catch (error) {
    if (error instanceof TypeMismatch)
      throw plainError(`failed to create typed live object (${subjectOf(shown)}): ${error.message}`);
    throw error;
  }
}

function managersBefore(application: Application, live: DynamicObject | undefined): Managers {
  let managers: Managers;
  try {
    managers = readManagers(live?.metadata.managedFields);
  } catch (error) {
    if (error instanceof SyntaxError) throw plainError(`failed to decode managed fields: ${error.message}`);
    throw error;
  }
  if (managers.size > 0 || !live) return managers;
  return managersAfter({ ...application, manager: BEFORE_FIRST_APPLY }, { before: undefined, after: live }, managers);
}

function applyTo(
  application: Application,
  version: VersionedType,
  live: DynamicObject,
  config: DynamicObject,
  managers: Managers,
): { object: DynamicObject; managers: Managers } {
  const { manager, apiVersion, subresource, now, ignored, versions } = application;
  const identity = { manager, operation: "Apply", apiVersion, subresource } as const;
  const id = identityOf(identity);
  const last = managers.get(id);
  const fields = differenceWithBelow(fieldsOf(version.type, config), ignored);

  const withOurs = new Map<string, Manager>(managers).set(id, {
    ...identity,
    ...(last?.time && { time: last.time }),
    fields,
  });
  const merged = mergeValues(version.type, live, config) as DynamicObject;
  const object = prune({ merged, managers: withOurs, last, apiVersion, versions });

  const [before, after] = [version.toShared(live), version.toShared(object)];
  const change = new Change(application, (other) =>
    other === version ? [live, object] : [other.present(before), other.present(after)],
  );
  const taken = takeOver(withOurs, change, id);
  refuseConflicts(application, version, live, conflictPaths(taken.conflicts));

  const out = new Map<string, Manager>(taken.managers);
  const owned = difference(fields, NEVER_OWNED);
  const time = equal(live, object) ? last?.time : timestamp(now);
  if (isEmpty(owned)) out.delete(id);
  else out.set(id, { ...identity, ...(time && { time }), fields: owned });
  return { object, managers: out };
}

type ConflictPath = ReturnType<typeof conflictPaths>[number];

function refuseConflicts(
  { force, manager, apiVersion }: Application,
  { type }: VersionedType,
  live: DynamicObject,
  found: readonly ConflictPath[],
): void {
  if (force || found.length === 0) return;
  const allowed = manager === KUBECTL ? allowedByLastApplied(type, live, apiVersion) : undefined;
  const conflicts = allowed ? found.filter(({ path }) => !has(allowed, path)) : found;
  if (conflicts.length > 0) throw conflictError(conflicts);
}

function conflictError(conflicts: readonly ConflictPath[]): ApiError {
  return new ApiError(409, "Conflict", conflictMessage(conflicts), {
    causes: conflicts.map(({ with: manager, path }) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${managerText(manager)}`,
      field: pathText(path),
    })),
  });
}

function conflictMessage(conflicts: readonly ConflictPath[]): string {
  const [first] = conflicts;
  if (first && conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${managerText(first.with)}: ${pathText(first.path)}`;
  }
  const byManager = new Map<string, ConflictPath[]>();
  for (const conflict of conflicts) {
    const id = identityOf(conflict.with);
    byManager.set(id, [...(byManager.get(id) ?? []), conflict]);
  }
  const lines = [...byManager]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, [head, ...rest]]) => {
      if (!head) return [];
      return [`conflicts with ${managerText(head.with)}:`, ...[head, ...rest].map(({ path }) => `- ${pathText(path)}`)];
    });
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

function managerText({ manager, operation, apiVersion, subresource }: Manager): string {
  const name = JSON.stringify(manager) + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : "");
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}

/** Managers are no part of what is compared. */
function withoutManagers(object: DynamicObject): DynamicObject {
  if (object.metadata?.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function subjectOf({ apiVersion, kind, metadata }: DynamicObject): string {
  const groupVersion = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}; ${groupVersion}, Kind=${kind}`;
}
