/** CustomResourceDefinitions compared with those of others. */
import { isObject } from "#lib/json";

/** Without what says nothing about the wire. */
export function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([key, inner]) => !(key === "description" && typeof inner === "string"));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutDescriptions(inner)]));
}
