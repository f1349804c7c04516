import { type KubeObject, keyOf } from "#api/meta";
import type { CacheSource } from "#runtime";
import { type FakeScope, inScope } from "./fake-scope.ts";
import type { FakeStore } from "./fake-store.ts";

/**
 * A cache over the store. Like a real one it hears of changes a moment later, in a microtask: whoever reads it
 * right after a write still sees the past.
 */
export function fakeSource<T extends KubeObject>(store: FakeStore, resource: string, scope: FakeScope): CacheSource<T> {
  const wanted = inScope(scope);
  const objects = new Map<string, T>();
  const listeners = new Set<Parameters<CacheSource<T>["onChange"]>[0]>();
  let users = 0;
  let isSynced = false;
  let markSynced = () => {};
  const filled = new Promise<void>((resolve) => {
    markSynced = resolve;
  });
  let unsubscribe = () => {};

  /** Makes the copy of one object what it should be, and tells. */
  const settle = (key: string, object: T | undefined, initial: boolean) => {
    const before = objects.get(key);
    const after = object && wanted(object) ? object : undefined;
    if (before === after) return;
    if (after) objects.set(key, after);
    else objects.delete(key);
    for (const listener of [...listeners]) listener(before, after, initial);
  };

  const open = () => {
    const present = new Map(store.list(resource).map((object) => [keyOf(object), object as T]));
    unsubscribe = store.onChange(resource, (before, after) => {
      const object = after ?? before;
      if (object) queueMicrotask(() => settle(keyOf(object), after as T | undefined, false));
    });
    queueMicrotask(() => {
      for (const key of [...objects.keys()]) if (!present.has(key)) settle(key, undefined, false);
      for (const [key, object] of present) settle(key, object, !isSynced);
      isSynced = true;
      markSynced();
    });
  };

  return {
    start(signal) {
      if (signal.aborted) return;
      if (users++ === 0) open();
      signal.addEventListener("abort", () => --users === 0 && unsubscribe(), { once: true });
    },
    whenSynced: () => filled,
    get synced() {
      return isSynced;
    },
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    indexBy: (value) => ({
      at: (at) => [...objects.values()].filter((object) => [value(object) ?? []].flat().includes(at)),
    }),
    onChange(listener) {
      listeners.add(listener);
      for (const object of objects.values()) listener(undefined, object, true);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
