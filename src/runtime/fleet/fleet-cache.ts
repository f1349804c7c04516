/** One kind on all clusters of the fleet, present and future. */
import type { Kind, KubeObject } from "#api/meta";
import { sharedAbort } from "../abort.ts";
import type { Cache, CacheScope, Cluster, Trigger } from "../types.ts";
import { clusterKey } from "./cluster-key.ts";
import type { ClusterKey, Fleet, FleetCache, FleetKeyedByOptions } from "./types.ts";

type Members = Pick<Fleet, "get" | "forEach" | "stateOf" | "onChange">;

export function fleetCache<T extends KubeObject>(fleet: Members, kind: Kind<T>, scope?: CacheScope): FleetCache<T> {
  const copyOn = (cluster: Cluster): Cache<T> => cluster.cache(kind, scope);

  const cache: FleetCache<T> = {
    start(signal) {
      if (signal.aborted) return;
      const life = sharedAbort();
      const stop = fleet.forEach((cluster) => {
        copyOn(cluster).start(life.signal);
      });
      const end = () => {
        stop();
        life.abort();
      };
      signal.addEventListener("abort", end, { once: true });
    },
    whenSynced: async () => {},
    on(name) {
      const cluster = fleet.get(name);
      const copy = cluster && copyOn(cluster);
      return copy?.synced ? copy : undefined;
    },
    filledOn: (cluster) => copyOn(cluster).whenSynced(),
    get: (cluster, key) => cache.on(cluster)?.get(key),
    list: (cluster) => cache.on(cluster)?.list() ?? [],
    keyedBy: (key, options) => fleetTrigger({ fleet, cache, copyOn, key, options }),
  };
  return cache;
}

interface TriggerParts<T extends KubeObject, K extends string> {
  readonly fleet: Members;
  readonly cache: FleetCache<T>;
  readonly copyOn: (cluster: Cluster) => Cache<T>;
  readonly key: (object: T, cluster: string) => K | readonly K[] | undefined;
  readonly options: FleetKeyedByOptions<T> | undefined;
}

/**
 * Asks for reconciles of what is on any cluster. Reconciles give up on a cluster that is unwell: when it recovers,
 * everything there is asked for again, and whatever was asked for meanwhile and has gone since.
 */
function fleetTrigger<T extends KubeObject, K extends string>(parts: TriggerParts<T, K>): Trigger<ClusterKey<K>> {
  const { fleet, cache, copyOn, key, options: { after = [], when = () => true } = {} } = parts;
  return {
    cache,
    subscribe(enqueue) {
      /** By cluster: asks for everything there. */
      const recoveries = new Map<string, () => void>();
      const unwell = new Set<string>();

      const follow = async (cluster: Cluster, gone: AbortSignal) => {
        await Promise.all([cache, ...after].map((each) => each.filledOn(cluster)));
        if (gone.aborted) return;
        const { name } = cluster;
        const copy = copyOn(cluster);
        const keysOf = (object: T) => keysOn(name, key(object, name));
        const missed = new Set<ClusterKey<K>>();
        const unsubscribe = copy.keyedBy(keysOf, { when }).subscribe((each, how) => {
          if (fleet.stateOf(name) !== "Engaged") missed.add(each);
          enqueue(each, how);
        });
        recoveries.set(name, () => {
          const wanted = copy.list().filter((object) => when(undefined, object));
          const all = new Set([...missed, ...wanted.flatMap(keysOf)]);
          missed.clear();
          for (const each of all) enqueue(each, { initial: true });
        });
        gone.addEventListener("abort", () => {
          unsubscribe();
          recoveries.delete(name);
          unwell.delete(name);
        });
      };

      const stops = [
        fleet.onChange(({ name, state }) => {
          if (state !== "Engaged") unwell.add(name);
          else if (unwell.delete(name)) recoveries.get(name)?.();
        }),
        fleet.forEach((cluster, gone) => {
          void follow(cluster, gone);
        }),
      ];
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

function keysOn<K extends string>(cluster: string, keys: K | readonly K[] | undefined): ClusterKey<K>[] {
  const list = keys === undefined ? [] : typeof keys === "string" ? [keys] : keys;
  return list.map((key) => clusterKey(cluster, key));
}
