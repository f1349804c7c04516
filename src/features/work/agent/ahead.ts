/**
 * An object as our own writes have left it, until the copy of it shows as much. Whoever took the copy for the truth a moment
 * too early would write against a state that is gone, or create a second time what is there.
 */
import type { KubeObject } from "#api/meta";
import type { Clock } from "#lib/clock";

/** A copy that still shows the past so long after a write shows something else. */
const LONGEST_LAG = 5_000;
const ABSENT = "";
const NONE: readonly string[] = [];

export class Ahead<T extends KubeObject> {
  readonly #clock: Clock;
  /** The states that our writes have replaced, one after the other. */
  #replaced: readonly string[] = NONE;
  #left: T | undefined;
  #at = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes what a write made of the object; one that wrote nothing is none. The answer is what it made. */
  wrote(before: T | undefined, after: T): T {
    if (before === after) return after;
    this.#replaced = [...this.#replaced, before?.metadata.resourceVersion ?? ABSENT];
    this.#left = after;
    this.#at = this.#clock.now().getTime();
    return after;
  }

  /** What the copy shows, or will show in a moment. */
  latest(cached: T | undefined): T | undefined {
    if (!this.#left) return cached;
    const isBehind = this.#replaced.includes(cached?.metadata.resourceVersion ?? ABSENT);
    if (isBehind && this.#clock.now().getTime() - this.#at < LONGEST_LAG) return this.#left;
    this.#replaced = NONE;
    this.#left = undefined;
    return cached;
  }
}
