/**
 * A kind of the spoke that may come later, go again, or be served in one of several versions. Whoever may not look at
 * definitions cannot watch for that, so the server is asked for objects now and then.
 */
import type { Kind, KubeObject } from "#api/meta";
import { isForbidden, isUnknownKind } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Cache, Cluster, Trigger } from "#runtime";

/** Between two looks at which version is served, and while nobody could tell. */
const LOOK_EVERY = 60_000;
const LOOK_SOON = 1_000;

export interface FollowedKind<T extends KubeObject> {
  /** None while the kind is not served. */
  list(): T[];
  /** Asks for a reconcile of the key when an object comes, changes or goes, and when the kind does. */
  keyedBy(key: string): Trigger<string>;
}

/** The first of these kinds that the cluster serves. */
export function followedKind<T extends KubeObject>(options: {
  cluster: Cluster;
  kinds: readonly Kind<T>[];
  clock: Clock;
  log: Logger;
}): FollowedKind<T> {
  const { cluster, kinds, clock, log } = options;
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  let followed: { kind: Kind<T>; cache: Cache<T>; end: () => void } | undefined;
  let isKnown = () => {};
  const known = new Promise<void>((resolve) => {
    isKnown = resolve;
  });

  async function served(): Promise<Kind<T> | undefined> {
    for (const kind of kinds) {
      try {
        await cluster.client.list(kind, { limit: 1 });
        return kind;
      } catch (error) {
        if (!isUnknownKind(error) && !isForbidden(error)) throw error;
      }
    }
    return undefined;
  }

  function leave(): void {
    followed?.end();
    followed = undefined;
  }

  async function follow(kind: Kind<T>, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const cache = cluster.cache(kind);
    cache.start(AbortSignal.any([signal, stop.signal]));
    await cache.whenSynced();
    const unsubscribe = cache.onChange(changed);
    const end = () => {
      unsubscribe();
      stop.abort();
    };
    followed = { kind, cache, end };
  }

  async function look(signal: AbortSignal): Promise<void> {
    const kind = await served();
    if (signal.aborted || kind === followed?.kind) return;
    leave();
    if (kind) await follow(kind, signal);
    changed();
  }

  function start(signal: AbortSignal): void {
    let cancel = () => {};
    const round = async (): Promise<void> => {
      let pause = LOOK_EVERY;
      try {
        await look(signal);
        isKnown();
      } catch (cause) {
        pause = LOOK_SOON;
        log.debug("cannot tell whether a kind is served", { kind: kinds[0]?.kind, cause });
      }
      if (signal.aborted) leave();
      else cancel = clock.after(pause, () => void round());
    };
    signal.addEventListener(
      "abort",
      () => {
        cancel();
        leave();
      },
      { once: true },
    );
    void round();
  }

  return {
    list: () => followed?.cache.list() ?? [],
    keyedBy: (key) => ({
      cache: { start, whenSynced: () => known },
      subscribe(enqueue) {
        const listener = () => enqueue(key);
        listeners.add(listener);
        enqueue(key, { initial: true }); // what was found before anybody listened
        return () => listeners.delete(listener);
      },
    }),
  };
}
