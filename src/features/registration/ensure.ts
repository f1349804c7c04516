/** Making one object look as it should, whoever made it. */
import type { Kind, KubeObject } from "#api/meta";
import { keyOf } from "#api/meta";
import { type Draft, isAlreadyExists, isNotFound } from "#kube";
import { equal } from "#lib/json";
import { withFinalizer } from "#lib/meta";
import type { Cluster } from "#runtime";

/**
 * Creates the object, or gives it the labels, finalizers and fields that are wished for and leaves the rest of it alone. The
 * answer is what the server has then. `cached` is what a cache knows: an object that lost the label which a cache
 * selects by is not in it, and is looked for when the server says that it is there.
 */
export async function ensure<T extends KubeObject>(
  cluster: Cluster,
  kind: Kind<T>,
  cached: T | undefined,
  wished: Draft<T>,
): Promise<T> {
  if (!cached) {
    const created = await createdUnlessThere(cluster, kind, wished);
    if (created) return created;
  }
  const before = cached ?? (await live(cluster, kind, wished));
  if (!before) return cluster.commit(kind, undefined, wished);
  if (mustBeReplaced(before, wished)) {
    await cluster.remove(kind, before);
    return cluster.commit(kind, undefined, wished);
  }
  const labels = { ...before.metadata.labels, ...wished.metadata.labels };
  const held = (wished.metadata.finalizers ?? []).reduce((object, name) => withFinalizer(object, name), before);
  return cluster.commit(kind, before, { ...before, ...wished, metadata: { ...held.metadata, labels } });
}

async function createdUnlessThere<T extends KubeObject>(
  cluster: Cluster,
  kind: Kind<T>,
  wished: Draft<T>,
): Promise<T | undefined> {
  try {
    return await cluster.commit(kind, undefined, wished);
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    throw error;
  }
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
