import type { DynamicObject, LabelSelector } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { labelSelector } from "#lib/selectors";
import { type PolicyRule, readRules } from "./policy.ts";

/**
 * The rules that an aggregated ClusterRole should have: those of all other roles that one of its selectors finds,
 * each once, selector by selector and in order of the roles' names. Undefined for a role that gathers nothing.
 */
export function aggregatedRules(role: DynamicObject, allRoles: readonly DynamicObject[]): PolicyRule[] | undefined {
  const selectors = isObject(role.aggregationRule) ? role.aggregationRule.clusterRoleSelectors : undefined;
  if (!Array.isArray(selectors)) return undefined;
  const others = allRoles
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules: PolicyRule[] = [];
  for (const selector of selectors as LabelSelector[]) {
    const matcher = labelSelector(selector);
    for (const other of others.filter(({ metadata }) => matcher.matches(metadata.labels))) {
      for (const rule of readRules(other)) if (!rules.some((known) => equal(known, rule))) rules.push(rule);
    }
  }
  return rules;
}
