import type { Clock } from "#lib/clock";
import type { Trigger } from "./types.ts";

/** Asks for one reconcile at the start: for what must exist although no object points at it. */
export function atStart<K extends string>(key: K): Trigger<K> {
  return {
    subscribe(enqueue) {
      enqueue(key, { initial: true });
      return () => {};
    },
  };
}

/** Asks for a reconcile at the start and then every so many milliseconds: for what cannot be watched. */
export function every<K extends string>(clock: Clock, ms: number, key: K): Trigger<K> {
  return {
    subscribe(enqueue) {
      let cancel = () => {};
      const tick = () => {
        cancel = clock.after(ms, tick);
        enqueue(key, { initial: true });
      };
      tick();
      return () => cancel();
    },
  };
}
