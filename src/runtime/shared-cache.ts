import type { KubeObject } from "#api/meta";
import type { ObjectCache } from "#kube";
import type { Predicate } from "./predicates.ts";
import type { Cache, Trigger } from "./types.ts";

/** What keeps a copy of one kind of one API server: `createCache` of kube, or a stand-in. */
export type CacheSource<T extends KubeObject> = Pick<
  ObjectCache<T>,
  "get" | "list" | "synced" | "whenSynced" | "start" | "onChange" | "indexBy"
>;

/** A cache for controllers: it can trigger them, and refuses to be read while it cannot know anything. */
export function sharedCache<T extends KubeObject>(name: string, source: CacheSource<T>): Cache<T> {
  let isStarted = false;
  const started = (): CacheSource<T> => {
    if (isStarted) return source;
    throw new Error(`${name} was not started: name it in the triggers or reads of the controller that uses it`);
  };
  const cache: Cache<T> = {
    start(signal) {
      isStarted = true;
      source.start(signal);
    },
    whenSynced: () => source.whenSynced(),
    get synced() {
      return source.synced;
    },
    get: (key) => started().get(key),
    list: () => started().list(),
    indexBy(value) {
      const index = source.indexBy(value);
      return { at: (wanted) => started() && index.at(wanted) };
    },
    onChange: (listener) => source.onChange(listener),
    keyedBy: (key, { when } = {}) => trigger(cache, key, when),
  };
  return cache;
}

function trigger<T extends KubeObject, K extends string>(
  cache: Cache<T>,
  key: (object: T) => K | readonly K[] | undefined,
  when: Predicate<T> = () => true,
): Trigger<K> {
  const keysOf = (object: T | undefined): readonly K[] => {
    const keys = object && key(object);
    return keys === undefined ? [] : typeof keys === "string" ? [keys] : keys;
  };
  return {
    cache,
    subscribe: (enqueue) =>
      cache.onChange((before, after, initial) => {
        if (!when(before, after)) return;
        // A change may move an object from one key to another: both have to look.
        const keys = new Set([...keysOf(before), ...keysOf(after)]);
        const options = { initial: initial || isSameVersion(before, after) };
        for (const each of keys) enqueue(each, options);
      }),
  };
}

/** Told again although nothing changed, as after a reconnect. */
function isSameVersion(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  const version = after?.metadata.resourceVersion;
  return version !== undefined && version === before?.metadata.resourceVersion;
}
