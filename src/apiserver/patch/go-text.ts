/** How Go prints decoded JSON and names its types, for the messages that clients know. */
import { isObject } from "#lib/json";

/** `map[a:1 b:[x y]]`, with the keys of maps in order. */
export function goText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const fields = Object.keys(value)
    .sort()
    .map((key) => `${key}:${goText(value[key])}`);
  return `map[${fields.join(" ")}]`;
}

export function goType(value: unknown): string {
  if (value === null || value === undefined) return "nil";
  if (Array.isArray(value)) return "[]interface {}";
  if (isObject(value)) return "map[string]interface {}";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  return typeof value === "bigint" || Number.isInteger(value) ? "int64" : "float64";
}
