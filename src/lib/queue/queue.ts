/** The queue: what is known of every item, when it gets ready and who works on it. */
import type { Clock } from "#lib/clock";
import { type Backoff, backoffDelay, DEFAULT_BACKOFF } from "./backoff.ts";
import { Heap } from "./heap.ts";
import { Lines, type Passing } from "./lines.ts";

/** Greater is more urgent. A change that somebody made overtakes what merely has to be looked through. */
export const Priority = { normal: 0, background: -100 } as const;

export interface AddOptions {
  /** Where it lines up; normal unless told. An item that is known already keeps the greater of both. */
  readonly priority?: number;
  /** Milliseconds until it is ready. An item that is known already keeps the earlier of both. */
  readonly after?: number;
  /** Wait as the item's failures demand; with `after` too, the shorter of both. */
  readonly rateLimited?: boolean;
  /**
   * Whom it belongs to, such as a cluster: groups of one priority take turns, however long one of them is. An item
   * belongs to one group for good; all without a group make up one that has no limit.
   */
  readonly group?: string;
}

/** What a requeue may say. */
export type RequeueOptions = Pick<AddOptions, "priority" | "group">;

/** An item that was handed out, and what a requeue should keep. */
export interface Taken<T> {
  readonly item: T;
  readonly priority: number;
  readonly group?: string;
}

export interface Queue<T> {
  /** Asks for an item to be worked on. While it is worked on already, it comes again after `done`. */
  add(item: T, options?: AddOptions): void;
  addAfter(item: T, ms: number, options?: RequeueOptions): void;
  /** Adds after a delay that doubles with every call until `forget`. Answers the delay. */
  addRateLimited(item: T, options?: RequeueOptions): number;
  /** Takes the next item, waiting for one; `undefined` once the queue is shut down. Call `done` afterwards. */
  get(): Promise<Taken<T> | undefined>;
  /** Takes the next item if one is ready now. */
  tryGet(): Taken<T> | undefined;
  /** The work on a taken item has ended, well or not. */
  done(item: T): void;
  /** The item's failures no longer count. */
  forget(item: T): void;
  failures(item: T): number;
  /**
   * Drops everything of a group that is not being worked on, and its failures. What is being worked on counts until
   * `done`; whether it comes again is for its worker to say.
   */
  removeGroup(group: string): void;
  /** Hands out nothing more of a group until it is resumed. What is added meanwhile is kept. */
  park(group: string): void;
  /** Hands out a parked group again. Its failures no longer count, and what waited because of them is ready at once. */
  resume(group: string): void;
  /** Hands out nothing more and takes nothing more; those who wait get `undefined`. */
  shutdown(): void;
  /** Items whose time has come and that nobody works on; the limit of their group may still hold them back. */
  readonly ready: number;
  /** Items whose time has come, but whose group is parked. */
  readonly parked: number;
  /** Items that wait for their time. */
  readonly waiting: number;
  /** Items that were taken and are not done. */
  readonly running: number;
  /** How many are ready at each priority; a priority at which nobody is may be missing. */
  depths(): ReadonlyMap<number, number>;
  /** For how many milliseconds each of the running items has been worked on. */
  runningFor(): readonly number[];
}

/** Hears what happens in a queue, for those who count. Durations are milliseconds. */
export interface QueueObserver {
  /** An item is there that was not. */
  added(): void;
  /** An item was added for later. */
  delayed(): void;
  /** An item was taken; so long it had been ready. */
  taken(waited: number): void;
  /** The work on an item has ended; so long it took. */
  finished(worked: number): void;
}

export interface QueueOptions<T = string> {
  readonly clock: Clock;
  readonly backoff?: Backoff;
  /** How many items of one group may be worked on at once; any number unless told. */
  readonly groupLimit?: number;
  /** How many items of a group go in a row when its turn has come; one unless told. */
  readonly weightOf?: (group: string) => number;
  /**
   * What an item belongs to within its group, such as a namespace: the parts of a group take turns as groups do. All
   * are of one part unless told.
   */
  readonly partOf?: (item: T) => string | undefined;
  readonly observer?: QueueObserver;
}

/** A queue without anything in it. */
export function createQueue<T>(options: QueueOptions<T>): Queue<T> {
  return new PriorityQueue<T>(options);
}

interface Entry<T> {
  readonly item: T;
  readonly group: string | undefined;
  readonly part: string | undefined;
  priority: number;
  /** When it joined its line, in milliseconds of the clock. */
  readySince: number;
  /** When it gets ready, in milliseconds of the clock; `undefined` when it is. */
  readyAt: number | undefined;
}

/** A promise to make an entry ready. It is void when the entry got another time since, or is gone. */
interface Appointment<T> {
  readonly entry: Entry<T>;
  readonly at: number;
  readonly order: number;
}

interface Work {
  readonly group: string | undefined;
  readonly since: number;
}

interface Failures {
  readonly group: string | undefined;
  count: number;
}

/** An entry lies in `#entries` from `add` until it is taken; once ready, in a line too. */
class PriorityQueue<T> implements Queue<T> {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #entries = new Map<T, Entry<T>>();
  readonly #lines: Lines<Entry<T>>;
  readonly #appointments = new Heap<Appointment<T>>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  readonly #running = new Map<T, Work>();
  readonly #runningOf = new Map<string, number>();
  readonly #failures = new Map<T, Failures>();
  readonly #parked = new Set<string>();
  readonly #groupLimit: number;
  readonly #partOf: (item: T) => string | undefined;
  readonly #observer: QueueObserver | undefined;
  readonly #passing: Passing<Entry<T>> = {
    isOpen: (group) =>
      group === undefined || (!this.#parked.has(group) && (this.#runningOf.get(group) ?? 0) < this.#groupLimit),
    isFree: ({ item }) => !this.#running.has(item),
  };
  #getters: ((taken: Taken<T> | undefined) => void)[] = [];
  #order = 0;
  #waiting = 0;
  #shutdown = false;
  #alarm: { at: number; cancel: () => void } | undefined;

  constructor(options: QueueOptions<T>) {
    const { clock, backoff = DEFAULT_BACKOFF, groupLimit, weightOf = () => 1, partOf = () => undefined } = options;
    this.#clock = clock;
    this.#partOf = partOf;
    this.#backoff = backoff;
    this.#groupLimit = Math.max(1, groupLimit ?? Number.POSITIVE_INFINITY);
    this.#lines = new Lines(weightOf);
    this.#observer = options.observer;
  }

  get ready(): number {
    this.#promote();
    let count = this.#entries.size - this.#waiting;
    for (const item of this.#running.keys()) {
      const again = this.#entries.get(item);
      if (again && again.readyAt === undefined) count--;
    }
    return count - this.parked;
  }

  get parked(): number {
    if (this.#parked.size === 0) return 0;
    this.#promote();
    let count = 0;
    for (const { item, group, readyAt } of this.#entries.values()) {
      if (group !== undefined && this.#parked.has(group) && readyAt === undefined && !this.#running.has(item)) count++;
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

  depths(): ReadonlyMap<number, number> {
    this.#promote();
    return this.#lines.sizes(this.#passing.isFree);
  }

  runningFor(): readonly number[] {
    const now = this.#now();
    return [...this.#running.values()].map(({ since }) => now - since);
  }

  add(item: T, options: AddOptions = {}): void {
    if (this.#shutdown) return;
    const { after = 0, rateLimited = false } = options;
    const limit = rateLimited ? this.#fail(item, options) : after;
    this.#place(item, options, rateLimited && after > 0 ? Math.min(after, limit) : limit);
  }

  addAfter(item: T, ms: number, options: RequeueOptions = {}): void {
    this.add(item, { ...options, after: ms });
  }

  addRateLimited(item: T, options: RequeueOptions = {}): number {
    if (this.#shutdown) return 0;
    const delay = this.#fail(item, options);
    this.#place(item, options, delay);
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
    const entry = this.#lines.take(this.#passing);
    if (!entry) return undefined;
    const { item, priority, group, readySince } = entry;
    const since = this.#now();
    this.#entries.delete(item);
    this.#running.set(item, { group, since });
    if (group !== undefined) this.#runningOf.set(group, (this.#runningOf.get(group) ?? 0) + 1);
    this.#observer?.taken(since - readySince);
    return { item, priority, ...(group !== undefined && { group }) };
  }

  done(item: T): void {
    const work = this.#running.get(item);
    if (!work) return;
    this.#running.delete(item);
    if (work.group !== undefined) this.#release(work.group);
    this.#observer?.finished(this.#now() - work.since);
    this.#handOut();
  }

  forget(item: T): void {
    this.#failures.delete(item);
  }

  failures(item: T): number {
    return this.#failures.get(item)?.count ?? 0;
  }

  removeGroup(group: string): void {
    for (const entry of [...this.#entries.values()]) {
      if (entry.group !== group) continue;
      this.#entries.delete(entry.item);
      if (entry.readyAt === undefined) this.#lines.leave(entry);
      else this.#waiting--;
      entry.readyAt = undefined; // makes its appointments void
    }
    this.#appointments.retain(({ entry, at }) => entry.readyAt === at);
    for (const [item, failures] of this.#failures) if (failures.group === group) this.#failures.delete(item);
    this.#parked.delete(group);
    this.#setAlarm();
  }

  park(group: string): void {
    if (!this.#shutdown) this.#parked.add(group);
  }

  resume(group: string): void {
    if (!this.#parked.delete(group)) return;
    for (const [item, failures] of this.#failures) {
      if (failures.group !== group) continue;
      this.#failures.delete(item);
      const entry = this.#entries.get(item);
      if (entry) this.#revise(entry, entry.priority, undefined);
    }
    this.#handOut();
  }

  shutdown(): void {
    this.#shutdown = true;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#entries.clear();
    this.#lines.clear();
    this.#failures.clear();
    this.#parked.clear();
    this.#appointments.retain(() => false);
    this.#waiting = 0;
    const getters = this.#getters;
    this.#getters = [];
    for (const resolve of getters) resolve(undefined);
  }

  #now(): number {
    return this.#clock.now().getTime();
  }

  #release(group: string): void {
    const left = (this.#runningOf.get(group) ?? 1) - 1;
    if (left > 0) this.#runningOf.set(group, left);
    else this.#runningOf.delete(group);
  }

  #fail(item: T, { group }: RequeueOptions): number {
    const failures = this.#failures.get(item) ?? { group, count: 0 };
    this.#failures.set(item, failures);
    return backoffDelay(this.#backoff, failures.count++);
  }

  #place(item: T, { priority = Priority.normal, group }: RequeueOptions, after: number): void {
    this.#promote(); // what got ready in the meantime stands before what comes now
    const now = this.#now();
    const readyAt = after > 0 ? now + after : undefined;
    const known = this.#entries.get(item);
    if (after > 0) this.#observer?.delayed();
    if (known) {
      this.#revise(known, priority, readyAt);
    } else {
      this.#observer?.added();
      this.#insert({ item, group, part: this.#partOf(item), priority, readyAt, readySince: now });
    }
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
      if (inLine) this.#lines.leave(entry);
      entry.priority = priority;
      if (inLine) this.#lines.join(entry);
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
    entry.readySince = this.#now();
    this.#lines.join(entry);
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
