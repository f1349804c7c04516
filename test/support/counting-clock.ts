/** A clock that says how many wait for it, for tests of what must not be left behind. */
import type { Clock } from "#lib/clock";

export interface CountingClock extends Clock {
  /** Tasks that are neither done nor cancelled. */
  readonly waiting: number;
}

export function countingClock(clock: Clock): CountingClock {
  const tasks = new Set<object>();
  return {
    get waiting() {
      return tasks.size;
    },
    now: () => clock.now(),
    after(ms, task) {
      const entry = {};
      tasks.add(entry);
      const cancel = clock.after(ms, () => {
        tasks.delete(entry);
        task();
      });
      return () => {
        tasks.delete(entry);
        cancel();
      };
    },
  };
}
