/** A cluster that may go: its caches end with it, whoever started them. */
import type { KubeObject } from "#api/meta";
import { type Client, createCache, type ObjectCache } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { createCluster } from "../cluster.ts";
import type { CacheSource } from "../shared-cache.ts";
import type { Cluster } from "../types.ts";
import { either } from "./either.ts";

/** How the copies of a cluster's objects fare: what health is judged by. */
export type WatchState = Pick<ObjectCache<KubeObject>, "state" | "lastError">;

export interface MemberCluster {
  readonly cluster: Cluster;
  readonly watches: readonly WatchState[];
}

export interface MemberClusterOptions {
  readonly name: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Fires when the cluster goes. */
  readonly life: AbortSignal;
}

export function memberCluster({ name, client, clock, log, life }: MemberClusterOptions): MemberCluster {
  const watches: WatchState[] = [];
  const cacheLog = log.with({ component: "cache", cluster: name });
  const cluster = createCluster({
    name,
    client,
    open(kind, scope) {
      const cache = createCache({ client, kind, scope, clock, log: (message) => cacheLog.warn(message) });
      watches.push(cache);
      return mortal(cache, life);
    },
  });
  return { cluster, watches };
}

/** The same copy, which ends with `life` at the latest. */
function mortal<T extends KubeObject>(source: CacheSource<T>, life: AbortSignal): CacheSource<T> {
  return {
    get: (key) => source.get(key),
    list: () => source.list(),
    get synced() {
      return source.synced;
    },
    whenSynced: () => source.whenSynced(),
    onChange: (listener) => source.onChange(listener),
    indexBy: (value) => source.indexBy(value),
    start: (signal) => source.start(either(signal, life)),
  };
}
