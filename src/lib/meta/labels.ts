import type { KubeObject } from "#api/meta";

/** The object with these labels beside its others; `undefined` takes one away. */
export function withLabels<T extends Pick<KubeObject, "metadata">>(
  object: T,
  labels: Readonly<Record<string, string | undefined>>,
): T {
  return withEntries(object, "labels", labels);
}

/** The object with these annotations beside its others; `undefined` takes one away. */
export function withAnnotations<T extends Pick<KubeObject, "metadata">>(
  object: T,
  annotations: Readonly<Record<string, string | undefined>>,
): T {
  return withEntries(object, "annotations", annotations);
}

function withEntries<T extends Pick<KubeObject, "metadata">>(
  object: T,
  field: "labels" | "annotations",
  wanted: Readonly<Record<string, string | undefined>>,
): T {
  const current = new Map(Object.entries(object.metadata[field] ?? {}));
  const changes = Object.entries(wanted).filter(([key, value]) => current.get(key) !== value);
  if (changes.length === 0) return object;
  for (const [key, value] of changes) {
    if (value === undefined) current.delete(key);
    else current.set(key, value);
  }
  const { [field]: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(current.size > 0 && { [field]: Object.fromEntries(current) }) } };
}
