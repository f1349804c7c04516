import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Backoff, createQueue, Priority, type Queue, type Taken } from "#lib/queue";
import { aborted, sharedAbort } from "./abort.ts";
import { type Failure, failureOf } from "./failure.ts";
import type { Controller, Fillable, Outcome } from "./types.ts";

/** How a reconcile may end. */
export type ReconcileResult = "success" | "requeue_after" | Failure;

/** One reconcile, told when it has ended. */
export interface ReconcileRecord {
  readonly controller: string;
  readonly key: string;
  readonly result: ReconcileResult;
  readonly error?: unknown;
  /** Milliseconds until the key comes again by itself. */
  readonly retryIn?: number;
  /** Milliseconds that it took. */
  readonly duration: number;
}

export interface ControllerRunOptions {
  readonly controller: Controller;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backoff?: Backoff;
  readonly observe?: (record: ReconcileRecord) => void;
}

/** A reconcile that takes longer hangs on something that will not come. */
const RECONCILE_DEADLINE = 5 * 60_000;
/** How long running reconciles may take to end when everything ends; kubelets kill after 30 s too. */
const GRACE = 30_000;
/** Milliseconds of work between two turns of the event loop. */
const LONGEST_BREATH = 10;
/** How often it is said that a cache is still empty. */
const PATIENCE = 30_000;

/** One controller at work: its queue and those who work it off. */
export class ControllerRun {
  readonly #controller: Controller;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #observe: (record: ReconcileRecord) => void;
  readonly #queue: Queue<string>;
  readonly #working = new Map<string, AbortController>();
  #filled = false;
  #lastBreath = 0;

  constructor({ controller, clock, log, backoff, observe = () => {} }: ControllerRunOptions) {
    this.#controller = controller;
    this.#clock = clock;
    this.#log = log.with({ component: controller.name });
    this.#observe = observe;
    this.#queue = createQueue({ clock, ...(backoff && { backoff }) });
  }

  get name(): string {
    return this.#controller.name;
  }

  /** Whether its caches are filled. */
  get filled(): boolean {
    return this.#filled;
  }

  /** Whether nothing can be done now; something may wait for its time. */
  get idle(): boolean {
    return this.#filled && this.#queue.ready === 0 && this.#queue.running === 0;
  }

  /** Works until `signal` fires and what was being worked on has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { triggers, reads = [], concurrency = 1 } = this.#controller;
    const caches = new Set([...triggers.flatMap(({ cache }) => cache ?? []), ...reads]);
    // Caches outlive the signal: a reconcile that is finishing still reads them.
    const reading = sharedAbort();
    const subscriptions: (() => void)[] = [];
    try {
      for (const cache of caches) cache.start(reading.signal);
      if (!(await this.#fill(caches, signal))) return;
      for (const trigger of triggers) {
        subscriptions.push(
          trigger.subscribe((key, { initial = false } = {}) =>
            this.#queue.add(key, { priority: initial ? Priority.background : Priority.normal }),
          ),
        );
      }
      this.#filled = true;
      const workers = Promise.all(Array.from({ length: Math.max(1, concurrency) }, () => this.#work()));
      await aborted(signal);
      this.#queue.shutdown();
      await this.#finish(workers);
    } finally {
      this.#queue.shutdown();
      for (const unsubscribe of subscriptions) unsubscribe();
      reading.abort();
    }
  }

  /** Waits until all caches are filled; false when `signal` fires first. */
  async #fill(caches: ReadonlySet<Fillable>, signal: AbortSignal): Promise<boolean> {
    let cancel = () => {};
    const complain = () => {
      this.#log.warn("still waiting for caches to fill");
      cancel = this.#clock.after(PATIENCE, complain);
    };
    cancel = this.#clock.after(PATIENCE, complain);
    try {
      await Promise.race([Promise.all([...caches].map((cache) => cache.whenSynced())), aborted(signal)]);
    } finally {
      cancel();
    }
    return !signal.aborted;
  }

  async #work(): Promise<void> {
    for (let taken = await this.#queue.get(); taken; taken = await this.#queue.get()) {
      await this.#reconcile(taken);
      await this.#breathe();
    }
  }

  /** Reconciles that read only caches never wait for anything: connections and timers need their turn too. */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#lastBreath < LONGEST_BREATH) return;
    await turn();
    this.#lastBreath = performance.now();
  }

  async #reconcile({ item: key, priority }: Taken<string>): Promise<void> {
    const abort = sharedAbort();
    const cancel = this.#clock.after(RECONCILE_DEADLINE, () => {
      this.#log.warn("reconcile takes too long and is called off", { key });
      abort.abort(new Error(`the reconcile took longer than ${RECONCILE_DEADLINE / 1000} s`));
    });
    this.#working.set(key, abort);
    const start = this.#clock.now().getTime();
    let end: Omit<ReconcileRecord, "controller" | "key" | "duration">;
    try {
      const outcome = await this.#controller.reconcile(key, { signal: abort.signal, log: this.#log.with({ key }) });
      end = this.#succeeded(key, priority, outcome);
    } catch (error) {
      end = this.#failed(key, priority, error);
    } finally {
      cancel();
      this.#working.delete(key);
    }
    const duration = this.#clock.now().getTime() - start;
    this.#queue.done(key);
    this.#observe({ controller: this.name, key, duration, ...end });
  }

  #succeeded(key: string, priority: number, { after }: Outcome): { result: ReconcileResult; retryIn?: number } {
    if (after === undefined) {
      this.#queue.forget(key);
      return { result: "success" };
    }
    if (!Number.isFinite(after)) throw new RangeError(`a reconcile cannot come again after ${after} ms`);
    this.#queue.forget(key);
    const retryIn = Math.max(0, after);
    this.#queue.addAfter(key, retryIn, { priority });
    return { result: "requeue_after", retryIn };
  }

  #failed(key: string, priority: number, error: unknown): { result: Failure; error: unknown; retryIn?: number } {
    const result = failureOf(error);
    if (result === "terminal") {
      this.#queue.forget(key);
      this.#log.error("cannot be done until somebody changes something", { key, error });
      return { result, error };
    }
    const retryIn = this.#queue.addRateLimited(key, { priority });
    if (result === "conflict") this.#log.debug("somebody else wrote first", { key, error, retryIn });
    else this.#log.error("reconcile failed", { key, error, retryIn });
    return { result, error, retryIn };
  }

  /** Lets what is running end by itself, and calls it off when it takes too long. */
  async #finish(workers: Promise<unknown>): Promise<void> {
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#clock.after(GRACE, () => {
        this.#log.warn("stopping although reconciles are still running", { keys: [...this.#working.keys()] });
        for (const abort of this.#working.values()) abort.abort(new Error("the controller is stopping"));
        resolve();
      });
    });
    await Promise.race([workers, late]);
    cancel();
  }
}
