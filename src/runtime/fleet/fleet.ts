/** Clusters that come and go while everything runs. */
import { type Kind, type KubeObject, keyOf } from "#api/meta";
import type { ClientMetrics } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { sharedAbort } from "../abort.ts";
import type { CacheScope, Cluster, Trigger } from "../types.ts";
import { isClusterName } from "./cluster-key.ts";
import { fleetCache } from "./fleet-cache.ts";
import { Member, type MemberOptions } from "./member.ts";
import { steadily } from "./steady.ts";
import {
  type ClusterRef,
  type Departure,
  type Fleet,
  type FleetCache,
  type FleetChange,
  type FleetKeyedByOptions,
  type FleetProvider,
  FleetReason,
  type MemberState,
  type MemberStatus,
  type Offer,
  type ReachOptions,
  type Unreachable,
} from "./types.ts";

export interface FleetOptions {
  /** Where clusters come from; several are put together by `compositeProvider`. */
  readonly provider: FleetProvider;
  readonly clock: Clock;
  readonly log: Logger;
  /** Counts the requests to all clusters. */
  readonly metrics?: ClientMetrics;
  /** In [0, 1); spreads attempts and checks. */
  readonly random?: () => number;
}

/** A fleet without clusters; it gets them while it runs. */
export function createFleet(options: FleetOptions): Fleet {
  return new LiveFleet(options);
}

type Join = (cluster: Cluster, signal: AbortSignal) => void;

/** One who wants to hear of each cluster, and what ends for them when they no longer do. */
interface Joiner {
  readonly join: Join;
  readonly ends: Set<() => void>;
}

class LiveFleet implements Fleet {
  readonly #options: FleetOptions;
  readonly #members = new Map<string, Member>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #joiners = new Set<Joiner>();
  readonly #statusListeners = new Set<(status: MemberStatus) => void>();
  readonly #removalListeners = new Set<(name: string, why: Departure) => void>();
  readonly #listed: Promise<void>;
  #markListed: () => void = () => {};
  #isEnding = false;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#listed = new Promise((resolve) => {
      this.#markListed = resolve;
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { provider, clock, log } = this.#options;
    try {
      for await (const change of steadily(provider, signal, { clock, log })) this.#take(change);
    } finally {
      this.#isEnding = true;
      for (const name of [...this.#members.keys()]) this.#remove(name);
      await Promise.all(this.#leaving);
    }
  }

  async reach(ref: ClusterRef, { patience = 0 }: ReachOptions = {}): Promise<Cluster | Unreachable> {
    const name = typeof ref === "string" ? ref : keyOf({ apiVersion: "", kind: "", metadata: ref });
    const found = this.#find(name);
    if (patience <= 0 || !("reason" in found)) return found;
    await this.#whenWell(name, patience);
    return this.#find(name);
  }

  get(name: string): Cluster | undefined {
    return this.#members.get(name)?.cluster;
  }

  stateOf(name: string): MemberState | undefined {
    return this.#members.get(name)?.state;
  }

  get members(): readonly MemberStatus[] {
    return [...this.#members.values()].map(({ status }) => status).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  whenListed(): Promise<void> {
    return this.#listed;
  }

  cache<T extends KubeObject>(kind: Kind<T>, scope?: CacheScope): FleetCache<T> {
    return fleetCache(this, kind, scope);
  }

  keyedBy<K extends string>(
    key: (cluster: string) => K | readonly K[] | undefined,
    { after = [] }: Pick<FleetKeyedByOptions<KubeObject>, "after"> = {},
  ): Trigger<K> {
    return {
      subscribe: (enqueue) => {
        const tell = (name: string, initial: boolean) => {
          const keys = key(name) ?? [];
          for (const each of typeof keys === "string" ? [keys] : keys) enqueue(each, { initial });
        };
        const tellWhenFilled = async (cluster: Cluster, gone: AbortSignal) => {
          await Promise.all(after.map((each) => each.filledOn(cluster)));
          if (!gone.aborted) this.#safely(() => tell(cluster.name, true));
        };
        const stops = [this.onChange(({ name }) => tell(name, false)), this.onRemoved((name) => tell(name, false))];
        if (after.length > 0) stops.push(this.forEach((cluster, gone) => void tellWhenFilled(cluster, gone)));
        for (const name of this.#members.keys()) tell(name, true);
        return () => {
          for (const stop of stops) stop();
        };
      },
    };
  }

  forEach(join: Join): () => void {
    const joiner: Joiner = { join, ends: new Set() };
    this.#joiners.add(joiner);
    for (const { cluster, life } of [...this.#members.values()]) if (cluster && life) this.#join(joiner, cluster, life);
    return () => {
      this.#joiners.delete(joiner);
      for (const end of [...joiner.ends]) end();
    };
  }

  onChange(listener: (status: MemberStatus) => void): () => void {
    const own = (status: MemberStatus) => listener(status);
    this.#statusListeners.add(own);
    return () => {
      this.#statusListeners.delete(own);
    };
  }

  onRemoved(listener: (name: string, why: Departure) => void): () => void {
    const own = (name: string, why: Departure) => listener(name, why);
    this.#removalListeners.add(own);
    return () => {
      this.#removalListeners.delete(own);
    };
  }

  #take(change: FleetChange): void {
    if (change.type === "listed") this.#markListed();
    else if (change.type === "removed") this.#remove(change.name);
    else this.#offered(change.offer);
  }

  #offered(offer: Offer): void {
    const { name } = offer;
    if (!isClusterName(name)) {
      this.#options.log.warn("a cluster cannot be called so and is left out", { component: "fleet", cluster: name });
      return;
    }
    const known = this.#members.get(name);
    if (known) return known.follow(offer);
    const member = new Member(offer, this.#memberOptions());
    this.#members.set(name, member);
    this.#tellStatus(member.status);
    member.start();
  }

  #memberOptions(): MemberOptions {
    const { clock, log, metrics, random = Math.random } = this.#options;
    return {
      clock,
      log,
      random,
      ...(metrics && { metrics }),
      onStatus: (status) => this.#tellStatus(status),
      onJoined: (cluster, gone) => {
        for (const joiner of [...this.#joiners]) this.#join(joiner, cluster, gone);
      },
      onLeft: (name) => this.#tellRemoved(name),
    };
  }

  #remove(name: string): void {
    const member = this.#members.get(name);
    if (!member) return;
    const wasConnected = member.cluster !== undefined;
    // Nobody finds it from here on; if a cluster of this name comes again, it is a new one.
    this.#members.delete(name);
    const leaving = member.close().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
    if (!wasConnected) this.#tellRemoved(name);
  }

  #join({ join, ends }: Joiner, cluster: Cluster, life: AbortSignal): void {
    const controller = sharedAbort();
    const end = () => {
      life.removeEventListener("abort", end);
      ends.delete(end);
      controller.abort();
    };
    life.addEventListener("abort", end);
    ends.add(end);
    this.#safely(() => join(cluster, controller.signal));
  }

  #find(name: string): Cluster | Unreachable {
    const member = this.#members.get(name);
    if (!member) return { reason: FleetReason.notFound, message: `cluster ${name} is not known` };
    const { cluster, state } = member;
    if (cluster && state === "Engaged") return cluster;
    return member.status.problem ?? { reason: FleetReason.engaging, message: `cluster ${name} is being connected` };
  }

  #whenWell(name: string, patience: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        stop();
        resolve();
      };
      const cancel = this.#options.clock.after(patience, end);
      const stop = this.onChange((status) => {
        if (status.name === name && status.state === "Engaged") end();
      });
    });
  }

  #tellStatus(status: MemberStatus): void {
    for (const listener of [...this.#statusListeners]) this.#safely(() => listener(status));
  }

  #tellRemoved(name: string): void {
    const why = this.#isEnding ? "stopped" : this.#members.has(name) ? "released" : "removed";
    for (const listener of [...this.#removalListeners]) this.#safely(() => listener(name, why));
  }

  /** One listener that fails keeps nothing from the others. */
  #safely(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.log.error("a listener of the fleet failed", { component: "fleet", error });
    }
  }
}
