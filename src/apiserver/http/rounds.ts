/**
 * When watchers are sent what has happened: all of them in one round, at the end of the turn in which it happened.
 * After a round with many watchers the next one waits a little, so that several events go out in one write: what a
 * write costs is the write, hardly its length. A round with few watchers is followed by no pause, so that nobody waits
 * in a quiet cluster.
 */
import type { Clock } from "#lib/clock";

/** Four times what it takes to send to one watcher: at most a fifth of the processor goes into writes. */
const PAUSE_PER_WATCHER_MS = 0.04;

/** Timers are no finer than this; shorter pauses are none. */
const SHORTEST_PAUSE_MS = 1;

/** What a person does not notice, however many watch. */
const LONGEST_PAUSE_MS = 20;

export class Rounds {
  readonly #clock: Clock;
  #due = new Set<() => void>();
  /** Whether the next round will come by itself. */
  #isPlanned = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `send` once, in the next round. */
  join(send: () => void): void {
    this.#due.add(send);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    queueMicrotask(() => this.#run());
  }

  #run(): void {
    const senders = this.#due;
    this.#due = new Set();
    this.#isPlanned = false;
    const pause = senders.size * PAUSE_PER_WATCHER_MS;
    if (pause >= SHORTEST_PAUSE_MS) {
      this.#isPlanned = true;
      this.#clock.after(Math.min(pause, LONGEST_PAUSE_MS), () => this.#run());
    }
    for (const send of senders) send();
  }
}
