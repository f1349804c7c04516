/** What `/status` keeps of a request: the status, and nothing else. */
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { setOwn } from "./own.ts";

/** Turns the draft into the current object with the draft's status, and with the managers it names for it. */
export function keepOnlyStatus(draft: DynamicObject, current: DynamicObject): void {
  const { resourceVersion, managedFields } = draft.metadata;
  for (const key of Object.keys(draft)) if (key !== "status") delete draft[key];
  const { status: _, ...rest } = clone(current);
  for (const [key, value] of Object.entries(rest)) setOwn(draft, key, value);
  if (resourceVersion !== undefined) draft.metadata.resourceVersion = resourceVersion;
  if (managedFields !== undefined) draft.metadata.managedFields = managedFields;
}
