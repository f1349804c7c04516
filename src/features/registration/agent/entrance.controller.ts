/**
 * Watches the door: whether the hub lets the cluster in. An agent that is put out has no rights but to look at its entry,
 * and one whose entry is gone not even that; whatever it asked for would be refused, again and again.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster (hub)
 * Writes  nothing: tells when it is otherwise than it was
 */
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { findCondition } from "#lib/conditions";
import { atStart, type Cluster, type Controller, done } from "#runtime";

/** How the hub stands to a cluster, as far as its entry tells. */
export type Standing = "let in" | "denied" | "gone";

export interface EntranceOptions {
  hub: Cluster;
  clusterName: string;
  /** How it was. */
  standing: Standing;
  changed(standing: Standing): void;
}

export function entranceController({ hub, clusterName, standing, changed }: EntranceOptions): Controller {
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });
  return {
    name: "cluster-entrance",
    triggers: [clusters.keyedBy(({ metadata }) => metadata.name), atStart(clusterName)],

    async reconcile() {
      const now = standingOf(clusters.get(clusterName));
      if (now !== standing) changed(now);
      return done;
    },
  };
}

/** One about which nobody has decided yet is as good as let in: its agent waits for the word. */
export function standingOf(cluster: ManagedCluster | undefined): Standing {
  if (!cluster) return "gone";
  const accepted = findCondition(cluster.status?.conditions, ClusterCondition.HubAccepted);
  return accepted?.status === "False" ? "denied" : "let in";
}
