/** Rights as data: what an operator needs for itself, and what it hands out. */
import type { PolicyRule } from "#api/rbac";

/**
 * One list of rights out of many: nobody may hand out what they do not have, so whoever does has all of it. Rules that
 * speak of the same things become one, and the order is always the same.
 */
export function rightsTo(...rules: readonly (readonly PolicyRule[])[]): PolicyRule[] {
  const merged = new Map<string, PolicyRule>();
  for (const rule of rules.flat()) {
    const { verbs, ...about } = rule;
    for (const each of oneByOne(about)) {
      const key = JSON.stringify(each);
      merged.set(key, { ...each, verbs: union(merged.get(key)?.verbs ?? [], verbs) });
    }
  }
  return [...merged.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rule]) => rule);
}

type About = Omit<PolicyRule, "verbs">;

/** Rules of several groups or resources are taken apart, so that the same thing is found under one name. */
function oneByOne({ apiGroups, resources, resourceNames, nonResourceURLs }: About): About[] {
  if (nonResourceURLs) return [...nonResourceURLs].sort().map((url) => ({ nonResourceURLs: [url] }));
  const names = resourceNames && { resourceNames: [...resourceNames].sort() };
  return (apiGroups ?? []).flatMap((group) =>
    (resources ?? []).map((resource) => ({ apiGroups: [group], resources: [resource], ...names })),
  );
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])].sort();
}
