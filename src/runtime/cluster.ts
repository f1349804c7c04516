import { type Kind, type KubeObject, keyOf } from "#api/meta";
import { type Client, isNotFound } from "#kube";
import { isDeleting } from "#lib/meta";
import { gatheredCommits } from "./gathered-commits.ts";
import { type CacheSource, sharedCache } from "./shared-cache.ts";
import type { Cache, CacheScope, Cluster } from "./types.ts";

/** A cluster over a client and whatever keeps copies of its objects. */
export function createCluster(options: {
  name: string;
  client: Client;
  open<T extends KubeObject>(kind: Kind<T>, scope: CacheScope): CacheSource<T>;
}): Cluster {
  const { name, client, open } = options;
  const caches = new Map<string, unknown>();

  return {
    name,
    client,
    cache<T extends KubeObject>(kind: Kind<T>, scope: CacheScope = {}): Cache<T> {
      const id = cacheId(kind, scope);
      // The id tells the kind, and the kind the type.
      const known = caches.get(id) as Cache<T> | undefined;
      if (known) return known;
      const cache = sharedCache(`the cache of ${kind.plural} of ${name}`, open(kind, scope));
      caches.set(id, cache);
      return cache;
    },
    commit: gatheredCommits(client),
    async remove(kind, object) {
      if (isDeleting(object)) return;
      const { uid } = object.metadata;
      try {
        await client.delete(kind, keyOf(object), uid ? { preconditions: { uid } } : {});
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  };
}

function cacheId<T extends KubeObject>({ group, version, plural }: Kind<T>, scope: CacheScope): string {
  const { namespace, labelSelector, fieldSelector, projection, managedFields } = scope;
  const kept = typeof projection === "object" ? [...projection].sort() : projection;
  return JSON.stringify([
    group,
    version,
    plural,
    namespace,
    labelSelector,
    fieldSelector,
    kept,
    managedFields ?? false,
  ]);
}
