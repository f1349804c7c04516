/** Failures of calls as words in a report. */
import type { KubeError } from "../errors.ts";
import { isAborted, isForbidden, isInvalid, isKubeError, isUnknownKind } from "../errors.ts";
import { ApplyError } from "./apply-error.ts";
import { isFieldConflict, isNamespaceMissing, isTerminating, mayPass } from "./attempts.ts";
import type { FieldConflict } from "./types.ts";
import { CALLED_OFF, type Verdict } from "./verdict.ts";

/** What a failed call means for the object; rethrows what no call throws. */
export function verdictOf(error: unknown): Verdict {
  if (error instanceof ApplyError) return { action: "refused", reason: "Malformed", message: error.message };
  if (!isKubeError(error)) throw error;
  const message = wordsOf(error);
  if (isAborted(error)) return CALLED_OFF;
  if (isFieldConflict(error)) return conflictVerdict(error);
  if (isNamespaceMissing(error)) {
    const hint = "its namespace does not exist; create it, or add it to the manifests";
    return { action: "waiting", reason: "NamespaceMissing", message: hint };
  }
  if (isTerminating(error)) {
    return { action: "waiting", reason: "BeingDeleted", message: "its namespace is being deleted" };
  }
  if (isUnknownKind(error)) return { action: "waiting", reason: "UnknownKind", message };
  if (mayPass(error)) return { action: "waiting", reason: "ServerNotReady", message };
  if (isForbidden(error)) return { action: "refused", reason: "Forbidden", message };
  if (isInvalid(error)) return { action: "refused", reason: "Invalid", message };
  return { action: "refused", reason: "Refused", message };
}

/** What the server says, without the address of the call where it said anything. */
export function wordsOf(error: KubeError): string {
  return error.status?.message || error.message;
}

function conflictVerdict(error: KubeError): Verdict {
  const conflicts = conflictsIn(error);
  const fieldsOf = new Map<string, string[]>();
  for (const { manager, field } of conflicts) fieldsOf.set(manager, [...(fieldsOf.get(manager) ?? []), field]);
  const claims = [...fieldsOf].map(([manager, fields]) => `${manager} claims ${fields.join(", ")}`);
  return { action: "refused", reason: "Conflict", message: claims.join("; "), conflicts };
}

function conflictsIn(error: KubeError): readonly FieldConflict[] {
  const causes = error.status?.details?.causes ?? [];
  return causes
    .filter(({ reason }) => reason === "FieldManagerConflict")
    .map(({ message = "", field = "" }) => ({
      manager: /conflict with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? "somebody else",
      field,
    }))
    .sort((a, b) => compare(a.manager, b.manager) || compare(a.field, b.field));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
