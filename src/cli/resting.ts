/** What long-running programs do about memory while there is nothing else to do. */
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Clock, systemClock } from "#lib/clock";

/**
 * V8 looks for what could be given back whenever a program rests, again and again. In a server with much to remember that
 * is most of what it computes at rest, for little: it is kept from it, and collects when memory is needed.
 */
export function restQuietly(): void {
  setFlagsFromString("--no-memory-reducer");
}

/**
 * For programs that run on every cluster of a fleet, where memory counts for more than the last bit of speed. V8 doubles
 * the space for new objects again and again, up to 16 MB in each of three places, and what a burst of work has left lies
 * about for as long as nobody needs the room. While there is work to do that makes it fast; at rest it is given back, once.
 */
export function spareMemory(): void {
  restQuietly();
  tidyAtRest({
    clock: systemClock,
    used: () => getHeapStatistics().used_heap_size,
    spent() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    },
    tidy: collector(),
  });
}

export interface Tidying {
  readonly clock: Clock;
  /** Bytes of the heap in use, what nobody needs any more among them. */
  used(): number;
  /** Processor time so far, in milliseconds. */
  spent(): number;
  tidy(): void;
}

const LOOK_EVERY = 10_000;
/** Milliseconds of processor time between two looks that are still rest. */
const REST = 200;
/** Less than this (bytes) is not worth the trouble. */
const WORTHWHILE = 6 * 1024 * 1024;

/** Tidies up whenever the program rests and more has piled up than is worth keeping. The answer ends it. */
export function tidyAtRest({ clock, used, spent, tidy }: Tidying): () => void {
  let [lastSpent, kept] = [spent(), 0];
  const look = () => {
    const now = spent();
    const isResting = now - lastSpent < REST;
    lastSpent = now;
    if (isResting && used() - kept > WORTHWHILE) {
      tidy();
      [lastSpent, kept] = [spent(), used()];
    }
    cancel = clock.after(LOOK_EVERY, look);
  };
  let cancel = clock.after(LOOK_EVERY, look);
  return () => cancel();
}

/**
 * A collection that also moves what is left together, so that the system gets pages back; and a second one, which sees
 * that little is made now and lets the space for new objects shrink.
 */
function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  return () => {
    setFlagsFromString("--optimize-for-size");
    collect();
    collect();
    setFlagsFromString("--no-optimize-for-size");
  };
}
