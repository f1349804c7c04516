/** Making one object look as it should, whoever made it. */
import type { Kind, KubeObject } from "#api/meta";
import { keyOf } from "#api/meta";
import { type Draft, isNotFound } from "#kube";
import { equal } from "#lib/json";
import type { Cluster } from "#runtime";

/**
 * Creates the object, or gives it the labels and fields that are wished for and leaves the rest of it alone.
 * `cached` is what a cache of labelled objects knows: one that lost its label is not there, so absence is
 * asked again of the server.
 */
export async function ensure<T extends KubeObject>(
  hub: Cluster,
  kind: Kind<T>,
  cached: T | undefined,
  wished: Draft<T>,
): Promise<void> {
  let before = cached ?? (await live(hub, kind, wished));
  if (before && mustBeReplaced(before, wished)) {
    await hub.remove(kind, before);
    before = undefined;
  }
  if (!before) {
    await hub.commit(kind, undefined, wished);
    return;
  }
  const labels = { ...before.metadata.labels, ...wished.metadata.labels };
  await hub.commit(kind, before, { ...before, ...wished, metadata: { ...before.metadata, labels } });
}

async function live<T extends KubeObject>(hub: Cluster, kind: Kind<T>, wished: Draft<T>): Promise<T | undefined> {
  try {
    return await hub.client.get(kind, keyOf(wished as T));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** A binding's role cannot be changed; one that leads elsewhere makes way. */
function mustBeReplaced(before: object, wished: object): boolean {
  if (!("roleRef" in wished)) return false;
  return !("roleRef" in before) || !equal(before.roleRef, wished.roleRef);
}
