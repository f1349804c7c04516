/** Keys of objects on many clusters. */
import type { ClusterKey } from "./types.ts";

/** No Kubernetes name holds it, so the first one in a key always ends the cluster's name. */
const SEPARATOR = "|";

export function clusterKey<K extends string>(cluster: string, key: K): ClusterKey<K> {
  return `${cluster}${SEPARATOR}${key}`;
}

export function splitClusterKey<K extends string>(key: ClusterKey<K>): { cluster: string; key: K } {
  const at = key.indexOf(SEPARATOR);
  // What stands behind the separator is what `clusterKey` was given.
  return { cluster: key.slice(0, at), key: key.slice(at + 1) as K };
}

/** Whether a cluster may be called so. */
export function isClusterName(name: string): boolean {
  return name !== "" && !name.includes(SEPARATOR);
}
