/**
 * Puts a cluster that belongs to no set into the default one.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster
 * Writes  ManagedCluster label clusterset
 * Twin    ocm:pkg/registration/webhook/v1/managedcluster_mutating.go
 */
import { ClusterLabel, ClusterSetName, ManagedCluster } from "#api/cluster";
import { isDeleting, withLabels } from "#lib/meta";
import { type Cluster, type Controller, done, predicates } from "#runtime";

export function defaultSetLabelController({ hub }: { hub: Cluster }): Controller {
  const clusters = hub.cache(ManagedCluster);

  return {
    name: "cluster-default-set-label",
    triggers: [clusters.keyedBy((cluster) => cluster.metadata.name, { when: predicates.labelsChanged })],

    async reconcile(name) {
      const cluster = clusters.get(name);
      if (!cluster || isDeleting(cluster) || cluster.metadata.labels?.[ClusterLabel.set]) return done;
      await hub.commit(ManagedCluster, cluster, withLabels(cluster, { [ClusterLabel.set]: ClusterSetName.default }));
      return done;
    },
  };
}
