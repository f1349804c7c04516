/** Bringing objects to a cluster and taking them away, one by one or as a set, with a word about each. */
import { CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import {
  type ApplyReport,
  createApplyEngine,
  type Draft,
  isAlreadyExists,
  isNotFound,
  nameOf,
  type ObjectReport,
  type Wish,
} from "#kube";
import { isTrue } from "#lib/conditions";
import { isObject } from "#lib/json";
import { mergeDiff } from "#lib/patch";
import { UserError } from "../user-error.ts";
import type { Change, Task } from "./task.ts";
import { named, until, untilGone } from "./waiting.ts";

/** Who answers for the fields that an administrator sets with these commands. */
const FIELD_MANAGER = "capstan-administrator";

/** How long a set waits for what it stands on, such as a namespace that is being removed. */
const PATIENCE_MS = 60_000;

/** More fields than this are not named. */
const FIELDS_NAMED = 4;

/** Makes a cluster have these objects. Throws UserError for the first that it will not have. */
export async function applyAll(task: Task, wishes: readonly Wish[]): Promise<Change[]> {
  const { client, dryRun, signal, onWait } = task;
  const engine = createApplyEngine({ client, fieldManager: FIELD_MANAGER });
  const set = { wishes, strategy: { type: "ServerSideApply", force: true } } as const;
  const run = { signal, patience: PATIENCE_MS, ...(onWait && { onWait }) };
  const report = await (dryRun ? engine.plan(set, run) : engine.apply(set, run));
  signal.throwIfAborted();
  refuseIncomplete(report, client.server, dryRun);
  return report.objects.map(changeOf);
}

function refuseIncomplete({ objects }: ApplyReport, server: string, dryRun: boolean): void {
  const bad = objects.filter(({ action }) => !["created", "updated", "unchanged", "skipped"].includes(action));
  // What a plan cannot try, because it stands on what the plan itself brings, is not known to fail.
  const failed = bad.find(({ action }) => action === "refused") ?? (dryRun ? undefined : bad[0]);
  if (!failed) return;
  const next =
    failed.reason === "Forbidden" ? "ask for the right, or choose another user with --context" : "then try again";
  throw new UserError(`${nameOf(failed.id)} could not be put on ${server}: ${failed.message}; ${next}`);
}

function changeOf({ id, action, changes, moreChanges }: ObjectReport): Change {
  const what = nameOf(id);
  if (action === "unchanged" || action === "skipped") return { action: "keep", what };
  if (action !== "updated") return { action: "create", what };
  const paths = changes.map(({ path }) => path);
  return { action: "change", what, note: fieldList(paths, moreChanges) };
}

function fieldList(paths: readonly string[], more = 0): string {
  const rest = paths.length - FIELDS_NAMED + more;
  return [...paths.slice(0, FIELDS_NAMED), ...(rest > 0 ? [`and ${rest} more`] : [])].join(", ");
}

/** Waits until the server has a kind. */
export async function untilEstablished(task: Task, definition: CustomResourceDefinition): Promise<void> {
  if (task.dryRun) return;
  const { name } = definition.metadata;
  await until(
    task.client,
    CustomResourceDefinition,
    named(name),
    ([found]) => (isTrue(found?.status?.conditions, "Established") ? undefined : `the server to serve ${name}`),
    task,
  );
}

/**
 * Creates an object, or changes of it what `wished` makes different. Only the difference is sent, so that nothing is
 * lost that somebody else changes at the same time.
 */
export async function put<T extends KubeObject>(
  { client, dryRun, signal }: Task,
  kind: Kind<T>,
  key: string,
  wished: (existing: T | undefined) => Draft<T>,
): Promise<Change> {
  const what = `${kind.kind} ${key}`;
  const existing = await find(client, kind, key);
  const object = wished(existing);
  if (!existing) {
    if (!dryRun) await client.create(kind, object, { fieldManager: FIELD_MANAGER, signal });
    return { action: "create", what };
  }
  const { apiVersion: _, kind: __, ...before } = existing as KubeObject;
  const { apiVersion: ___, kind: ____, ...after } = object as Partial<KubeObject>;
  const patch = mergeDiff(before, after);
  if (!isObject(patch) || Object.keys(patch).length === 0) return { action: "keep", what };
  if (!dryRun) await client.patch(kind, key, patch, { fieldManager: FIELD_MANAGER, signal });
  return { action: "change", what, note: fieldList(leaves(patch)) };
}

function leaves(value: unknown, path = ""): string[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [path];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`));
}

/** The object; undefined where it, or its kind, is not there. */
export async function find<T extends KubeObject>(
  client: Task["client"],
  kind: Kind<T>,
  key: string,
): Promise<T | undefined> {
  try {
    return await client.get(kind, key);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** All objects of a kind; none where the server does not have it. */
export async function listed<T extends KubeObject>(
  client: Task["client"],
  kind: Kind<T>,
  scope: { readonly namespace?: string; readonly labelSelector?: string; readonly fieldSelector?: string } = {},
): Promise<T[]> {
  try {
    return (await client.list(kind, scope)).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** Creates an object unless there is one. */
export async function createOnce<T extends KubeObject>(
  { client, dryRun, signal }: Task,
  kind: Kind<T>,
  key: string,
  object: Draft<T>,
): Promise<Change> {
  const what = `${kind.kind} ${key}`;
  if (await find(client, kind, key)) return { action: "keep", what };
  if (!dryRun) {
    await client.create(kind, object, { fieldManager: FIELD_MANAGER, signal }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
  return { action: "create", what };
}

/** Deletes an object and waits until it is gone. Undefined where there was none. */
export async function remove<T extends KubeObject>(
  task: Task,
  kind: Kind<T>,
  key: string,
  holds?: (object: T) => string,
): Promise<Change | undefined> {
  const existing = await find(task.client, kind, key);
  if (!existing) return undefined;
  const what = `${kind.kind} ${key}`;
  if (task.dryRun) return { action: "delete", what };
  await task.client.delete(kind, key, { signal: task.signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await untilGone(task.client, kind, key, task, holds);
  return { action: "delete", what };
}

/** What a list of manifests wishes for. */
export function wishesOf(objects: readonly KubeObject[]): Wish[] {
  return objects.map((object) => ({ object: object as DynamicObject }));
}
