import type { Clock } from "#lib/clock";
import { type Backoff, backoffDelay, DEFAULT_BACKOFF } from "./backoff.ts";
import { Heap } from "./heap.ts";

/** Greater is more urgent. A change that somebody made overtakes what merely has to be looked through. */
export const Priority = { normal: 0, background: -100 } as const;

export interface AddOptions {
  /** Where it lines up; normal unless told. An item that is known already keeps the greater of both. */
  readonly priority?: number;
  /** Milliseconds until it is ready. An item that is known already keeps the earlier of both. */
  readonly after?: number;
  /** Wait as the item's failures demand; with `after` too, the shorter of both. */
  readonly rateLimited?: boolean;
}

/** An item that was handed out, and the priority that a requeue should keep. */
export interface Taken<T> {
  readonly item: T;
  readonly priority: number;
}

export interface Queue<T> {
  /** Asks for an item to be worked on. While it is worked on already, it comes again after `done`. */
  add(item: T, options?: AddOptions): void;
  addAfter(item: T, ms: number, options?: Pick<AddOptions, "priority">): void;
  /** Adds after a delay that doubles with every call until `forget`. Answers the delay. */
  addRateLimited(item: T, options?: Pick<AddOptions, "priority">): number;
  /** Takes the next item, waiting for one; `undefined` once the queue is shut down. Call `done` afterwards. */
  get(): Promise<Taken<T> | undefined>;
  /** Takes the next item if one is ready now. */
  tryGet(): Taken<T> | undefined;
  /** The work on a taken item has ended, well or not. */
  done(item: T): void;
  /** The item's failures no longer count. */
  forget(item: T): void;
  failures(item: T): number;
  /** Hands out nothing more and takes nothing more; those who wait get `undefined`. */
  shutdown(): void;
  /** Items that could be taken now. */
  readonly ready: number;
  /** Items that wait for their time. */
  readonly waiting: number;
  /** Items that were taken and are not done. */
  readonly running: number;
}

export interface QueueOptions {
  readonly clock: Clock;
  readonly backoff?: Backoff;
}

/** A queue without anything in it. */
export function createQueue<T>(options: QueueOptions): Queue<T> {
  return new PriorityQueue<T>(options);
}

interface Entry<T> {
  readonly item: T;
  priority: number;
  /** When it gets ready, in milliseconds of the clock; `undefined` when it is. */
  readyAt: number | undefined;
}

/** A promise to make an entry ready. It is void when the entry got another time since, or is gone. */
interface Appointment<T> {
  readonly entry: Entry<T>;
  readonly at: number;
  readonly order: number;
}

/**
 * An entry lies in `#entries` from `add` until it is taken; once ready, in the line of its priority too. Lines
 * are sets, which remember the order in which things came: whoever gets ready, or more urgent, goes to the end.
 */
class PriorityQueue<T> implements Queue<T> {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #entries = new Map<T, Entry<T>>();
  readonly #lines = new Map<number, Set<Entry<T>>>();
  readonly #appointments = new Heap<Appointment<T>>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  readonly #running = new Set<T>();
  readonly #failures = new Map<T, number>();
  #getters: ((taken: Taken<T> | undefined) => void)[] = [];
  #order = 0;
  #waiting = 0;
  #shutdown = false;
  #alarm: { at: number; cancel: () => void } | undefined;

  constructor({ clock, backoff = DEFAULT_BACKOFF }: QueueOptions) {
    this.#clock = clock;
    this.#backoff = backoff;
  }

  get ready(): number {
    this.#promote();
    let count = this.#entries.size - this.#waiting;
    for (const item of this.#running) {
      const again = this.#entries.get(item);
      if (again && again.readyAt === undefined) count--;
    }
    return count;
  }

  get waiting(): number {
    this.#promote();
    return this.#waiting;
  }

  get running(): number {
    return this.#running.size;
  }

  add(item: T, { priority = Priority.normal, after = 0, rateLimited = false }: AddOptions = {}): void {
    if (this.#shutdown) return;
    const limit = rateLimited ? this.#fail(item) : after;
    this.#place(item, priority, rateLimited && after > 0 ? Math.min(after, limit) : limit);
  }

  addAfter(item: T, ms: number, options: Pick<AddOptions, "priority"> = {}): void {
    this.add(item, { ...options, after: ms });
  }

  addRateLimited(item: T, { priority = Priority.normal }: Pick<AddOptions, "priority"> = {}): number {
    if (this.#shutdown) return 0;
    const delay = this.#fail(item);
    this.#place(item, priority, delay);
    return delay;
  }

  get(): Promise<Taken<T> | undefined> {
    const taken = this.tryGet();
    if (taken || this.#shutdown) return Promise.resolve(taken);
    return new Promise((resolve) => {
      this.#getters.push(resolve);
      this.#setAlarm();
    });
  }

  tryGet(): Taken<T> | undefined {
    if (this.#shutdown) return undefined;
    this.#promote();
    const entry = this.#next();
    if (!entry) return undefined;
    const { item, priority } = entry;
    this.#leaveLine(entry);
    this.#entries.delete(item);
    this.#running.add(item);
    return { item, priority };
  }

  done(item: T): void {
    this.#running.delete(item);
    this.#handOut();
  }

  forget(item: T): void {
    this.#failures.delete(item);
  }

  failures(item: T): number {
    return this.#failures.get(item) ?? 0;
  }

  shutdown(): void {
    this.#shutdown = true;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#entries.clear();
    this.#lines.clear();
    this.#failures.clear();
    this.#appointments.retain(() => false);
    this.#waiting = 0;
    const getters = this.#getters;
    this.#getters = [];
    for (const resolve of getters) resolve(undefined);
  }

  #fail(item: T): number {
    const failures = this.failures(item);
    this.#failures.set(item, failures + 1);
    return backoffDelay(this.#backoff, failures);
  }

  #place(item: T, priority: number, after: number): void {
    this.#promote(); // what got ready in the meantime stands before what comes now
    const readyAt = after > 0 ? this.#clock.now().getTime() + after : undefined;
    const known = this.#entries.get(item);
    if (known) this.#revise(known, priority, readyAt);
    else this.#insert({ item, priority, readyAt });
    this.#handOut();
  }

  #insert(entry: Entry<T>): void {
    this.#entries.set(entry.item, entry);
    if (entry.readyAt === undefined) {
      this.#joinLine(entry);
    } else {
      this.#waiting++;
      this.#appoint(entry, entry.readyAt);
    }
  }

  #revise(entry: Entry<T>, priority: number, readyAt: number | undefined): void {
    if (priority > entry.priority) {
      const inLine = entry.readyAt === undefined;
      if (inLine) this.#leaveLine(entry);
      entry.priority = priority;
      if (inLine) this.#joinLine(entry);
    }
    if (entry.readyAt === undefined || (readyAt !== undefined && readyAt >= entry.readyAt)) return;
    entry.readyAt = readyAt;
    if (readyAt === undefined) {
      this.#waiting--;
      this.#joinLine(entry);
    } else {
      this.#appoint(entry, readyAt);
    }
  }

  #appoint(entry: Entry<T>, at: number): void {
    this.#appointments.push({ entry, at, order: this.#order++ });
    // An item that changes often and each time wants to be looked at in ten hours would leave void appointments
    // behind for ten hours.
    if (this.#appointments.size > 2 * this.#waiting + 64) {
      this.#appointments.retain(({ entry, at }) => entry.readyAt === at);
    }
  }

  /** Lets those whose time has come join their lines, in the order of their times. */
  #promote(): void {
    let first = this.#appointments.peek();
    if (!first) return;
    const now = this.#clock.now().getTime();
    for (; first; first = this.#appointments.peek()) {
      const { entry, at } = first;
      if (entry.readyAt === at) {
        if (at > now) return;
        entry.readyAt = undefined;
        this.#waiting--;
        this.#joinLine(entry);
      }
      this.#appointments.pop();
    }
  }

  #joinLine(entry: Entry<T>): void {
    const line = this.#lines.get(entry.priority);
    if (line) line.add(entry);
    else this.#lines.set(entry.priority, new Set([entry]));
  }

  #leaveLine(entry: Entry<T>): void {
    const line = this.#lines.get(entry.priority);
    line?.delete(entry);
    if (line?.size === 0) this.#lines.delete(entry.priority);
  }

  /** The first of the most urgent line, passing over those that are being worked on. */
  #next(): Entry<T> | undefined {
    const priorities = [...this.#lines.keys()].sort((a, b) => b - a);
    for (const priority of priorities) {
      for (const entry of this.#lines.get(priority) ?? []) {
        if (!this.#running.has(entry.item)) return entry;
      }
    }
    return undefined;
  }

  #handOut(): void {
    while (this.#getters.length > 0) {
      const taken = this.tryGet();
      if (!taken) break;
      this.#getters.shift()?.(taken);
    }
    this.#setAlarm();
  }

  /** An alarm is needed only while somebody waits; everybody else looks at the clock when asking. */
  #setAlarm(): void {
    const at = this.#getters.length > 0 ? this.#appointments.peek()?.at : undefined;
    if (at === this.#alarm?.at) return;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    if (at === undefined) return;
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.now().getTime()), () => {
      this.#alarm = undefined;
      this.#promote();
      this.#handOut();
    });
    this.#alarm = { at, cancel };
  }
}
