/**
 * What is left in the namespaces of clusters that go. A namespace is looked into when somebody asks, and followed from
 * then on until nothing is left in it: a fleet of which no cluster goes costs nothing.
 */
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import { isUnknownKind } from "#kube";
import type { Clock } from "#lib/clock";
import type { Cache, Cluster, Trigger } from "#runtime";

/** An object that is left; of its fields only the metadata are known. */
export interface Remaining {
  readonly kind: Kind<DynamicObject>;
  readonly metadata: KubeObject["metadata"];
}

export interface Remains {
  /** Everything of these kinds in a namespace, in the order of the kinds. A kind that is not served has no objects. */
  in(namespace: string, signal: AbortSignal): Promise<Remaining[]>;
  /** Ends the following of a namespace. */
  forget(namespace: string): void;
  /** Asks for a reconcile of a namespace that is followed, whenever something in it changes. */
  readonly trigger: Trigger<string>;
}

/**
 * Milliseconds after which copies are not believed any more: a kind that is taken away while the connection is down
 * leaves copies of which nobody says that they are gone.
 */
export const LOOK_AGAIN = 300_000;

interface Followed {
  /** When the server itself was asked last. */
  readonly looked: number;
  readonly stop: AbortController;
  readonly caches: Map<Kind<DynamicObject>, Cache<DynamicObject>>;
}

export function createRemains(hub: Cluster, clock: Clock, kinds: readonly Kind<DynamicObject>[]): Remains {
  const followed = new Map<string, Followed>();
  let tell: (namespace: string) => void = () => {};

  function forget(namespace: string): void {
    followed.get(namespace)?.stop.abort();
    followed.delete(namespace);
  }

  return {
    async in(namespace, signal) {
      const entry = followed.get(namespace);
      const isRecent = entry && clock.now().getTime() - entry.looked < LOOK_AGAIN;
      const known = kinds.flatMap((kind) => copies(isRecent ? entry.caches.get(kind) : undefined, kind));
      // Copies may be a moment old. That something is there does no harm then; that nothing is has to be true.
      if (known.length > 0) return known;
      const found = await Promise.all(kinds.map((kind) => live(kind, namespace, signal)));
      follow(
        namespace,
        kinds.filter((_, at) => (found[at] ?? []).length > 0),
      );
      return found.flat();
    },
    forget,
    trigger: {
      subscribe(enqueue) {
        tell = enqueue;
        return () => {
          for (const namespace of [...followed.keys()]) forget(namespace);
          tell = () => {};
        };
      },
    },
  };

  async function live(kind: Kind<DynamicObject>, namespace: string, signal: AbortSignal): Promise<Remaining[]> {
    try {
      const { items } = await hub.client.list(kind, { namespace, metadataOnly: true, signal });
      return items.map(({ metadata }) => ({ kind, metadata }));
    } catch (error) {
      if (isUnknownKind(error)) return [];
      throw error;
    }
  }

  function follow(namespace: string, wanted: readonly Kind<DynamicObject>[]): void {
    if (wanted.length === 0) return;
    const looked = clock.now().getTime();
    const entry = { ...(followed.get(namespace) ?? { stop: new AbortController(), caches: new Map() }), looked };
    followed.set(namespace, entry);
    for (const kind of wanted) {
      if (entry.caches.has(kind)) continue;
      const cache = hub.cache(kind, { namespace, projection: "metadata" });
      entry.caches.set(kind, cache);
      cache.start(entry.stop.signal);
      const end = cache.onChange(() => tell(namespace));
      entry.stop.signal.addEventListener("abort", end, { once: true });
    }
  }
}

function copies(cache: Cache<DynamicObject> | undefined, kind: Kind<DynamicObject>): Remaining[] {
  return cache?.synced ? cache.list().map(({ metadata }) => ({ kind, metadata })) : [];
}
