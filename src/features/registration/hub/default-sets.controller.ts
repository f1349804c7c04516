/**
 * Keeps the set that every cluster falls into and the set of all clusters.
 *
 * Key     ManagedClusterSet name
 * Reads   ManagedClusterSet
 * Writes  ManagedClusterSet `default` and `global`: their selector only
 * Twin    ocm:pkg/registration/hub/managedclusterset/{default,global}_managedclusterset_controller.go
 */
import { ClusterAnnotation, ClusterSetName, ManagedClusterSet } from "#api/cluster";
import { isDeleting } from "#lib/meta";
import { atStart, type Cluster, type Controller, done } from "#runtime";

type Selector = ManagedClusterSet["spec"]["clusterSelector"];

const SELECTORS = new Map<string, Selector>([
  [ClusterSetName.default, { selectorType: "ExclusiveClusterSetLabel" }],
  [ClusterSetName.global, { selectorType: "LabelSelector", labelSelector: {} }],
]);

export function defaultSetsController({ hub }: { hub: Cluster }): Controller {
  const sets = hub.cache(ManagedClusterSet);

  return {
    name: "cluster-default-sets",
    triggers: [
      sets.keyedBy(({ metadata }) => (SELECTORS.has(metadata.name) ? metadata.name : undefined)),
      atStart(ClusterSetName.default),
      atStart(ClusterSetName.global),
    ],

    async reconcile(name) {
      const clusterSelector = SELECTORS.get(name);
      if (!clusterSelector) return done;
      const set = sets.get(name);
      if (!set) await hub.commit(ManagedClusterSet, undefined, { metadata: { name }, spec: { clusterSelector } });
      else if (mayBeReset(set))
        await hub.commit(ManagedClusterSet, set, { ...set, spec: { ...set.spec, clusterSelector } });
      return done;
    },
  };
}

/** An administrator may take a set into own hands, and a set that is going comes back when it is gone. */
function mayBeReset(set: ManagedClusterSet): boolean {
  return !isDeleting(set) && set.metadata.annotations?.[ClusterAnnotation.autoUpdate] !== "false";
}
