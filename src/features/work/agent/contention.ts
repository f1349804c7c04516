/**
 * Somebody else on the spoke may keep changing what a work says: an autoscaler, an operator, a second tool. Whatever is
 * changed is mended at once, but not for ever as fast as it is changed: that would keep two programs and a server busy
 * without either of them getting anywhere.
 */
import type { Clock } from "#lib/clock";
import { backoffDelay } from "#lib/queue";

/** So often a change is mended at once, within the time in which it counts. */
const FREE_MENDS = 5;
const MEMORY_MS = 10 * 60_000;
/** From then on it waits, up to as long as upstream's agent takes to notice. */
const PAUSE = { base: 15_000, cap: 5 * 60_000 };

export class Contention {
  readonly #clock: Clock;
  /** By object, when it was mended. Most works never need it. */
  #mends: Map<string, number[]> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The object was changed, and is now as wished again. */
  mended(identity: string): void {
    this.#mends ??= new Map();
    this.#mends.set(identity, [...this.#recent(identity), this.#clock.now().getTime()]);
  }

  /** Milliseconds until it is mended again; 0 when nothing speaks against it. */
  pauseFor(identity: string): number {
    const recent = this.#recent(identity);
    const last = recent.at(-1);
    if (last === undefined || recent.length < FREE_MENDS) return 0;
    const due = last + backoffDelay(PAUSE, recent.length - FREE_MENDS);
    return Math.max(0, due - this.#clock.now().getTime());
  }

  #recent(identity: string): number[] {
    const since = this.#clock.now().getTime() - MEMORY_MS;
    const recent = (this.#mends?.get(identity) ?? []).filter((at) => at > since);
    if (recent.length === 0) this.#mends?.delete(identity);
    return recent;
  }
}
