import type { Clock } from "#lib/clock";
import { messageOf, StoreError } from "./errors.ts";
import type { Journal } from "./journal.ts";
import { Listeners } from "./listeners.ts";
import { lineOf } from "./record.ts";
import { eventOf, type State } from "./state.ts";
import type { Interest, ListResult, ListScope, Store, Stored, StoreEvent } from "./types.ts";

/** A batch is closed at about this many bytes, so that one flush stays a short piece of work. */
const LARGEST_BATCH = 4 * 1024 * 1024;

interface Waiter {
  readonly answer: Stored | undefined;
  readonly resolve: (answer: Stored | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** A write that was decided and is not durable yet. */
interface Pending {
  readonly event: StoreEvent;
  readonly line: Buffer;
  readonly waiters: Waiter[];
}

export interface LiveStoreOptions {
  readonly name: string;
  readonly state: State;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  /** Called at the very end. */
  readonly release: () => Promise<void>;
}

/**
 * The way of a write: decided at once against the head, put into the batch, written with all that came meanwhile,
 * and only then part of the state that everybody reads.
 */
export class LiveStore implements Store {
  readonly #name: string;
  readonly #state: State;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #release: () => Promise<void>;
  readonly #listeners: Listeners;
  readonly #revisionListeners = new Set<(revision: number) => void>();
  readonly #warn: (message: string) => void;
  /** The last write of each object that is on its way, by resource and key. */
  readonly #head = new Map<string, Map<string, Pending>>();
  #waiting: Pending[] = [];
  /** The last revision given out. A failed write's revision is not given out again: `head` has shown it. */
  #assigned: number;
  #flushing: Promise<void> | undefined;
  #isDeciding = false;
  #closing: Promise<void> | undefined;

  constructor({ name, state, journal, clock, warn, release }: LiveStoreOptions) {
    this.#name = name;
    this.#state = state;
    this.#journal = journal;
    this.#clock = clock;
    this.#warn = warn;
    this.#release = release;
    this.#assigned = state.revision;
    this.#listeners = new Listeners((error) => warn(`${name}: a watcher failed: ${messageOf(error)}`));
  }

  get revision(): number {
    return this.#state.revision;
  }

  get oldest(): number {
    return this.#state.history.oldest;
  }

  get(resource: string, key: string): Stored | undefined {
    return this.#state.get(resource, key);
  }

  head(resource: string, key: string): Stored | undefined {
    const pending = this.#head.get(resource)?.get(key);
    return pending ? outcomeOf(pending) : this.#state.get(resource, key);
  }

  list(resource: string, options?: ListScope): ListResult {
    return this.#state.list(resource, options);
  }

  resources(): string[] {
    return this.#state.resources();
  }

  write(
    resource: string,
    key: string,
    decide: (current: Stored | undefined) => Stored | undefined,
  ): Promise<Stored | undefined> {
    try {
      return this.#stage(resource, key, decide);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  watch(resource: string, since: number, onEvent: (event: StoreEvent) => void, interest?: Interest): () => void {
    const missed = this.#state.history.since(resource, since);
    return this.#listeners.watch(resource, { cursor: since, missed, onEvent, interest });
  }

  subscribe(onEvent: (event: StoreEvent) => void): () => void {
    return this.#listeners.subscribe(this.revision, onEvent);
  }

  onRevision(listener: (revision: number) => void): () => void {
    const own = (revision: number) => listener(revision); // the same function may listen twice
    this.#revisionListeners.add(own);
    return () => {
      this.#revisionListeners.delete(own);
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    try {
      await this.#flushing;
      await this.#journal.close();
    } finally {
      this.#state.history.close();
      await this.#release();
    }
  }

  #stage(
    resource: string,
    key: string,
    decide: (current: Stored | undefined) => Stored | undefined,
  ): Promise<Stored | undefined> {
    if (this.#closing) throw new StoreError(`${this.#name} is closed`);
    if (this.#isDeciding) throw new StoreError(`${resource} ${key}: a write may not be made while another is decided`);
    const before = this.#head.get(resource)?.get(key);
    const current = before ? outcomeOf(before) : this.#state.get(resource, key);
    let next: Stored | undefined;
    this.#isDeciding = true;
    try {
      next = decide(current);
    } finally {
      this.#isDeciding = false;
    }
    if (next === current) return before ? answerWith(before, current) : Promise.resolve(current);

    const event = eventOf(resource, key, this.#assigned + 1, current, next);
    const pending = { event, line: lineOf(event), waiters: [] };
    this.#assigned = event.revision;
    let ofResource = this.#head.get(resource);
    if (!ofResource) {
      ofResource = new Map();
      this.#head.set(resource, ofResource);
    }
    ofResource.set(key, pending);
    this.#waiting.push(pending);
    this.#flushing ??= this.#flush();
    return answerWith(pending, event.object);
  }

  /** One batch after the other as long as there is something to write. Never rejects. */
  async #flush(): Promise<void> {
    await this.#journal.gathered();
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      const at = this.#clock.now().getTime();
      const to = batch.at(-1)?.event.revision ?? this.revision;
      try {
        const lines = batch.map(({ line }) => line);
        await this.#journal.append({ after: this.revision, to, at }, lines);
      } catch (error) {
        this.#rollBack(batch, error);
        continue;
      }
      this.#commit(batch, at);
      if (this.#journal.isSnapshotDue) await this.#journal.beginSnapshot(this.revision, this.#state.capture());
    }
    this.#flushing = undefined;
  }

  #nextBatch(): Pending[] {
    let size = 0;
    let count = 0;
    for (const { line } of this.#waiting) {
      size += line.length;
      if (count > 0 && size > LARGEST_BATCH) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  #commit(batch: readonly Pending[], at: number): void {
    for (const pending of batch) {
      const { resource, key } = pending.event;
      this.#state.commit(pending.event, at);
      const ofResource = this.#head.get(resource);
      if (ofResource?.get(key) === pending) ofResource.delete(key);
    }
    for (const { event } of batch) this.#listeners.dispatch(event);
    for (const listener of this.#revisionListeners) this.#tellRevision(listener);
    for (const { waiters } of batch) for (const { resolve, answer } of waiters) resolve(answer);
  }

  #tellRevision(listener: (revision: number) => void): void {
    try {
      listener(this.revision);
    } catch (error) {
      this.#warn(`${this.#name}: a listener failed: ${messageOf(error)}`);
    }
  }

  /**
   * Takes back everything that is on its way: what waits behind the batch was decided by writers who saw it, in the
   * same object or in another.
   */
  #rollBack(batch: readonly Pending[], error: unknown): void {
    const failed = [...batch, ...this.#waiting];
    this.#waiting = [];
    this.#head.clear();
    for (const { waiters } of failed) for (const { reject } of waiters) reject(error);
  }
}

/** What the object is after the write. */
function outcomeOf({ event }: Pending): Stored | undefined {
  return event.type === "DELETED" ? undefined : event.object;
}

function answerWith(pending: Pending, answer: Stored | undefined): Promise<Stored | undefined> {
  return new Promise((resolve, reject) => {
    pending.waiters.push({ answer, resolve, reject });
  });
}
