/** A short name for a value: equal values have equal names, in whatever order their keys were written. */
import { createHash } from "node:crypto";
import { isObject, stringifyJson } from "#lib/json";

export function fingerprint(value: unknown): string {
  return createHash("sha256")
    .update(stringifyJson(ordered(value)) ?? "")
    .digest("hex");
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, ordered(inner)]));
}
