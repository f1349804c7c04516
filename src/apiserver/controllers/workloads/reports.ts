/** What workloads have in common when they report: a status that changed, and when to look again. */
import { type DynamicObject, keyOf } from "#api/meta";
import { equal } from "#lib/json";
import type { SystemWriter } from "../system.ts";

export interface Report {
  readonly storage: string;
  readonly object: DynamicObject;
  readonly status: object;
  /** The status that is stored, if it is not that of the object any more. */
  readonly before?: object | undefined;
}

/** Writes a status unless it is as it was, or somebody else has the name by now. */
export async function report(writer: SystemWriter, { storage, object, status, before }: Report): Promise<void> {
  if (equal(status, before ?? object.status ?? {})) return;
  const { uid } = object.metadata;
  const write = (draft: DynamicObject) => (draft.metadata.uid === uid ? { ...draft, status } : draft);
  await writer.change(storage, keyOf(object), write, "status");
}

/** The shortest of the waits that there are. */
export function soonest(...waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
