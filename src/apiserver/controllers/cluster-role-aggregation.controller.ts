/**
 * Keeps the rules of aggregated ClusterRoles what their selectors find; what somebody else wrote there is undone.
 *
 * Key     ClusterRole name
 * Reads   ClusterRole
 * Writes  ClusterRole rules
 * Twin    kube-controller-manager: clusterrole-aggregation-controller
 */
import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { SelectorError } from "#lib/selectors";
import { aggregatedRules, writtenRule } from "../auth/index.ts";
import type { Store } from "../store/index.ts";
import type { ServerController } from "./runner.ts";
import type { SystemWriter } from "./system.ts";

const CLUSTER_ROLES = "rbac.authorization.k8s.io/clusterroles";

export function clusterRoleAggregationController(options: { store: Store; writer: SystemWriter }): ServerController {
  const { store, writer } = options;
  const allRoles = () => store.list(CLUSTER_ROLES).items;
  return {
    name: "cluster-role-aggregation",
    // Whichever role changes, any aggregated one may gain or lose by it.
    keysOf({ resource }) {
      if (resource !== CLUSTER_ROLES) return [];
      return allRoles()
        .filter(isAggregated)
        .map(({ metadata }) => metadata.name);
    },
    async reconcile(name) {
      const role = store.get(CLUSTER_ROLES, name);
      const rules = role && gatheredRules(role, allRoles());
      if (!role || !rules || equal(role.rules ?? [], rules)) return undefined;
      await writer.change(CLUSTER_ROLES, name, (draft) => (isAggregated(draft) ? { ...draft, rules } : draft));
      return undefined;
    },
  };
}

function isAggregated(role: DynamicObject): boolean {
  return isObject(role.aggregationRule);
}

/** Undefined for a role with a selector that makes no sense: it stays as it is until somebody edits it. */
function gatheredRules(role: DynamicObject, all: readonly DynamicObject[]): Record<string, string[]>[] | undefined {
  try {
    return aggregatedRules(role, all)?.map(writtenRule);
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
