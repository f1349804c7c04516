/** Lets a few through at once. Who takes long gives up the place, because waiting costs nobody anything. */
import type { Clock } from "#lib/clock";

/** A program that runs for so long is not busy but waits for something. */
const PLACE_KEPT_MS = 1_000;

export class Gate {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number, clock: Clock) {
    this.#free = places;
    this.#clock = clock;
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let held = true;
    const leave = () => {
      if (!held) return;
      held = false;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
    const cancel = this.#clock.after(PLACE_KEPT_MS, leave);
    try {
      return await work();
    } finally {
      cancel();
      leave();
    }
  }
}
