/**
 * Says on every set how many clusters it holds. The number in the message makes each change of membership a
 * change of the set, which is what wakes those who work with sets.
 *
 * Key     ManagedClusterSet name
 * Reads   ManagedClusterSet, ManagedCluster
 * Writes  ManagedClusterSet condition ClusterSetEmpty
 * Twin    ocm:pkg/registration/hub/managedclusterset/controller.go
 */
import { ClusterLabel, ClusterSetCondition, ManagedCluster, ManagedClusterSet } from "#api/cluster";
import type { Clock } from "#lib/clock";
import { setCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done, predicates } from "#runtime";
import { Reason } from "../reasons.ts";
import { membersOf } from "./set-members.ts";

export function setStatusController({ hub, clock }: { hub: Cluster; clock: Clock }): Controller {
  const sets = hub.cache(ManagedClusterSet);
  const clusters = hub.cache(ManagedCluster);
  const setsByType = sets.indexBy((set) => set.spec.clusterSelector.selectorType);

  return {
    name: "cluster-set-status",
    triggers: [
      sets.keyedBy((set) => set.metadata.name),
      clusters.keyedBy(setsThatMayHold, { when: predicates.labelsChanged }),
    ],

    async reconcile(name) {
      const set = sets.get(name);
      if (!set || isDeleting(set)) return done;
      const selected = membersOf(set);
      const members = clusters.list().filter(({ metadata }) => selected.matches(metadata.labels));
      await hub.commit(ManagedClusterSet, set, counted(set, members.length, clock.now()));
      return done;
    },
  };

  function setsThatMayHold({ metadata }: ManagedCluster): string[] {
    const selecting = setsByType.at("LabelSelector").map((set) => set.metadata.name);
    const own = metadata.labels?.[ClusterLabel.set];
    return own ? [own, ...selecting] : selecting;
  }
}

/** The set, saying how many clusters it holds. */
export function counted(set: ManagedClusterSet, count: number, now: Date): ManagedClusterSet {
  const type = ClusterSetCondition.Empty;
  const condition =
    count === 0
      ? ({ type, status: "True", reason: Reason.setEmpty, message: "No ManagedCluster selected" } as const)
      : ({ type, status: "False", reason: Reason.setNotEmpty, message: `${count} ManagedClusters selected` } as const);
  return { ...set, status: { ...set.status, conditions: setCondition(set.status?.conditions ?? [], condition, now) } };
}
