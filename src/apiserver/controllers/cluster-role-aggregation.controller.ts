/**
 * Keeps the rules of aggregated ClusterRoles what their selectors find; what somebody else wrote there is undone.
 *
 * Key     ClusterRole name
 * Reads   ClusterRole
 * Writes  ClusterRole rules
 * Twin    kube-controller-manager: clusterrole-aggregation-controller
 */
import type { DynamicObject, LabelSelector } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { labelSelector, SelectorError } from "#lib/selectors";
import { aggregatedRules, writtenRule } from "../auth/index.ts";
import type { Store } from "../store/index.ts";
import type { ServerController } from "./runner.ts";
import type { SystemWriter } from "./system.ts";

const CLUSTER_ROLES = "rbac.authorization.k8s.io/clusterroles";

export function clusterRoleAggregationController(options: { store: Store; writer: SystemWriter }): ServerController {
  const { store, writer } = options;
  const allRoles = () => store.list(CLUSTER_ROLES).items;
  /** Whether an aggregated role, by its name, gathers from roles with these labels. */
  const gathering = new Map<string, (labels: Labels) => boolean>();
  return {
    name: "cluster-role-aggregation",
    watches: [CLUSTER_ROLES],
    // A role that changes, comes or goes concerns itself and those that gather from it, as it is or was.
    keysOf({ type, key, object, previous }) {
      if (type !== "DELETED" && isAggregated(object)) gathering.set(key, gathersFrom(object));
      else gathering.delete(key);
      const states = [object, ...(previous ? [previous] : [])].map(({ metadata }) => metadata.labels ?? {});
      const gatherers = [...gathering].filter(([, gathers]) => states.some(gathers)).map(([name]) => name);
      return gathering.has(key) ? [...new Set([key, ...gatherers])] : gatherers;
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

type Labels = Readonly<Record<string, string>>;

/** A selector that makes no sense gathers nothing; the role is looked at again when it is edited. */
function gathersFrom({ aggregationRule }: DynamicObject): (labels: Labels) => boolean {
  const selectors = isObject(aggregationRule) ? aggregationRule.clusterRoleSelectors : undefined;
  try {
    const matchers = (Array.isArray(selectors) ? (selectors as LabelSelector[]) : []).map(labelSelector);
    return (labels) => matchers.some((matcher) => matcher.matches(labels));
  } catch (error) {
    if (error instanceof SelectorError) return () => false;
    throw error;
  }
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
