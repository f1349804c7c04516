/**
 * One cluster of the fleet, from the first offer to its removal. It connects, looks after its health and follows
 * new offers by itself and on its own time, so that no other cluster waits for it.
 */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Backoff, backoffDelay } from "#lib/queue";
import { pause, sharedAbort } from "../abort.ts";
import type { Cluster } from "../types.ts";
import { within } from "./deadline.ts";
import { askWhetherReady, identityOf, isFollowing, problemOf } from "./examination.ts";
import { type MemberCluster, memberCluster } from "./member-cluster.ts";
import { sourceOf } from "./relayed-credentials.ts";
import { type Line, openLine, type ReplaceableClient, replaceableClient, targetOf } from "./replaceable-client.ts";
import {
  FleetReason,
  isUnreachable,
  type MemberState,
  type MemberStatus,
  type Offer,
  type Unreachable,
} from "./types.ts";

export interface MemberOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1); spreads attempts and checks. */
  readonly random: () => number;
  /** After a change of state. */
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
/** One failed look may be an accident; this soon comes the second, which counts. */
const SECOND_LOOK = 1_000;
const ATTEMPTS: Backoff = { base: 800, cap: 30_000 };
/** A cluster that was well before is looked for more eagerly. */
const RECOVERY: Backoff = { base: 1_000, cap: 10_000 };

/** A connected server. */
interface Engagement {
  readonly connection: ReplaceableClient;
  readonly member: MemberCluster;
  readonly identity: string | undefined;
  readonly life: AbortController;
}

export class Member {
  readonly name: string;
  readonly #options: MemberOptions;
  readonly #log: Logger;
  readonly #end = sharedAbort();
  #offer: Offer;
  /** The offer that the connection was made from. */
  #used: string | undefined;
  #engagement: Engagement | undefined;
  #status: MemberStatus;
  #failures = 0;
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

  get status(): MemberStatus {
    return this.#status;
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
    }
  }

  #well(): number {
    this.#failures = 0;
    this.#set("Engaged");
    return LOOK_EVERY * (0.75 + this.#options.random() / 2);
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
    const { member, connection } = this.#engagement;
    // A stream that was opened with an earlier credential goes on when the server accepts no more requests.
    const isInDoubt = this.#failures > 0;
    if (isInDoubt || !isFollowing(member.watches)) await askWhetherReady(connection.client, signal);
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
    await this.#connect(openLine(way, this.#options.clock), signal);
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
    const member = memberCluster({ name: this.name, client: connection.client, clock, log, life: life.signal });
    this.#engagement = { connection, member, identity, life };
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

  #set(state: MemberState, problem?: Unreachable): void {
    const { state: before, problem: known, since } = this.#status;
    if (this.#end.signal.aborted) return;
    if (state === before && known?.reason === problem?.reason && known?.message === problem?.message) return;
    const now = state === before ? since : this.#options.clock.now();
    this.#status = { name: this.name, state, since: now, ...(problem && { problem }) };
    this.#tellOf(before);
    this.#options.onStatus(this.#status);
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
