/** Making one object look as it should, whoever made it. */
import type { Kind, KubeObject } from "#api/meta";
import { keyOf } from "#api/meta";
import { type Draft, isNotFound } from "#kube";
import { equal } from "#lib/json";
import { withFinalizer } from "#lib/meta";
import type { Cluster } from "#runtime";

/**
 * Creates the object, or gives it the labels, finalizers and fields that are wished for and leaves the rest of it alone. The
 * answer is what the server has then. `cached` is what a cache knows: an object that lost the label which a cache
 * selects by is not there, so absence is asked again of the server.
 */
export async function ensure<T extends KubeObject>(
  cluster: Cluster,
  kind: Kind<T>,
  cached: T | undefined,
  wished: Draft<T>,
): Promise<T> {
  let before = cached ?? (await live(cluster, kind, wished));
  if (before && mustBeReplaced(before, wished)) {
    await cluster.remove(kind, before);
    before = undefined;
  }
  if (!before) return cluster.commit(kind, undefined, wished);
  const labels = { ...before.metadata.labels, ...wished.metadata.labels };
  const held = (wished.metadata.finalizers ?? []).reduce((object, name) => withFinalizer(object, name), before);
  return cluster.commit(kind, before, { ...before, ...wished, metadata: { ...held.metadata, labels } });
}

async function live<T extends KubeObject>(cluster: Cluster, kind: Kind<T>, wished: Draft<T>): Promise<T | undefined> {
  try {
    return await cluster.client.get(kind, keyOf(wished as T));
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
