/**
 * One of several candidates leads: who holds a Lease and keeps renewing it. The record is the one that Go programs
 * write, so candidates of both kinds can share a Lease.
 *
 * Times of other machines are never believed: a Lease has run out when it was not seen to change for as long as its
 * holder said, counted by a timer here. For the same reason a holder counts from the moment at which it sent its
 * last renewal, and stops leading when the next one has not come through well before others may take over.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Lease } from "#api/coordination";
import { type Client, isAlreadyExists, isConflict, isForbidden, isNotFound } from "#kube";
import { type Clock, microTimestamp } from "#lib/clock";
import { equal } from "#lib/json";
import type { Logger } from "#lib/log";
import { aborted, pause, sharedAbort } from "./abort.ts";
import type { EventRecorder } from "./events.ts";

export interface ElectionOptions {
  readonly client: Client;
  /** Candidates for the same Lease compete. */
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly clock: Clock;
  readonly log: Logger;
  /** Who we are; different for every process. `<hostname>_<uuid>` unless told. */
  readonly identity?: string;
  readonly timing?: Partial<ElectionTiming>;
  /** Whether to give the Lease up when the work has ended, so that others need not wait; we do unless told. */
  readonly release?: boolean;
  /** Tells of changes of leadership in Events about the Lease. */
  readonly recorder?: EventRecorder;
  /** Hears when we begin and cease to lead. */
  readonly onChange?: (leading: boolean) => void;
  /** From 0 up to 1, for the pauses between attempts. */
  readonly random?: () => number;
}

/** Milliseconds. */
export interface ElectionTiming {
  /** Others take over when the Lease was not renewed for so long. Whole seconds, for so it is written. */
  readonly duration: number;
  /** The holder stops leading when it could not renew for so long. */
  readonly renewDeadline: number;
  /** Between two renewals, and at least between two attempts to become leader. */
  readonly retry: number;
}

/** What Go programs use unless told otherwise. */
export const DEFAULT_TIMING: ElectionTiming = { duration: 15_000, renewDeadline: 10_000, retry: 2_000 };

/** Attempts are up to so much of a retry apart in addition, so that candidates do not march in step. */
const JITTER = 1.2;
const RELEASE_ATTEMPTS = 3;
/** A server ends a watch after so long, and it is opened again. */
const WATCH = { timeoutSeconds: 300 };

/** Leadership ended although the work had not. The program should end too: it may still hold plans of a leader. */
export class LeadershipLost extends Error {
  override readonly name = "LeadershipLost";
}

export interface Election {
  /**
   * Waits until we lead, then does the work. `leading` fires, with `LeadershipLost` as its reason, when we cease to
   * lead before the work has ended; then `run` throws that at once, without waiting for the work. Until the work has
   * ended the Lease is renewed even if `signal` has fired, so winding down is still protected. If `signal` fires
   * before we lead, the work is never begun.
   */
  run(signal: AbortSignal, work: (leading: AbortSignal) => Promise<void>): Promise<void>;
  readonly identity: string;
  readonly isLeader: boolean;
  /** Who was last seen to lead. */
  readonly leader: string | undefined;
}

export function createElection(options: ElectionOptions): Election {
  return new LeaseElection(options);
}

type Spec = NonNullable<Lease["spec"]>;

interface Observation {
  readonly lease: Lease;
  readonly expired: boolean;
}

class LeaseElection implements Election {
  readonly identity: string;
  readonly #options: ElectionOptions;
  readonly #timing: ElectionTiming;
  readonly #random: () => number;
  readonly #log: Logger;
  #observed: Observation | undefined;
  #stopExpiry = () => {};
  /** Cuts the pause between attempts short. */
  #wake = () => {};
  #isLeader = false;

  constructor(options: ElectionOptions) {
    const { identity = `${hostname()}_${randomUUID()}`, timing, random = Math.random, lease, log } = options;
    this.identity = identity;
    this.#options = options;
    this.#timing = checked({ ...DEFAULT_TIMING, ...timing });
    this.#random = random;
    this.#log = log.with({ component: "leader-election", lease: `${lease.namespace}/${lease.name}` });
  }

  get isLeader(): boolean {
    return this.#isLeader;
  }

  get leader(): string | undefined {
    return this.#observed?.lease.spec?.holderIdentity || undefined;
  }

  async run(signal: AbortSignal, work: (leading: AbortSignal) => Promise<void>): Promise<void> {
    const leading = sharedAbort();
    const over = sharedAbort();
    const deadline = new Deadline(this.#options.clock, this.#timing.renewDeadline, () => this.#lose(leading));
    try {
      if (!(await this.#acquire(signal, deadline))) return;
      this.#began();
      const ended = work(leading.signal).finally(() => over.abort());
      const lost = aborted(leading.signal).then(() => Promise.reject(leading.signal.reason));
      const renewed = this.#keepRenewing(deadline, leading, AbortSignal.any([over.signal, leading.signal]));
      lost.catch(() => {}); // whoever loses the race has nobody to listen to it
      ended.catch(() => {});
      try {
        await Promise.race([ended, lost]);
      } finally {
        over.abort();
        if (this.#isLeader) await renewed.then(() => this.#release());
      }
    } finally {
      deadline.cancel();
      this.#stopExpiry();
      this.#ceased();
    }
  }

  /** Tries until it succeeds; false when `signal` fires first. */
  async #acquire(signal: AbortSignal, deadline: Deadline): Promise<boolean> {
    this.#log.info("waiting to become leader", { identity: this.identity });
    const following = new AbortController();
    try {
      this.#follow(AbortSignal.any([signal, following.signal]));
      while (!signal.aborted) {
        if (await this.#attempt(signal, deadline)) return true;
        await this.#pauseUntilWorthwhile(signal);
      }
      return false;
    } finally {
      following.abort();
    }
  }

  /**
   * Hears of renewals when they happen. By asking now and then alone, the last one of a holder that died would be
   * seen late, and its Lease would seem to last longer. Who may not watch has to ask.
   */
  async #follow(signal: AbortSignal): Promise<void> {
    const { client, clock, lease } = this.#options;
    const scope = { namespace: lease.namespace, fieldSelector: `metadata.name=${lease.name}` };
    while (!signal.aborted) {
      try {
        for await (const { type, object } of await client.watch(Lease, { ...scope, ...WATCH, signal })) {
          if (signal.aborted) return;
          if (type === "ADDED" || type === "MODIFIED") this.#observe(object);
          if (type === "DELETED") this.#wake();
        }
      } catch (error) {
        if (isForbidden(error)) return;
        if (!signal.aborted) this.#log.debug("the lease cannot be watched now", { error });
      }
      await pause(clock, this.#timing.retry, signal);
    }
  }

  async #pauseUntilWorthwhile(signal: AbortSignal): Promise<void> {
    const { retry } = this.#timing;
    const awake = new AbortController();
    this.#wake = () => awake.abort();
    await pause(this.#options.clock, retry * (1 + JITTER * this.#random()), AbortSignal.any([signal, awake.signal]));
    this.#wake = () => {};
  }

  async #keepRenewing(deadline: Deadline, leading: AbortController, end: AbortSignal): Promise<void> {
    for (;;) {
      await pause(this.#options.clock, this.#timing.retry, end);
      if (end.aborted) return;
      const renewed = await this.#attempt(end, deadline);
      const holder = this.leader;
      if (!renewed && !end.aborted && holder !== undefined && holder !== this.identity) this.#lose(leading);
    }
  }

  /** One try to become or stay leader. Nothing is thrown: what failed is tried again. */
  async #attempt(signal: AbortSignal, deadline: Deadline): Promise<boolean> {
    const sent = deadline.begin();
    try {
      return (await this.#hold(signal)) && sent.extend();
    } catch (error) {
      const rival = isConflict(error) || isAlreadyExists(error);
      if (!signal.aborted) this.#log[rival ? "debug" : "warn"]("the lease could not be written", { error });
      return false;
    } finally {
      sent.forget();
    }
  }

  async #hold(signal: AbortSignal): Promise<boolean> {
    if (this.#isLeader && (await this.#renewUnread(signal))) return true;
    const lease = await this.#read(signal);
    if (!lease) {
      this.#observe(await this.#create(signal));
      return true;
    }
    this.#observe(lease);
    const { holderIdentity: holder } = lease.spec ?? {};
    if (holder && holder !== this.identity && !this.#observed?.expired) return false;
    await this.#update(lease, this.#claim(lease), signal);
    return true;
  }

  /** Nobody else should have written since: one request does. If somebody has, we have to look. */
  async #renewUnread(signal: AbortSignal): Promise<boolean> {
    const known = this.#observed?.lease;
    if (known?.spec?.holderIdentity !== this.identity) return false;
    try {
      await this.#update(known, this.#claim(known), signal);
      return true;
    } catch (error) {
      if (signal.aborted) throw error;
      return false;
    }
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, lease } = this.#options;
    try {
      return await client.get(Lease, `${lease.namespace}/${lease.name}`, this.#call(signal));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #create(signal: AbortSignal): Promise<Lease> {
    const { client, lease } = this.#options;
    return client.create(Lease, { metadata: { ...lease }, spec: this.#claim(undefined) }, this.#call(signal));
  }

  async #update(lease: Lease, spec: Spec, signal?: AbortSignal): Promise<void> {
    this.#observe(await this.#options.client.update(Lease, { ...lease, spec }, this.#call(signal)));
  }

  /** The record that says that we hold the Lease. */
  #claim(lease: Lease | undefined): Spec {
    const now = microTimestamp(this.#options.clock.now());
    const { holderIdentity, acquireTime = now, leaseTransitions = 0, ...rest } = lease?.spec ?? {};
    const isOurs = holderIdentity === this.identity;
    return {
      ...rest,
      holderIdentity: this.identity,
      leaseDurationSeconds: this.#timing.duration / 1000,
      acquireTime: isOurs ? acquireTime : now,
      renewTime: now,
      leaseTransitions: lease && !isOurs ? leaseTransitions + 1 : leaseTransitions,
    };
  }

  /** A request that hangs must leave time for another. */
  #call(signal: AbortSignal | undefined): { timeout: number; signal?: AbortSignal } {
    return { timeout: Math.max(1_000, this.#timing.renewDeadline / 2), ...(signal && { signal }) };
  }

  /** Remembers the record. If it changed, its holder lives, and has its time again from now on. */
  #observe(lease: Lease): void {
    const before = this.#observed;
    if (before && equal(before.lease.spec, lease.spec)) {
      this.#observed = { lease, expired: before.expired };
      return;
    }
    this.#observed = { lease, expired: false };
    this.#stopExpiry();
    const { leaseDurationSeconds: seconds = this.#timing.duration / 1000 } = lease.spec ?? {};
    this.#stopExpiry = this.#options.clock.after(seconds * 1000, () => {
      if (this.#observed) this.#observed = { ...this.#observed, expired: true };
      this.#wake();
    });
    if (!lease.spec?.holderIdentity) this.#wake();
    const [was, is] = [before?.lease.spec?.holderIdentity, lease.spec?.holderIdentity];
    if (is && is !== was && is !== this.identity) this.#log.info("somebody else leads", { leader: is });
  }

  #began(): void {
    this.#isLeader = true;
    this.#log.info("became leader", { identity: this.identity });
    this.#tell("became leader");
    this.#options.onChange?.(true);
  }

  #ceased(): void {
    if (!this.#isLeader) return;
    this.#isLeader = false;
    this.#log.info("stopped leading", { identity: this.identity });
    this.#tell("stopped leading");
    this.#options.onChange?.(false);
  }

  #lose(leading: AbortController): void {
    if (!this.#isLeader) return;
    this.#ceased();
    leading.abort(new LeadershipLost("leader election lost"));
  }

  #tell(what: string): void {
    const lease = this.#observed?.lease;
    if (!lease) return;
    const note = `${this.identity} ${what}`;
    this.#options.recorder?.tell(lease, { reason: "LeaderElection", action: "LeaderElection", note });
  }

  /** Lets others have it at once. That it fails is no harm: they wait until it has run out. */
  async #release(): Promise<void> {
    if (this.#options.release === false) return;
    let lease = this.#observed?.lease;
    for (let attempt = 0; attempt < RELEASE_ATTEMPTS && lease?.spec?.holderIdentity === this.identity; attempt++) {
      const now = microTimestamp(this.#options.clock.now());
      const free = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
      try {
        return await this.#update(lease, { ...lease.spec, ...free });
      } catch (error) {
        this.#log.debug("the lease could not be released", { error });
        lease = isConflict(error) ? await this.#read(sharedAbort().signal).catch(() => undefined) : undefined;
      }
    }
  }
}

/** Fires when no attempt was begun within the time that then succeeded. */
class Deadline {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #missed: () => void;
  #cancel = () => {};

  constructor(clock: Clock, ms: number, missed: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#missed = missed;
  }

  /** An attempt begins. If it succeeds, the time runs from here, unless it is over already. */
  begin(): { extend(): boolean; forget(): void } {
    let isOver = false;
    let isCurrent = false;
    const cancel = this.#clock.after(this.#ms, () => {
      isOver = true;
      if (isCurrent) this.#missed();
    });
    return {
      extend: () => {
        if (isOver) return false;
        this.#cancel();
        this.#cancel = cancel;
        isCurrent = true;
        return true;
      },
      forget: () => {
        if (!isCurrent) cancel();
      },
    };
  }

  cancel(): void {
    this.#cancel();
  }
}

function checked(timing: ElectionTiming): ElectionTiming {
  const { duration, renewDeadline, retry } = timing;
  if (duration % 1000 !== 0) throw new RangeError(`a lease of ${duration} ms is not one of whole seconds`);
  if (!(duration > renewDeadline)) throw new RangeError("a lease must outlast the deadline for its renewal");
  if (!(renewDeadline > JITTER * retry)) throw new RangeError("the deadline for a renewal must outlast a retry");
  return timing;
}
