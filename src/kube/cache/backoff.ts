/** How long to wait after a failure: longer each time, never the same for all, and short again after a calm while. */
import type { Clock } from "#lib/clock";

const FIRST = 800;
const FACTOR = 2;
const CAP = 30_000;
/** So long without a failure, and the next one counts as the first. */
const CALM = 120_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #last = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Milliseconds to wait now that something failed again: between once and twice the step, at most `cap`. */
  next(cap = CAP): number {
    const now = this.#clock.now().getTime();
    if (now - this.#last >= CALM) this.#failures = 0;
    const step = Math.min(FIRST * FACTOR ** this.#failures, cap);
    this.#failures++;
    const delay = Math.min(step * (1 + this.#random()), cap);
    this.#last = now + delay;
    return delay;
  }
}
