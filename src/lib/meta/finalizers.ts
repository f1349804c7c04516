import type { KubeObject } from "#api/meta";

export function hasFinalizer({ metadata }: Pick<KubeObject, "metadata">, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/** The object, kept from vanishing until the finalizer is taken away. */
export function withFinalizer<T extends Pick<KubeObject, "metadata">>(object: T, finalizer: string): T {
  if (hasFinalizer(object, finalizer)) return object;
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

/** The object without the finalizer. */
export function withoutFinalizer<T extends Pick<KubeObject, "metadata">>(object: T, finalizer: string): T {
  if (!hasFinalizer(object, finalizer)) return object;
  const { finalizers = [], ...metadata } = object.metadata;
  const rest = finalizers.filter((other) => other !== finalizer);
  return { ...object, metadata: { ...metadata, ...(rest.length > 0 && { finalizers: rest }) } };
}
