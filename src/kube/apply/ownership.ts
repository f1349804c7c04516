/**
 * Whether all that was applied is still in place, by the server's own account: whoever changes a field that another
 * has applied takes it from that manager's set in managedFields. So a field that is still in our set still has the
 * value that we gave it, and nothing needs to know how a server writes quantities or fills in defaults.
 */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { equal, isObject, parseJson } from "#lib/json";

/** What server-side apply by this manager accounts for; undefined where there is no such account. */
export function appliedBy(manager: string, live: DynamicObject): ManagedFieldsEntry | undefined {
  return live.metadata.managedFields?.find(
    (entry) => entry.manager === manager && entry.operation === "Apply" && !entry.subresource,
  );
}

/** Whether the manager has applied this label. */
export function ownsLabel(manager: string, live: DynamicObject, label: string): boolean {
  return covers(appliedBy(manager, live)?.fieldsV1, { metadata: { labels: { [label]: "" } } });
}

/** Whether every field of the manifest is in the set of the manager. */
export function ownsAll(manager: string, manifest: DynamicObject, live: DynamicObject): boolean {
  const entry = appliedBy(manager, live);
  if (!entry?.fieldsV1 || entry.apiVersion !== manifest.apiVersion) return false;
  const { apiVersion: _, kind: __, metadata, ...content } = manifest;
  const { name: ___, namespace: ____, ...meta } = metadata;
  return covers(entry.fieldsV1, Object.keys(meta).length > 0 ? { ...content, metadata: meta } : content);
}

function covers(fields: unknown, value: unknown): boolean {
  if (!isObject(fields)) return false;
  if (Object.keys(fields).length === 0) return true; // a value that belongs to one manager as a whole
  if (Array.isArray(value)) return coversItems(fields, value);
  if (!isObject(value)) return false;
  return Object.entries(value).every(([key, inner]) => {
    // A wish for nothing cannot be lost.
    if (inner === null || inner === undefined) return true;
    const field = `f:${key}`;
    return Object.hasOwn(fields, field) && covers(fields[field], inner);
  });
}

function coversItems(fields: Record<string, unknown>, items: readonly unknown[]): boolean {
  const keyed = Object.keys(fields)
    .filter((field) => field.startsWith("k:"))
    .map((field) => ({ key: parseJson(field.slice(2)), fields: fields[field] }));
  return items.every((item) => {
    if (!isObject(item)) return Object.hasOwn(fields, `v:${JSON.stringify(item)}`);
    // A key field that the manifest leaves out has been filled in by the server.
    const found = keyed.find(({ key }) => isObject(key) && matches(key, item));
    return found !== undefined && covers(found.fields, item);
  });
}

function matches(key: Record<string, unknown>, item: Record<string, unknown>): boolean {
  return Object.entries(key).every(([name, value]) => item[name] === undefined || equal(item[name], value));
}
