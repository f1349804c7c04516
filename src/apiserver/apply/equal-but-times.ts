/** Whether a write says anything new: managers that only wrote again what was there do not count. */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { equal } from "#lib/json";

/** Whether two objects are the same, apart from the times of their managers. */
export function equalButTimes(a: DynamicObject, b: DynamicObject): boolean {
  return equal(withoutTimes(a), withoutTimes(b));
}

function withoutTimes(object: DynamicObject): unknown {
  const { managedFields } = object.metadata;
  if (!managedFields) return object;
  return { ...object, metadata: { ...object.metadata, managedFields: managedFields.map(withoutTime) } };
}

function withoutTime({ time: _, ...entry }: ManagedFieldsEntry): ManagedFieldsEntry {
  return entry;
}
