/**
 * Reading objects that no schema has been held against yet: webhooks that mutate are asked before the server looks
 * whether an object is one of its kind. What is not as it should be is not there; the server will say so.
 */
import { isObject } from "#lib/json";

export function objectIn(value: unknown, field: string): Record<string, unknown> {
  const found = isObject(value) ? value[field] : undefined;
  return isObject(found) ? found : {};
}

export function textIn(value: unknown, field: string): string {
  const found = isObject(value) ? value[field] : undefined;
  return typeof found === "string" ? found : "";
}

export function listIn(value: unknown, field: string): readonly unknown[] {
  const found = isObject(value) ? value[field] : undefined;
  return Array.isArray(found) ? found : [];
}
