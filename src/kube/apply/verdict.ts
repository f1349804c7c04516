/** What becomes of one object, from the moment it is decided to the line in a report. */
import type { DynamicObject } from "#api/meta";
import type { Difference } from "./diff.ts";
import type { ObjectId } from "./identity.ts";
import type { Action, FieldConflict, ObjectReport, Reason } from "./types.ts";

export interface Verdict {
  readonly action: Action;
  readonly reason: Reason;
  readonly message: string;
  readonly conflicts?: readonly FieldConflict[];
  /** False where a plan could not ask the server. */
  readonly checked?: boolean;
  /** The object afterwards; in a plan: as it would be. */
  readonly after?: DynamicObject;
}

/** What a plan says of objects that stand on something that the same plan creates. */
export const FORETOLD: Verdict = { action: "created", reason: "Applied", message: "", checked: false };

export const CALLED_OFF: Verdict = { action: "held back", reason: "NotAsked", message: "it was called off" };

const IN_PLACE: ReadonlySet<Action> = new Set(["created", "updated", "unchanged", "skipped", "pruned"]);

/** Whether the object is as wished now, or would be after a plan. */
export function isInPlace({ action }: Pick<Verdict, "action">): boolean {
  return IN_PLACE.has(action);
}

export function reportFrom(
  id: ObjectId,
  { action, reason, message, conflicts = [], checked = true, after }: Verdict,
  { difference, source }: { difference?: Difference | undefined; source?: string | undefined } = {},
): ObjectReport {
  return {
    id,
    action,
    reason,
    message,
    changes: difference?.changes ?? [],
    moreChanges: difference?.more ?? 0,
    conflicts,
    checked,
    ...(source !== undefined && { source }),
    ...(after && { live: after }),
  };
}
