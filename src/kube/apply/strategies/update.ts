/** ManifestWork's strategy Update: the object becomes the manifest, metadata of others aside. */
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { isInvalid, isNotFound } from "../../errors.ts";
import { hashOf, wishedPart } from "../content.ts";
import { wantedOwners, withOwners } from "../owners.ts";
import { holds } from "../values.ts";
import type { Verdict } from "../verdict.ts";
import { type Stage, type Task, writeOptions } from "./types.ts";
import { updateRuleOf } from "./update-rules.ts";

/** Whether nothing has to be written: all is as the manifest says, or as the last write of just this manifest left it. */
export function isUpdated(stage: Stage, { identity, manifest, live, owner }: Task): boolean {
  if (!live) return false;
  const next = wishedPart(merged(live, manifest, owner));
  const current = wishedPart(live);
  if (!equal(current.metadata, next.metadata)) return false;
  return stage.memory.isAsLeft(identity, hashOf(manifest), live) || equal(current, next);
}

export async function update(stage: Stage, task: Task): Promise<Verdict> {
  const { identity, manifest, live, owner } = task;
  if (!live) return created(stage, task, "");
  if (isUpdated(stage, task)) return { action: "unchanged", reason: "AsWished", message: "", after: live };

  const next = merged(live, manifest, owner);
  if (updateRuleOf(manifest).mustRecreate?.(live, next)) return recreated(stage, task, live);
  const after = await replaced(stage, task, live, next);
  if (!stage.dryRun) stage.memory.record(identity, hashOf(manifest), live, after);
  return equal(wishedPart(live), wishedPart(after))
    ? { action: "unchanged", reason: "AsWished", message: "", after }
    : { action: "updated", reason: "Applied", message: "", after };
}

/**
 * Some fields are filled in by the server and cannot be taken away again, such as the selector of a Job or the volume of
 * a claim. Where only those are refused, and all that the manifest says is there, nothing is left but its metadata.
 */
async function replaced(
  stage: Stage,
  { kind, manifest }: Task,
  live: DynamicObject,
  next: DynamicObject,
): Promise<DynamicObject> {
  try {
    return await stage.client.update(kind, next, writeOptions(stage));
  } catch (error) {
    const { metadata: _, ...content } = manifest;
    if (!isInvalid(error) || !holds(content, live)) throw error;
    if (equal(wishedPart({ ...live, metadata: next.metadata }), wishedPart(live))) return live;
    return stage.client.update(kind, { ...live, metadata: next.metadata }, writeOptions(stage));
  }
}

async function created(stage: Stage, { identity, kind, manifest, owner }: Task, message: string): Promise<Verdict> {
  const { draft = (same) => same } = updateRuleOf(manifest);
  const after = await stage.client.create(
    kind,
    withOwners(draft(withoutRemovals(manifest)), owner),
    writeOptions(stage),
  );
  if (!stage.dryRun) stage.memory.record(identity, hashOf(manifest), undefined, after);
  return { action: "created", reason: "Applied", message, after };
}

/** Some fields can only change by making the object anew. */
async function recreated(stage: Stage, task: Task, live: DynamicObject): Promise<Verdict> {
  const message = "a field of it cannot change, so it is removed and created anew";
  if (stage.dryRun) {
    const after = merged(live, task.manifest, task.owner);
    return { action: "updated", reason: "Recreated", message, after };
  }
  const { uid } = live.metadata;
  try {
    await stage.client.delete(task.kind, task.key, {
      ...(uid && { preconditions: { uid } }),
      ...(stage.signal && { signal: stage.signal }),
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const { after } = await created(stage, task, message);
  return { action: "updated", reason: "Recreated", message, ...(after && { after }) };
}

/** The live object with all that the manifest says. */
function merged(live: DynamicObject, manifest: DynamicObject, owner: Task["owner"]): DynamicObject {
  const next = updateRuleOf(manifest).next(live, manifest);
  const { labels, annotations, ownerReferences, ...metadata } = next.metadata;
  const owners = wantedOwners(mergedOwners(ownerReferences, manifest.metadata.ownerReferences), owner);
  return {
    ...next,
    metadata: {
      ...metadata,
      ...entries("labels", mergedEntries(labels, manifest.metadata.labels)),
      ...entries("annotations", mergedEntries(annotations, manifest.metadata.annotations)),
      ...(owners.length > 0 && { ownerReferences: [...owners] }),
    },
  };
}

function mergedOwners(
  current: DynamicObject["metadata"]["ownerReferences"] = [],
  wanted: DynamicObject["metadata"]["ownerReferences"] = [],
) {
  return wanted.reduce(
    (owners, reference) => wantedOwners(owners, { mode: "owned", reference }),
    current as readonly (typeof current)[number][],
  );
}

/** Entries of others stay; a key that ends in a dash removes. */
function mergedEntries(
  current: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const next = new Map(Object.entries(current));
  for (const [key, value] of Object.entries(wanted)) {
    if (key.endsWith("-")) next.delete(key.slice(0, -1));
    else next.set(key, value);
  }
  return Object.fromEntries(next);
}

function withoutRemovals(manifest: DynamicObject): DynamicObject {
  const { labels, annotations, ...metadata } = manifest.metadata;
  return {
    ...manifest,
    metadata: {
      ...metadata,
      ...entries("labels", mergedEntries({}, labels)),
      ...entries("annotations", mergedEntries({}, annotations)),
    },
  };
}

function entries(field: "labels" | "annotations", values: Record<string, string>): object {
  return Object.keys(values).length > 0 ? { [field]: values } : {};
}
