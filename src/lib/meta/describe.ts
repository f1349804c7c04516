import { type KubeObject, keyOf } from "#api/meta";

/** The object in a sentence: `ManagedCluster cluster1`, `Secret ns/name`. */
export function describe(object: {
  readonly kind?: string;
  readonly metadata: Partial<KubeObject["metadata"]>;
}): string {
  const { name, generateName = "" } = object.metadata;
  const key = keyOf({ apiVersion: "", kind: "", metadata: { ...object.metadata, name: name ?? `${generateName}…` } });
  return `${object.kind || "object"} ${key}`;
}

/** Whether somebody deleted the object and it waits for its finalizers. */
export function isDeleting({ metadata }: Pick<KubeObject, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}
