/** One controller at work: from its triggers to its reconciles, and what becomes of those that fail. */
import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Backoff, createQueue, Priority, type Queue, type Taken } from "#lib/queue";
import { aborted, sharedAbort } from "./abort.ts";
import { type Failure, failureOf, isTransportFailure } from "./failure.ts";
import { clusterIn, keyFields, removalKey, removedIn } from "./key-fields.ts";
import type { ControllerMeter, RuntimeMetrics } from "./metrics.ts";
import { type Controller, done, type Fillable, type Outcome, type ReconcileContext } from "./types.ts";

/** How a reconcile may end. */
export type ReconcileResult = "success" | "requeue_after" | Failure;

/** One reconcile, told when it has ended. */
export interface ReconcileRecord {
  readonly controller: string;
  readonly reconcileId: string;
  readonly key: string;
  /** The cluster that the key names, if it names one. */
  readonly cluster?: string;
  /** Whether that cluster had left by the end. */
  readonly hasLeft?: boolean;
  readonly result: ReconcileResult;
  readonly error?: unknown;
  /** Milliseconds until the key comes again by itself. */
  readonly retryIn?: number;
  /** Whether the key waits until its cluster answers again. */
  readonly parked?: boolean;
  /** Whether it was called off because it took too long. */
  readonly timedOut?: boolean;
  /** Milliseconds that it took. */
  readonly duration: number;
}

export interface ControllerRunOptions {
  readonly controller: Controller;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backoff?: Backoff;
  readonly observe?: (record: ReconcileRecord) => void;
  readonly metrics?: RuntimeMetrics;
  /** Milliseconds that running reconciles have to end; 30 s unless told, none for 0, any number if negative. */
  readonly grace?: number;
  /** How clusters stand, if there are any. */
  readonly clusters?: ClusterStanding;
}

export interface ClusterStanding {
  /** Whether calls to it do not come through, so that nobody tries any more. */
  isCutOff(cluster: string): boolean;
  isKnown(cluster: string): boolean;
}

const NO_CLUSTERS: ClusterStanding = { isCutOff: () => false, isKnown: () => false };

/** Why reconciles are called off whose cluster has left. */
class ClusterLeft extends Error {
  override readonly name = "ClusterLeft";
}

class DeadlineExceeded extends Error {
  override readonly name = "DeadlineExceeded";
}

/** Ends everything at once: a signal with such a reason leaves running reconciles no time. */
export class AtOnce extends Error {
  override readonly name = "AtOnce";
}

interface Work {
  readonly cluster: string | undefined;
  readonly context: Context;
}

/** What a reconcile is given, and what calls it off. */
interface Context extends ReconcileContext {
  /** Why it was called off. */
  readonly reason: Error | undefined;
  callOff(reason: Error): void;
}

/** Each part is made when it is asked for first: most reconciles need none of them. */
function contextOf(controllerLog: Logger, key: string): Context {
  let [reconcileId, log, abort, reason]: [string?, Logger?, AbortController?, Error?] = [];
  return {
    get reconcileId() {
      reconcileId ??= randomUUID();
      return reconcileId;
    },
    get log() {
      log ??= controllerLog.with({ ...keyFields(key), reconcileID: this.reconcileId });
      return log;
    },
    get signal() {
      abort ??= sharedAbort();
      if (reason) abort.abort(reason);
      return abort.signal;
    },
    get reason() {
      return reason;
    },
    callOff(why) {
      reason ??= why;
      abort?.abort(reason);
    },
  };
}

/** A reconcile that takes longer hangs on something that will not come. */
const RECONCILE_DEADLINE = 5 * 60_000;
/** A reconcile on a cluster that takes longer gives its place to another; where one did, the next does so at once. */
const LENT_AFTER = 50;
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
  readonly #meter: ControllerMeter | undefined;
  readonly #working = new Map<string, Work>();
  readonly #workers = new Set<Promise<void>>();
  readonly #grace: number;
  readonly #concurrency: number;
  readonly #clusters: ClusterStanding;
  /** Clusters on which the last reconcile took so long that its place was lent. */
  readonly #slow = new Set<string>();
  #filled = false;
  #started = false;
  #lastBreath = 0;

  constructor(options: ControllerRunOptions) {
    const { controller, clock, log, backoff, observe = () => {}, metrics, grace = GRACE } = options;
    const concurrency = Math.max(1, controller.concurrency ?? 1);
    this.#controller = controller;
    this.#clock = clock;
    this.#log = log.with({ controller: controller.name });
    this.#observe = observe;
    this.#grace = grace;
    this.#clusters = options.clusters ?? NO_CLUSTERS;
    this.#concurrency = concurrency;
    this.#meter = metrics?.measure({ name: controller.name, concurrency, queue: () => this.#queue });
    this.#queue = createQueue({
      clock,
      // No cluster, however slow it answers, may keep all workers waiting.
      groupLimit: Math.max(1, Math.floor(concurrency / 4)),
      partOf: (key) => keyFields(key).namespace,
      ...(backoff && { backoff }),
      ...(this.#meter && { observer: this.#meter.queue }),
    });
  }

  get name(): string {
    return this.#controller.name;
  }

  /** Whether it works although another process leads. */
  get isUnled(): boolean {
    return this.#controller.isUnled ?? false;
  }

  /** Whether its caches are filled. */
  get filled(): boolean {
    return this.#filled;
  }

  /** Whether nothing can be done now; something may wait for its time. */
  get idle(): boolean {
    return this.#started && this.#queue.ready === 0 && this.#queue.running === 0;
  }

  /**
   * Fills its caches, waits until `mayStart` has resolved, and works until `signal` fires and what was being worked
   * on has ended.
   */
  async run(signal: AbortSignal, mayStart: () => Promise<void> = async () => {}): Promise<void> {
    const { triggers, reads = [] } = this.#controller;
    const caches = new Set([...triggers.flatMap(({ cache }) => cache ?? []), ...reads]);
    // Caches outlive the signal: a reconcile that is finishing still reads them.
    const reading = sharedAbort();
    const subscriptions: (() => void)[] = [];
    try {
      for (const cache of caches) cache.start(reading.signal);
      if (!(await this.#fill(caches, signal))) return;
      this.#filled = true;
      await Promise.race([mayStart(), aborted(signal)]);
      if (signal.aborted) return;
      for (const trigger of triggers) {
        subscriptions.push(trigger.subscribe((key, { initial = false } = {}) => this.#enqueue(key, initial)));
      }
      this.#started = true;
      for (let worker = 0; worker < this.#concurrency; worker++) this.#hire();
      await aborted(signal);
      this.#queue.shutdown();
      await this.#finish(signal);
    } finally {
      this.#queue.shutdown();
      for (const unsubscribe of subscriptions) unsubscribe();
      reading.abort();
    }
  }

  /**
   * Forgets everything about a cluster that has left, and calls off what is being done there. One that has left for
   * good is told to the controller.
   */
  removeCluster(cluster: string, isForGood: boolean): void {
    this.#queue.removeGroup(cluster);
    this.#slow.delete(cluster);
    if (isForGood && this.#controller.clusterRemoved) this.#queue.add(removalKey(cluster));
    for (const work of this.#working.values()) {
      if (work.cluster === cluster) work.context.callOff(new ClusterLeft(`cluster ${cluster} has left`));
    }
  }

  /** A cluster answers again: what waited for that is done now. */
  resumeCluster(cluster: string): void {
    this.#queue.resume(cluster);
  }

  #enqueue(key: string, initial: boolean): void {
    this.#queue.add(key, { priority: initial ? Priority.background : Priority.normal, ...groupOf(clusterIn(key)) });
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

  #hire(): void {
    const worker = this.#work().finally(() => this.#workers.delete(worker));
    this.#workers.add(worker);
  }

  /** Works until the queue is shut down, or until somebody has taken its place. */
  async #work(): Promise<void> {
    for (let taken = await this.#queue.get(); taken; taken = await this.#queue.get()) {
      if (await this.#reconcile(taken)) return;
      await this.#breathe();
    }
  }

  /** Reconciles that read only caches never wait for anything: connections and timers need their turn too. */
  async #breathe(): Promise<void> {
    if (performance.now() - this.#lastBreath < LONGEST_BREATH) return;
    await turn();
    this.#lastBreath = performance.now();
  }

  /** Answers whether it took so long that another worker has taken over. */
  async #reconcile(taken: Taken<string>): Promise<boolean> {
    const { item: key } = taken;
    const cluster = taken.group ?? removedIn(key);
    const context = contextOf(this.#log, key);
    const watch = this.#watchOver(taken, context);
    this.#working.set(key, { cluster: taken.group, context });
    this.#meter?.began();
    const start = this.#clock.now().getTime();
    let end: End;
    try {
      const outcome = await this.#call(key, context);
      end = hasLeft(context) ? { result: "success" } : this.#succeeded(taken, outcome);
    } catch (error) {
      end = hasLeft(context) ? { result: "error", error } : this.#failed(taken, error, context.log);
    } finally {
      watch.end();
      this.#working.delete(key);
    }
    const duration = this.#clock.now().getTime() - start;
    const timedOut = context.reason instanceof DeadlineExceeded;
    this.#queue.done(key);
    this.#told({
      controller: this.name,
      get reconcileId() {
        return context.reconcileId;
      },
      key,
      ...(cluster !== undefined && { cluster }),
      ...((taken.group !== cluster || hasLeft(context)) && { hasLeft: true }),
      duration,
      ...end,
      ...(timedOut && { timedOut }),
    });
    return watch.isLent;
  }

  async #call(key: string, context: ReconcileContext): Promise<Outcome> {
    const removed = removedIn(key);
    if (removed === undefined) return this.#controller.reconcile(key, context);
    if (this.#clusters.isKnown(removed)) return done;
    return this.#controller.clusterRemoved?.(removed, context) ?? done;
  }

  /** Lends the place of a reconcile that waits for its cluster, and calls it off when it takes too long. */
  #watchOver({ group }: Taken<string>, context: Context): { end(): void; readonly isLent: boolean } {
    const { deadline = RECONCILE_DEADLINE } = this.#controller;
    const callOff = () => {
      context.log.warn("reconcile takes too long and is called off");
      context.callOff(new DeadlineExceeded(`the reconcile took longer than ${deadline / 1000} s`));
    };
    let [isLent, isLate] = [false, false];
    const lend = () => {
      if (!isLent) this.#hire();
      isLent = true;
    };
    const mayLend = group !== undefined && deadline > LENT_AFTER;
    if (mayLend && this.#slow.has(group)) lend();
    let cancel = this.#clock.after(mayLend ? LENT_AFTER : deadline, () => {
      isLate = true;
      if (!mayLend) return callOff();
      this.#slow.add(group);
      lend();
      cancel = this.#clock.after(deadline - LENT_AFTER, callOff);
    });
    return {
      end: () => {
        cancel();
        if (group !== undefined && !isLate) this.#slow.delete(group);
      },
      get isLent() {
        return isLent;
      },
    };
  }

  #told(record: ReconcileRecord): void {
    this.#meter?.ended(record);
    this.#observe(record);
  }

  #succeeded({ item: key, ...kept }: Taken<string>, { after }: Outcome): End {
    if (after === undefined) {
      this.#queue.forget(key);
      return { result: "success" };
    }
    if (!Number.isFinite(after)) throw new RangeError(`a reconcile cannot come again after ${after} ms`);
    this.#queue.forget(key);
    const retryIn = Math.max(0, after);
    this.#queue.addAfter(key, retryIn, kept);
    return { result: "requeue_after", retryIn };
  }

  #failed({ item: key, ...kept }: Taken<string>, error: unknown, log: Logger): End {
    const { group } = kept;
    if (group !== undefined && this.#clusters.isCutOff(group) && isTransportFailure(error)) {
      this.#queue.park(group);
      this.#queue.add(key, kept);
      log.debug("the cluster does not answer; the key waits until it does", { error });
      return { result: "error", error, parked: true };
    }
    const result = failureOf(error);
    if (result === "terminal") {
      this.#queue.forget(key);
      log.error("cannot be done until somebody changes something", { error });
      return { result, error };
    }
    const retryIn = this.#queue.addRateLimited(key, kept);
    if (result === "conflict") log.debug("somebody else wrote first", { error, retryIn });
    else log.error("reconcile failed", { error, retryIn });
    return { result, error, retryIn };
  }

  /** Lets what is running end by itself, and calls it off when it takes too long. */
  async #finish(signal: AbortSignal): Promise<void> {
    const grace = signal.reason instanceof AtOnce ? 0 : this.#grace;
    if (grace === 0) return this.#callOff();
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      if (grace < 0) return;
      cancel = this.#clock.after(grace, () => {
        this.#callOff();
        resolve();
      });
    });
    await Promise.race([Promise.all(this.#workers), late]);
    cancel();
  }

  #callOff(): void {
    if (this.#working.size === 0) return;
    this.#log.warn("stopping although reconciles are still running", { keys: [...this.#working.keys()] });
    for (const { context } of this.#working.values()) context.callOff(new Error("the controller is stopping"));
  }
}

/** How a reconcile ended, before it is told. */
type End = Pick<ReconcileRecord, "result" | "error" | "retryIn" | "parked">;

function hasLeft({ reason }: Context): boolean {
  return reason instanceof ClusterLeft;
}

function groupOf(cluster: string | undefined): { group?: string } {
  return cluster === undefined ? {} : { group: cluster };
}
