/** What a strategy is given, and what it says. */
import type { DynamicObject, Kind, OwnerReference } from "#api/meta";
import type { Client, WriteOptions } from "../../types.ts";
import type { Memory } from "../memory.ts";
import type { OwnerPolicy } from "../types.ts";

/** What all objects of a run have in common. */
export interface Stage {
  readonly client: Client;
  readonly fieldManager: string;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  /** The annotation in which a manager notes what it applied. */
  readonly hashAnnotation: (manager: string) => string;
  readonly memory: Memory;
  /** Whether the server only tries, and nothing stays. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
}

export interface Task {
  readonly identity: string;
  readonly kind: Kind;
  readonly key: string;
  /** As it is sent. */
  readonly manifest: DynamicObject;
  readonly owner: OwnerPolicy | undefined;
  /** What there is; undefined when there is nothing. */
  readonly live: DynamicObject | undefined;
}

export function writeOptions({ fieldManager, fieldValidation, dryRun, signal }: Stage): WriteOptions {
  return { fieldManager, fieldValidation, dryRun, ...(signal && { signal }) };
}

/** Writes the references and nothing else, on condition that nobody wrote since. */
export async function writeOwners(
  stage: Stage,
  { kind, key }: Pick<Task, "kind" | "key">,
  current: DynamicObject,
  ownerReferences: readonly OwnerReference[],
): Promise<DynamicObject> {
  // A dry run before has left nothing there to patch.
  if (stage.dryRun) return { ...current, metadata: { ...current.metadata, ownerReferences: [...ownerReferences] } };
  const { uid, resourceVersion } = current.metadata;
  const patch = { metadata: { uid, resourceVersion, ownerReferences } };
  return stage.client.patch(kind, key, patch, { ...writeOptions(stage), type: "merge" });
}
