/**
 * Marks a cluster that cannot be used, so that nothing new is placed on it.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster
 * Writes  ManagedCluster spec.taints
 * Twin    ocm:pkg/registration/hub/taint/controller.go
 */
import { ClusterCondition, ClusterTaint, ManagedCluster, type Taint } from "#api/cluster";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done } from "#runtime";

const OURS: readonly string[] = [ClusterTaint.unreachable, ClusterTaint.unavailable];

export function taintsController({ hub }: { hub: Cluster }): Controller {
  const clusters = hub.cache(ManagedCluster);

  return {
    name: "cluster-taints",
    triggers: [clusters.keyedBy((cluster) => cluster.metadata.name)],

    async reconcile(name) {
      const cluster = clusters.get(name);
      if (!cluster || isDeleting(cluster)) return done;
      await hub.commit(ManagedCluster, cluster, tainted(cluster));
      return done;
    },
  };
}

/**
 * The cluster with the taint that its availability asks for. A taint that is there already stays as it is, with
 * the time at which it came; a new one gets its time from the admission of ManagedClusters.
 */
export function tainted(cluster: ManagedCluster): ManagedCluster {
  const taints = cluster.spec?.taints ?? [];
  const key = taintFor(findCondition(cluster.status?.conditions, ClusterCondition.Available)?.status);
  const isWished = (taint: Taint) => taint.key === key && taint.effect === "NoSelect" && !taint.value;

  const kept = taints.filter((taint) => !OURS.includes(taint.key) || isWished(taint));
  const isMissing = key !== undefined && !kept.some(isWished);
  if (!isMissing && kept.length === taints.length) return cluster;
  const { taints: _, ...spec } = cluster.spec ?? {};
  const after: Taint[] = isMissing ? [...kept, { key, effect: "NoSelect" }] : kept;
  return { ...cluster, spec: { ...spec, ...(after.length > 0 && { taints: after }) } };
}

/** A cluster of which nothing has been heard is as good as lost. */
function taintFor(available: "True" | "False" | "Unknown" | undefined): string | undefined {
  if (available === "True") return undefined;
  return available === "False" ? ClusterTaint.unavailable : ClusterTaint.unreachable;
}
