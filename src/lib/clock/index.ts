/** Time as something that is passed in, so that tests hold it in their hands. */

export interface Clock {
  now(): Date;
  /** Calls `task` once after `ms`; the answer cancels it. */
  after(ms: number, task: () => void): () => void;
}

/**
 * The machine's clock. A timer never keeps the process alive by itself: what must be waited for is
 * waited for by whoever started it.
 */
export const systemClock: Clock = {
  now: () => new Date(),
  after(ms, task) {
    const timer = setTimeout(task, Math.min(ms, LONGEST_TIMER));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** setTimeout counts milliseconds in 31 bits; anything longer would fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** A clock that stands still until `advance` moves it. */
export class ManualClock implements Clock {
  #now: number;
  #tasks: { at: number; order: number; task: () => void }[] = [];
  #order = 0;

  constructor(start: Date | string = "2026-01-01T00:00:00Z") {
    this.#now = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.#now);
  }

  after(ms: number, task: () => void): () => void {
    const entry = { at: this.#now + ms, order: this.#order++, task };
    this.#tasks.push(entry);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== entry);
    };
  }

  /** Moves time on and runs what became due, in the order in which it is due. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = this.#tasks.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.order - b.order);
      if (!next) break;
      this.#tasks = this.#tasks.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.at);
      next.task();
    }
    this.#now = end;
  }
}

/** RFC 3339 in UTC with whole seconds: metav1.Time. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** RFC 3339 in UTC with exactly six decimals: metav1.MicroTime. */
export function microTimestamp(date: Date): string {
  return `${date.toISOString().slice(0, 23)}000Z`;
}
