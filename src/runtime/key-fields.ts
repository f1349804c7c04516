/** What a key says, for logs and for those who take turns by it. */
import { isClusterName, splitClusterKey } from "./fleet/cluster-key.ts";
import type { ClusterKey } from "./fleet/types.ts";

/** The cluster that a key names. What could be a cluster's name itself, or is nothing, names none. */
export function clusterIn(key: string): string | undefined {
  return key === "" || isClusterName(key) ? undefined : splitClusterKey(key as ClusterKey).cluster;
}

/** No cluster has an empty name, so no other key looks like this. */
const REMOVED = "|";

/** The key under which a controller hears that a cluster has left. */
export function removalKey(cluster: string): string {
  return `${REMOVED}${cluster}`;
}

/** The cluster of which a key says that it has left. */
export function removedIn(key: string): string | undefined {
  return key.startsWith(REMOVED) ? key.slice(REMOVED.length) : undefined;
}

/** How a key is told: cluster, namespace and name; as it is where it is not the key of an object. */
export function keyFields(key: string): Record<string, string> {
  const removed = removedIn(key);
  if (removed !== undefined) return { cluster: removed, removed: "true" };
  const cluster = clusterIn(key);
  const object = cluster === undefined ? key : splitClusterKey(key as ClusterKey).key;
  const parts = object.split("/");
  const [first = "", second = ""] = parts;
  const named =
    parts.some((part) => part === "") || parts.length > 2
      ? { key }
      : parts.length === 2
        ? { namespace: first, name: second }
        : { name: first };
  return { ...(cluster !== undefined && { cluster }), ...named };
}
