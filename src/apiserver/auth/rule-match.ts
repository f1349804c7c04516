import { type Attributes, combinedResource, type ResourceAttributes } from "./attributes.ts";
import type { PolicyRule } from "./policy.ts";

const ALL = "*";

/** Whether the rule by itself allows the request. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!covers(rule.verbs, attributes.verb)) return false;
  if (attributes.resource === undefined) {
    return rule.nonResourceURLs.some((pattern) => pathMatches(pattern, attributes.path));
  }
  return (
    covers(rule.apiGroups, attributes.group) &&
    resourceMatches(rule.resources, attributes) &&
    nameMatches(rule, attributes)
  );
}

/** The list holds the value, or stands for everything. */
export function covers(list: readonly string[], value: string): boolean {
  return list.includes(value) || list.includes(ALL);
}

/** The path itself, everything, or everything that begins like a pattern with a star at its end. */
export function pathMatches(pattern: string, path: string): boolean {
  if (pattern === path) return true;
  let end = pattern.length;
  while (end > 0 && pattern[end - 1] === ALL) end--;
  return end < pattern.length && path.startsWith(pattern.slice(0, end));
}

/** `*` names all resources with their subresources, `*` before a slash that subresource of all. */
function resourceMatches(resources: readonly string[], attributes: ResourceAttributes): boolean {
  if (covers(resources, combinedResource(attributes))) return true;
  return attributes.subresource ? resources.includes(`${ALL}/${attributes.subresource}`) : false;
}

/** A rule with names never allows what has no name yet or concerns many objects at once. */
function nameMatches({ resourceNames }: PolicyRule, { name }: ResourceAttributes): boolean {
  return resourceNames.length === 0 || (name !== undefined && name !== "" && resourceNames.includes(name));
}
