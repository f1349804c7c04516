/**
 * The Secrets, ConfigMaps and ServiceAccounts that Pods refer to. Each is followed by a watch of its own, by its name,
 * from the first Pod that wants it to the last one, and by nobody else: a node sees no more than its Pods do.
 */
import type { Key, Kind, KubeObject } from "#api/meta";
import { splitKey } from "#api/meta";
import { type Client, createCache, type ObjectCache } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";

export interface Reference<T extends KubeObject> {
  /** Whether it is known if the object is there. */
  readonly isKnown: boolean;
  readonly object: T | undefined;
  /** Why it is not known, if more than a moment is missing. */
  readonly trouble: string | undefined;
  close(): void;
}

interface Followed {
  readonly cache: ObjectCache<KubeObject>;
  readonly stop: AbortController;
  readonly listeners: Set<() => void>;
}

/** What is kept of the objects: their contents, and nothing of what others write around them. */
const KEPT = ["data", "binaryData"];

export class References {
  readonly #options: { readonly client: Client; readonly clock: Clock; readonly log: Logger };
  readonly #followed = new Map<string, Followed>();

  constructor(options: { client: Client; clock: Clock; log: Logger }) {
    this.#options = options;
  }

  /** `changed` is called when it becomes known, and whenever it changes. */
  follow<T extends KubeObject>(kind: Kind<T>, key: Key<T>, changed: () => void): Reference<T> {
    const id = `${kind.plural} ${key}`;
    const followed = this.#followed.get(id) ?? this.#begin(kind, key);
    this.#followed.set(id, followed);
    const listener = () => changed(); // of its own, however often somebody follows
    followed.listeners.add(listener);
    // The id tells the kind, and the kind the type.
    const cache = followed.cache as unknown as ObjectCache<T>;
    return {
      get isKnown() {
        return cache.synced;
      },
      get object() {
        return cache.get(key);
      },
      get trouble() {
        return cache.synced ? undefined : cache.lastError?.message;
      },
      close: () => {
        followed.listeners.delete(listener);
        if (followed.listeners.size > 0 || this.#followed.get(id) !== followed) return;
        this.#followed.delete(id);
        followed.stop.abort();
      },
    };
  }

  #begin<T extends KubeObject>(kind: Kind<T>, key: Key<T>): Followed {
    const { client, clock, log } = this.#options;
    const { namespace, name } = splitKey(key);
    const listeners = new Set<() => void>();
    const tell = () => {
      for (const listener of [...listeners]) listener();
    };
    const cache = createCache({
      client,
      kind,
      scope: {
        ...(namespace !== undefined && { namespace }),
        fieldSelector: `metadata.name=${name}`,
        projection: KEPT,
      },
      clock,
      log(message) {
        log.warn(message);
        tell();
      },
    });
    const stop = new AbortController();
    cache.onChange(tell);
    cache.start(stop.signal);
    void cache.whenSynced().then(tell);
    return { cache: cache as unknown as ObjectCache<KubeObject>, stop, listeners };
  }
}
