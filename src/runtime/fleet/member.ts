/**
 * One cluster of the fleet, from the first offer to its removal. It connects, looks after its health and follows
 * new offers by itself and on its own time, so that no other cluster waits for it.
 */
import type { ClientMetrics, KubeError } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Backoff, backoffDelay } from "#lib/queue";
import { pause, sharedAbort } from "../abort.ts";
import type { Cluster } from "../types.ts";
import { Circuit } from "./circuit.ts";
import { within } from "./deadline.ts";
import { askWhetherReady, identityOf, isFollowing, problemOf } from "./examination.ts";
import { type MemberCluster, memberCluster, unfilledOf } from "./member-cluster.ts";
import { sourceOf } from "./relayed-credentials.ts";
import { type Line, openLine, type ReplaceableClient, replaceableClient, targetOf } from "./replaceable-client.ts";
import {
  FleetReason,
  isUnreachable,
  type MemberState,
  type MemberStatus,
  type Offer,
  type UnfilledCopy,
  type Unreachable,
} from "./types.ts";

export interface MemberOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1); spreads attempts and checks. */
  readonly random: () => number;
  readonly metrics?: ClientMetrics;
  /** After a change of status. */
  onStatus(status: MemberStatus): void;
  /** A server has been connected; `gone` fires when it is no longer. */
  onJoined(cluster: Cluster, gone: AbortSignal): void;
  /** A connected server is no longer. */
  onLeft(name: string): void;
}

/** How long a provider may take to say how to connect. */
const LONGEST_CONNECT = 15_000;
/** How often a cluster that is well is looked at. */
const LOOK_EVERY = 10_000;
/** Looking at streams costs nothing, so those who have some are looked at more often. */
const LOOK_AT_STREAMS_EVERY = 3_000;
/** One failed look may be an accident; this soon comes the second, which counts. */
const SECOND_LOOK = 1_000;
const ATTEMPTS: Backoff = { base: 800, cap: 30_000 };
/** A cluster that was well before is looked for more eagerly. */
const RECOVERY: Backoff = { base: 1_000, cap: 10_000 };
/** One that says it is ready, and lets no call through again, is believed later each time. */
const RELAPSES: Backoff = { base: 1_000, cap: 60_000 };

/** A connected server. */
interface Engagement {
  readonly connection: ReplaceableClient;
  readonly member: MemberCluster;
  readonly circuit: Circuit;
  readonly identity: string | undefined;
  readonly life: AbortController;
}

/** What of a status is kept; the rest is looked up. */
type Standing = Omit<MemberStatus, "circuit" | "unfilled">;

export class Member {
  readonly name: string;
  readonly #options: MemberOptions;
  readonly #log: Logger;
  readonly #end = sharedAbort();
  #offer: Offer;
  /** The offer that the connection was made from. */
  #used: string | undefined;
  #engagement: Engagement | undefined;
  #status: Standing;
  /** Kinds that could not be read there when it was last told. */
  #unfilled: readonly UnfilledCopy[] = [];
  #failures = 0;
  /** Milliseconds to wait before the next step, whatever it is. */
  #rest = 0;
  /** Calls off what is being tried or waited for, because there is a newer offer. */
  #turn = sharedAbort();
  #running: Promise<void> | undefined;

  constructor(offer: Offer, options: MemberOptions) {
    this.name = offer.name;
    this.#offer = offer;
    this.#options = options;
    this.#log = options.log.with({ component: "fleet", cluster: offer.name });
    this.#status = { name: offer.name, state: "Pending", since: options.clock.now(), problem: engaging(offer.name) };
  }

  get state(): MemberState {
    return this.#status.state;
  }

  get status(): MemberStatus {
    const { copies = [] } = this.#engagement?.member ?? {};
    const circuit = this.#engagement?.circuit.isOpen ? "open" : "closed";
    return { ...this.#status, circuit, unfilled: unfilledOf(copies, this.#options.clock.now()) };
  }

  /** The connected cluster, well or not. */
  get cluster(): Cluster | undefined {
    return this.#engagement?.member.cluster;
  }

  /** Fires when the connected server goes. */
  get life(): AbortSignal | undefined {
    return this.#engagement?.life.signal;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Takes effect at once: an attempt to connect by an earlier offer is called off. */
  follow(offer: Offer): void {
    if (offer.fingerprint === this.#offer.fingerprint) return;
    this.#offer = offer;
    this.#failures = 0;
    this.#turn.abort();
  }

  /** Lets everything go; by its end nothing is left. */
  async close(): Promise<void> {
    if (!this.#end.signal.aborted) {
      this.#set("Disengaging");
      this.#end.abort();
      this.#turn.abort();
      this.#disengage();
    }
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#turn = sharedAbort();
      const { signal } = this.#turn;
      const rest = this.#rest;
      this.#rest = 0;
      if (rest > 0) await pause(this.#options.clock, rest, signal);
      if (signal.aborted) continue;
      const wait = await this.#step(this.#offer, signal);
      if (wait > 0 && !signal.aborted) await pause(this.#options.clock, wait, signal);
    }
  }

  /** Connects, follows a new offer, or looks whether all is well. Answers how long to wait before the next step. */
  async #step(offer: Offer, signal: AbortSignal): Promise<number> {
    try {
      if (this.#used !== offer.fingerprint) await this.#adopt(offer, signal);
      else await this.#examine(signal);
      if (signal.aborted) return 0;
      return this.#engagement ? this.#well() : this.#later(ATTEMPTS);
    } catch (error) {
      return signal.aborted ? 0 : this.#failed(offer.explain?.(error) ?? problemOf(error));
    } finally {
      this.#tellOfCopies();
    }
  }

  #well(): number {
    this.#failures = 0;
    this.#engagement?.circuit.close();
    // Copies wait after failures too; those who are told of the recovery should find them up to date soon.
    if (this.#status.state === "Degraded") for (const copy of this.#engagement?.member.copies ?? []) copy.retry();
    this.#set("Engaged");
    const every = isFollowing(this.#engagement?.member.copies ?? []) ? LOOK_AT_STREAMS_EVERY : LOOK_EVERY;
    return every * (0.75 + this.#options.random() / 2);
  }

  #failed(problem: Unreachable): number {
    if (!this.#engagement) {
      this.#set("Engaging", problem);
      return this.#later(ATTEMPTS);
    }
    if (this.#failures++ === 0 && this.#status.state === "Engaged") return SECOND_LOOK;
    this.#set("Degraded", problem);
    return this.#later(RECOVERY);
  }

  #later(backoff: Backoff): number {
    return backoffDelay(backoff, this.#failures++) * (1 + this.#options.random() / 2);
  }

  async #examine(signal: AbortSignal): Promise<void> {
    if (!this.#engagement) return;
    const { member, connection, circuit } = this.#engagement;
    // A stream that was opened with an earlier credential goes on when the server accepts no more requests.
    const isInDoubt = this.#failures > 0;
    if (!isInDoubt && isFollowing(member.copies)) return;
    // That all streams have ended is a sign already; the question needs no second one.
    if (member.copies.some(({ lastError }) => lastError !== undefined)) this.#failures = Math.max(1, this.#failures);
    try {
      await askWhetherReady(connection.client, signal);
    } catch (error) {
      circuit.failed(error);
      throw error;
    }
  }

  /** Calls do not come through: nobody need wait for the next look to know that it is not well. */
  #circuitOpened(error: KubeError, relapses: number): void {
    this.#failures = Math.max(1, this.#failures);
    this.#rest = relapses === 0 ? 0 : backoffDelay(RELAPSES, relapses - 1);
    const isTold = this.#set("Degraded", this.#offer.explain?.(error) ?? problemOf(error));
    if (!isTold) this.#options.onStatus(this.status);
    this.#turn.abort();
  }

  async #adopt(offer: Offer, signal: AbortSignal): Promise<void> {
    const way = await within(offer.connect(signal), LONGEST_CONNECT, this.#options.clock, signal);
    if (signal.aborted) return;
    if (isUnreachable(way)) return this.#shutOut(way);

    const current = this.#engagement?.connection.line;
    if (current && current.target === targetOf(way)) {
      current.credentials.replace(sourceOf(way));
      this.#used = offer.fingerprint;
      return askWhetherReady(current.client, signal);
    }
    if (!this.#engagement && this.#status.state !== "Engaging") this.#set("Engaging", engaging(this.name));
    await this.#connect(openLine(way, this.#options), signal);
    if (!signal.aborted) this.#used = offer.fingerprint;
  }

  /** Whoever was let in by an earlier offer and is not by this one leaves. */
  #shutOut({ reason, message }: Unreachable): void {
    this.#disengage();
    this.#set("Pending", { reason, message });
  }

  /** Goes over to a new line once it has shown which server it leads to. */
  async #connect(line: Line, signal: AbortSignal): Promise<void> {
    let isTaken = false;
    try {
      const identity = await identityOf(line.client, signal);
      if (signal.aborted) return;
      isTaken = true;
      const known = this.#engagement;
      if (known && known.identity !== undefined && known.identity === identity) known.connection.use(line);
      else this.#engage(line, identity);
    } finally {
      if (!isTaken) line.client.close();
    }
  }

  #engage(line: Line, identity: string | undefined): void {
    const { clock, log, onJoined } = this.#options;
    if (this.#engagement) this.#log.info("another server answers for this cluster; everything is read anew");
    this.#disengage();
    const life = sharedAbort();
    const connection = replaceableClient(line);
    const circuit = new Circuit({
      onOpen: (error, relapses) => {
        if (this.#engagement?.life === life) this.#circuitOpened(error, relapses);
      },
    });
    const { client } = connection;
    const member = memberCluster({ name: this.name, client, circuit, clock, log, life: life.signal });
    this.#engagement = { connection, member, circuit, identity, life };
    this.#set("Engaged");
    onJoined(member.cluster, life.signal);
  }

  #disengage(): void {
    const engagement = this.#engagement;
    this.#used = undefined;
    this.#engagement = undefined;
    if (!engagement) return;
    engagement.life.abort();
    engagement.connection.close();
    this.#options.onLeft(this.name);
  }

  /** Answers whether there was anything to tell. */
  #set(state: MemberState, problem?: Unreachable): boolean {
    const { state: before, problem: known, since } = this.#status;
    if (this.#end.signal.aborted) return false;
    if (state === before && known?.reason === problem?.reason && known?.message === problem?.message) return false;
    const now = state === before ? since : this.#options.clock.now();
    this.#status = { name: this.name, state, since: now, ...(problem && { problem }) };
    this.#tellOf(before);
    this.#options.onStatus(this.status);
    return true;
  }

  /** Says of which kinds nothing is known there, once each, and when that has changed. */
  #tellOfCopies(): void {
    const { unfilled } = this.status;
    const told = this.#unfilled;
    const isIn = (list: readonly UnfilledCopy[], { kind, reason }: UnfilledCopy) =>
      list.some((each) => each.kind === kind && each.reason === reason);
    const [fresh, mended] = [
      unfilled.filter((each) => !isIn(told, each)),
      told.filter((each) => !isIn(unfilled, each)),
    ];
    this.#unfilled = unfilled;
    for (const copy of fresh) this.#log.warn("a kind cannot be read on this cluster", { ...copy });
    for (const { kind } of mended) this.#log.info("a kind can be read on this cluster now", { kind });
    if (fresh.length + mended.length > 0 && !this.#end.signal.aborted) this.#options.onStatus(this.status);
  }

  #tellOf(before: MemberState): void {
    const { state, problem } = this.#status;
    const fields = { state, ...(problem && { reason: problem.reason, message: problem.message }) };
    if (problem && problem.reason !== FleetReason.engaging) this.#log.warn("cluster cannot be used", fields);
    else if (state !== before) this.#log.debug("cluster changed its state", fields);
  }
}

function engaging(name: string): Unreachable {
  return { reason: FleetReason.engaging, message: `cluster ${name} is being connected` };
}
