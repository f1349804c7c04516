/**
 * Tells every cluster which namespaces its sets want on it. The cluster's agent makes them and says whether it could.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, ManagedClusterSet
 * Writes  ManagedCluster status.managedNamespaces: which there are; what the agent says of them stays
 * Twin    ocm:pkg/registration/hub/managedclusterset/managednamespace_controller.go
 */
import { ManagedCluster, ManagedClusterSet } from "#api/cluster";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done, predicates } from "#runtime";
import { knownMembersOf } from "./set-members.ts";

type ManagedNamespace = NonNullable<NonNullable<ManagedCluster["status"]>["managedNamespaces"]>[number];

export function managedNamespacesController({ hub }: { hub: Cluster }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const sets = hub.cache(ManagedClusterSet);

  return {
    name: "cluster-managed-namespaces",
    triggers: [
      clusters.keyedBy(({ metadata }) => metadata.name),
      // Who enters or leaves a set shows on the cluster; of the set itself only what it wishes matters.
      sets.keyedBy((set) => clustersConcernedBy(set), { when: predicates.generationChanged }),
    ],

    async reconcile(name) {
      const cluster = clusters.get(name);
      if (!cluster || isDeleting(cluster)) return done;
      const managedNamespaces = namespacesFor(cluster, sets.list());
      const isUnsaid = managedNamespaces.length === 0 && cluster.status?.managedNamespaces === undefined;
      if (isUnsaid) return done;
      await hub.commit(ManagedCluster, cluster, { ...cluster, status: { ...cluster.status, managedNamespaces } });
      return done;
    },
  };

  function clustersConcernedBy(set: ManagedClusterSet): string[] {
    const wanted = (set.spec.managedNamespaces ?? []).length > 0 ? knownMembersOf(set) : undefined;
    return clusters
      .list()
      .filter(
        ({ metadata, status }) =>
          wanted?.matches(metadata.labels) ||
          status?.managedNamespaces?.some(({ clusterSet }) => clusterSet === set.metadata.name),
      )
      .map(({ metadata }) => metadata.name);
  }
}

/**
 * The namespaces that the cluster's sets want on it, by set and name, with the conditions that its agent gave them. A
 * set that cannot be understood changes nothing: nobody can say whether the cluster is in it.
 */
export function namespacesFor(cluster: ManagedCluster, sets: readonly ManagedClusterSet[]): ManagedNamespace[] {
  const present = cluster.status?.managedNamespaces ?? [];
  const known = new Map(present.map((each) => [`${each.clusterSet}/${each.name}`, each]));
  return sets
    .filter((set) => !isDeleting(set))
    .flatMap((set): ManagedNamespace[] => {
      const members = knownMembersOf(set);
      if (!members) return present.filter(({ clusterSet }) => clusterSet === set.metadata.name);
      if (!members.matches(cluster.metadata.labels)) return [];
      return (set.spec.managedNamespaces ?? []).map(
        ({ name }) => known.get(`${set.metadata.name}/${name}`) ?? { name, clusterSet: set.metadata.name },
      );
    })
    .sort((a, b) => compare(a.clusterSet, b.clusterSet) || compare(a.name, b.name));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
