import type { Clock } from "#lib/clock";
import { Compacted, type StoreEvent } from "./types.ts";

export interface HistoryLimits {
  /** An event is kept at least this long … */
  readonly seconds: number;
  /** … and as long as it is among this many newest of its resource … */
  readonly least: number;
  /** … but never more of one resource than this. */
  readonly most: number;
}

/** What kube-apiserver's watch cache keeps: the bookmark period and a quarter more, 100 to 102,400 events. */
export const DEFAULT_HISTORY: HistoryLimits = { seconds: 75, least: 100, most: 102_400 };

/** What happened lately to each resource, for watches that resume and lists of the past. */
export class History {
  readonly #base: number;
  readonly #limits: HistoryLimits;
  readonly #clock: Clock;
  readonly #resources = new Map<string, EventLine>();
  #oldest: number;
  #cancelSweep: (() => void) | undefined;

  /** `base` is the revision from which on every event will be appended. */
  constructor(base: number, limits: HistoryLimits, clock: Clock) {
    this.#base = base;
    this.#oldest = base;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** The revision from which on no event of any resource is forgotten. */
  get oldest(): number {
    return this.#oldest;
  }

  /** Adds an event that happened at `at`, a time in milliseconds. */
  append(event: StoreEvent, at: number): void {
    let line = this.#resources.get(event.resource);
    if (!line) {
      line = new EventLine(this.#base);
      this.#resources.set(event.resource, line);
    }
    line.push(event, at);
    this.#prune(line, at);
    if (line.length > this.#limits.least) this.#sweepLater();
  }

  /** The events of a resource after `revision`, oldest first. Throws Compacted when some are forgotten. */
  since(resource: string, revision: number): StoreEvent[] {
    const line = this.#resources.get(resource);
    const floor = line?.floor ?? this.#base;
    if (revision < floor) throw new Compacted(revision, floor);
    return line?.after(revision) ?? [];
  }

  /** Stops the timer; nothing is forgotten any more. */
  close(): void {
    this.#cancelSweep?.();
    this.#cancelSweep = undefined;
  }

  #prune(line: EventLine, now: number): void {
    const { seconds, least, most } = this.#limits;
    line.drop(({ length, at }) => length > most || (length > least && at <= now - seconds * 1000));
    this.#oldest = Math.max(this.#oldest, line.floor);
  }

  /** A resource that falls silent after a burst forgets it too; without a burst there is no timer. */
  #sweepLater(): void {
    this.#cancelSweep ??= this.#clock.after(this.#limits.seconds * 1000, () => {
      this.#cancelSweep = undefined;
      const now = this.#clock.now().getTime();
      let more = false;
      for (const line of this.#resources.values()) {
        this.#prune(line, now);
        more ||= line.length > this.#limits.least;
      }
      if (more) this.#sweepLater();
    });
  }
}

/** The events of one resource: appended at the end, forgotten from the start. */
class EventLine {
  /** No event after this revision is forgotten. */
  floor: number;
  #events: StoreEvent[] = [];
  #times: number[] = [];
  #start = 0;

  constructor(floor: number) {
    this.floor = floor;
  }

  get length(): number {
    return this.#events.length - this.#start;
  }

  push(event: StoreEvent, at: number): void {
    this.#events.push(event);
    this.#times.push(at);
  }

  /** Forgets the oldest event as long as `isDue` says so. */
  drop(isDue: (oldest: { length: number; at: number }) => boolean): void {
    for (;;) {
      const event = this.#events[this.#start];
      const at = this.#times[this.#start];
      if (!event || at === undefined || !isDue({ length: this.length, at })) break;
      this.floor = event.revision;
      this.#start++;
    }
    // Forgotten events are let go of in bulk: moving the rest for each one would cost too much.
    if (this.#start > 16 && this.#start * 4 > this.#events.length) {
      this.#events = this.#events.slice(this.#start);
      this.#times = this.#times.slice(this.#start);
      this.#start = 0;
    }
  }

  after(revision: number): StoreEvent[] {
    let [low, high] = [this.#start, this.#events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle] as StoreEvent).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low);
  }
}
