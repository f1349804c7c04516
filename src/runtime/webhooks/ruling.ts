/** What a webhook rules about a request: it may be, with or without changes, or it may not, and why. */
import type { StatusDetails } from "#api/meta";
import type { JsonPatchOperation } from "#lib/patch";

export type Ruling = Consent | Refusal;

export interface Consent {
  readonly allowed: true;
  /** What is changed before it is written; only of webhooks that mutate. */
  readonly patch?: readonly JsonPatchOperation[];
}

export interface Refusal {
  readonly allowed: false;
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details?: StatusDetails;
}

export const consent: Consent = { allowed: true };

/** The object makes no sense as it is. */
export function badObject(message: string): Refusal {
  return { allowed: false, code: 400, reason: "BadRequest", message };
}

/** `resource` may have a part behind a slash, and stands in its group, as in `kubectl auth can-i`. */
export function forbidden(
  { group, resource, name }: { readonly group: string; readonly resource: string; readonly name: string },
  why: string,
): Refusal {
  const message = `${resource}.${group} ${JSON.stringify(name)} is forbidden: ${why}`;
  return { allowed: false, code: 403, reason: "Forbidden", message, details: { name, group, kind: resource } };
}

/** Nobody can be asked who would know; the request may be tried again. */
export function undecided(message: string): Refusal {
  return { allowed: false, code: 500, reason: "InternalError", message };
}
