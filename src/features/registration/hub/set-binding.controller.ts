/**
 * Says on every binding whether the set that it names exists.
 *
 * Key     ManagedClusterSetBinding key
 * Reads   ManagedClusterSetBinding, ManagedClusterSet
 * Writes  ManagedClusterSetBinding condition Bound
 * Twin    ocm:pkg/registration/hub/managedclustersetbinding/controller.go
 */
import { BindingCondition, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { keyOf } from "#api/meta";
import type { Clock } from "#lib/clock";
import { setCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done } from "#runtime";
import { Reason } from "../reasons.ts";

export function setBindingController({ hub, clock }: { hub: Cluster; clock: Clock }): Controller {
  const bindings = hub.cache(ManagedClusterSetBinding);
  const sets = hub.cache(ManagedClusterSet);
  const bindingsTo = bindings.indexBy((binding) => binding.spec?.clusterSet);

  return {
    name: "cluster-set-binding",
    triggers: [bindings.keyedBy(keyOf), sets.keyedBy((set) => bindingsTo.at(set.metadata.name).map(keyOf))],

    async reconcile(key) {
      const binding = bindings.get(key);
      if (!binding || isDeleting(binding)) return done;
      const exists = sets.get(binding.spec?.clusterSet ?? "") !== undefined;
      await hub.commit(ManagedClusterSetBinding, binding, bound(binding, exists, clock.now()));
      return done;
    },
  };
}

/** The binding, saying whether it leads to a set. */
export function bound(binding: ManagedClusterSetBinding, exists: boolean, now: Date): ManagedClusterSetBinding {
  const type = BindingCondition.Bound;
  const condition = exists
    ? ({ type, status: "True", reason: Reason.bound, message: "" } as const)
    : ({ type, status: "False", reason: Reason.setNotFound, message: "" } as const);
  const conditions = setCondition(binding.status?.conditions ?? [], condition, now);
  return { ...binding, status: { ...binding.status, conditions } };
}
