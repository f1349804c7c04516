/** Objects that leave something behind elsewhere: nothing is made before the finalizer is there to have it removed. */
import type { Kind, KubeObject } from "#api/meta";
import { hasFinalizer, isDeleting, withFinalizer, withoutFinalizer } from "#lib/meta";
import { type Cluster, done, type Outcome } from "./types.ts";

export interface Finalization<T extends KubeObject> {
  readonly cluster: Cluster;
  readonly kind: Kind<T>;
  readonly object: T;
  /** `example.com/name`; each name is taken care of by one controller. */
  readonly finalizer: string;
  /** While the object lives. It is called with the object as it is once the finalizer is there. */
  reconcile(object: T): Promise<Outcome>;
  /**
   * When the object is to go; it may be called again after it has succeeded. With `again(ms)` it says that it has
   * not finished, and the object stays.
   */
  cleanUp(object: T): Promise<Outcome>;
}

/**
 * Adds the finalizer before the first `reconcile` and takes it away after a `cleanUp` that is done. An object that is
 * to go and does not have the finalizer has nothing to clean up.
 */
export async function withCleanUp<T extends KubeObject>(options: Finalization<T>): Promise<Outcome> {
  const { cluster, kind, object, finalizer } = options;
  if (!isDeleting(object)) {
    return options.reconcile(
      hasFinalizer(object, finalizer) ? object : await cluster.commit(kind, object, withFinalizer(object, finalizer)),
    );
  }
  if (!hasFinalizer(object, finalizer)) return done;
  const outcome = await options.cleanUp(object);
  if (outcome.after !== undefined) return outcome;
  await cluster.commit(kind, object, withoutFinalizer(object, finalizer));
  return done;
}
