/** The newest known state of every object of a kind, kept by a reflector. */
import type { Key, Kind, KubeObject } from "#api/meta";
import { type Clock, systemClock } from "#lib/clock";
import { Breath } from "../breath.ts";
import type { Client } from "../types.ts";
import { Reflector, type ReflectorState, type Scope } from "./reflector.ts";
import { type Change, type IndexValue, type ObjectIndex, Store } from "./store.ts";

/** Told of an object that came (no `before`), changed, or went (no `after`). */
export type ChangeListener<T> = (before: T | undefined, after: T | undefined, initial: boolean) => void;

export interface ObjectCache<T extends KubeObject> {
  readonly kind: Kind<T>;
  readonly scope: Scope;
  get(key: Key<T>): T | undefined;
  list(): T[];
  readonly size: number;
  /** Whether everything that existed at the start is in, and the listeners know of it. */
  readonly synced: boolean;
  whenSynced(): Promise<void>;
  /** Fills and follows for as long as any of the signals it was started with is quiet. */
  start(signal: AbortSignal): void;
  indexBy(value: IndexValue<T>): ObjectIndex<T>;
  /**
   * Runs after every change, in the order of changes. A listener that comes late is told at once of everything
   * there is, as initial. The answer removes it.
   */
  onChange(listener: ChangeListener<T>): () => void;
  readonly state: ReflectorState;
  readonly lastError: Error | undefined;
}

export interface CacheOptions<T extends KubeObject> {
  client: Pick<Client, "list" | "watch" | "server">;
  kind: Kind<T>;
  scope?: Scope;
  clock?: Clock;
  /** In [0, 1); spreads the ends of watches and the pauses after failures. */
  random?: () => number;
  log?: (message: string) => void;
}

/** A cache that fills once it is started. Its objects are shared: copy before changing. */
export function createCache<T extends KubeObject>(options: CacheOptions<T>): ObjectCache<T> {
  return new ReflectedCache(options);
}

class ReflectedCache<T extends KubeObject> implements ObjectCache<T> {
  readonly kind: Kind<T>;
  readonly scope: Scope;
  readonly #store = new Store<T>();
  readonly #listeners = new Set<ChangeListener<T>>();
  readonly #reflector: Reflector<T>;
  readonly #log: (message: string) => void;
  readonly #filled: Promise<void>;
  #markFilled: () => void = () => {};
  #synced = false;
  #users = 0;
  #run: { controller: AbortController; ended: Promise<void> } | undefined;

  constructor({
    client,
    kind,
    scope = {},
    clock = systemClock,
    random = Math.random,
    log = () => {},
  }: CacheOptions<T>) {
    this.kind = kind;
    this.scope = scope;
    this.#log = (message) => log(`${kind.plural} on ${client.server}: ${message}`);
    this.#filled = new Promise((resolve) => {
      this.#markFilled = resolve;
    });
    const sink = {
      replace: (objects: Map<string, T>) => this.#replace(objects),
      put: (object: T) => this.#tell(this.#store.put(object)),
      remove: (object: T) => this.#tell(this.#store.remove(object)),
    };
    this.#reflector = new Reflector({ client, kind, scope, sink, clock, random, log: this.#log });
  }

  get(key: Key<T>): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return this.#store.list();
  }

  get size(): number {
    return this.#store.size;
  }

  get synced(): boolean {
    return this.#synced;
  }

  get state(): ReflectorState {
    return this.#reflector.state;
  }

  get lastError(): Error | undefined {
    return this.#reflector.lastError;
  }

  whenSynced(): Promise<void> {
    return this.#filled;
  }

  start(signal: AbortSignal): void {
    if (signal.aborted) return;
    if (this.#users++ === 0) this.#begin();
    signal.addEventListener("abort", () => --this.#users === 0 && this.#run?.controller.abort(), { once: true });
  }

  indexBy(value: IndexValue<T>): ObjectIndex<T> {
    return this.#store.indexBy(value);
  }

  onChange(listener: ChangeListener<T>): () => void {
    // A function that listens twice is two listeners, each removed by itself.
    const own: ChangeListener<T> = (before, after, initial) => listener(before, after, initial);
    this.#listeners.add(own);
    for (const object of this.#store.list()) this.#call(own, { before: undefined, after: object }, true);
    return () => {
      this.#listeners.delete(own);
    };
  }

  /** A run that was called off may still be ending; the next one waits for it, so that there is only one. */
  #begin(): void {
    const controller = new AbortController();
    const before = this.#run?.ended ?? Promise.resolve();
    this.#run = { controller, ended: before.then(() => this.#reflector.run(controller.signal)) };
  }

  async #replace(objects: Map<string, T>): Promise<void> {
    const initial = !this.#synced;
    const breath = new Breath();
    for (const change of this.#store.replace(objects)) {
      this.#tell(change, initial);
      if (breath.due) await breath.pause();
    }
    this.#synced = true;
    this.#markFilled();
  }

  #tell(change: Change<T> | undefined, initial = false): void {
    if (change) for (const listener of this.#listeners) this.#call(listener, change, initial);
  }

  /** One listener that fails keeps nothing from the others. */
  #call(listener: ChangeListener<T>, { before, after }: Change<T>, initial: boolean): void {
    try {
      listener(before, after, initial);
    } catch (error) {
      this.#log(`a listener failed: ${(error as Error).stack ?? String(error)}`);
    }
  }
}
