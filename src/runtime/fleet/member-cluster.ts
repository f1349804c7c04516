/** A cluster that may go: its caches end with it, whoever started them. */
import type { Kind, KubeObject } from "#api/meta";
import { type Client, createCache, type ObjectCache } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { createCluster } from "../cluster.ts";
import type { CacheSource } from "../shared-cache.ts";
import type { Cluster } from "../types.ts";
import type { Circuit } from "./circuit.ts";
import { either } from "./either.ts";
import { guardedClient } from "./guarded-client.ts";
import { FleetReason, type UnfilledCopy } from "./types.ts";

/** How the copy of a cluster's objects of one kind fares: what health is judged by. */
export interface Copy extends Pick<ObjectCache<KubeObject>, "state" | "lastError" | "synced"> {
  /** `configmaps`, `widgets.example.com` */
  readonly kind: string;
  /** When somebody first wanted it. */
  readonly since: Date | undefined;
  /** Tries again now, if it waits after a failure. */
  retry(): void;
}

export interface MemberCluster {
  readonly cluster: Cluster;
  readonly copies: readonly Copy[];
}

export interface MemberClusterOptions {
  readonly name: string;
  readonly client: Client;
  /** Guards the calls of controllers. Copies have their own patience, and their success is a sign of life. */
  readonly circuit: Circuit;
  readonly clock: Clock;
  readonly log: Logger;
  /** Fires when the cluster goes. */
  readonly life: AbortSignal;
}

export function memberCluster({ name, client, circuit, clock, log, life }: MemberClusterOptions): MemberCluster {
  const copies: Copy[] = [];
  const cacheLog = log.with({ component: "cache", cluster: name });
  const cluster = createCluster({
    name,
    client: guardedClient(client, circuit),
    open(kind, scope) {
      const cache = createCache({ client, kind, scope, clock, log: (message) => cacheLog.warn(message) });
      const { source, retry, since } = mortal(cache, life, clock);
      copies.push({
        kind: nameOf(kind),
        retry,
        get since() {
          return since();
        },
        get state() {
          return cache.state;
        },
        get lastError() {
          return cache.lastError;
        },
        get synced() {
          return cache.synced;
        },
      });
      return source;
    },
  });
  return { cluster, copies };
}

/** So long a copy may take to fill before it is said that it does not. */
const FILL_PATIENCE = 30_000;

/** Kinds that cannot be relied upon there, and why. */
export function unfilledOf(copies: readonly Copy[], now: Date): UnfilledCopy[] {
  return copies.flatMap((copy): UnfilledCopy[] => {
    const { kind, since, state, synced, lastError } = copy;
    if (!since) return [];
    if (state === "missing") {
      return [{ kind, reason: FleetReason.kindMissing, message: `the cluster does not serve ${kind}` }];
    }
    if (synced || now.getTime() - since.getTime() < FILL_PATIENCE) return [];
    const message = lastError?.message ?? `nothing was heard of ${kind} for ${FILL_PATIENCE / 1000} s`;
    return [{ kind, reason: FleetReason.copyUnfilled, message }];
  });
}

function nameOf({ plural, group }: Kind<KubeObject>): string {
  return group === "" ? plural : `${plural}.${group}`;
}

interface Mortal<T extends KubeObject> {
  readonly source: CacheSource<T>;
  readonly retry: () => void;
  readonly since: () => Date | undefined;
}

/** The same copy, which ends with `life` at the latest. It goes on where it was when it is told to try again. */
function mortal<T extends KubeObject>(cache: ObjectCache<T>, life: AbortSignal, clock: Clock): Mortal<T> {
  let since: Date | undefined;
  let users = 0;
  let run = new AbortController();
  const begin = () => {
    run = new AbortController();
    cache.start(run.signal);
  };
  const leave = () => {
    if (--users === 0) run.abort();
  };
  const source: CacheSource<T> = {
    get: (key) => cache.get(key),
    list: () => cache.list(),
    get synced() {
      return cache.synced;
    },
    whenSynced: () => cache.whenSynced(),
    onChange: (listener) => cache.onChange(listener),
    indexBy: (value) => cache.indexBy(value),
    start(signal) {
      const wanted = either(signal, life);
      if (wanted.aborted) return;
      since ??= clock.now();
      if (users++ === 0) begin();
      wanted.addEventListener("abort", leave, { once: true });
    },
  };
  const retry = () => {
    if (cache.state !== "waiting" || run.signal.aborted) return;
    run.abort();
    begin();
  };
  return { source, retry, since: () => since };
}
