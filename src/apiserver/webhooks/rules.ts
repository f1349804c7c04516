/** Which requests a webhook wants to see, as far as its rules tell. */
import type { Operation } from "#api/admission";
import type { Webhook, WebhookRule } from "#api/admissionregistration";
import type { Resource } from "../resource.ts";

/** What a request is about. `subresource` is empty for the object itself. */
export interface RuleSubject {
  readonly operation: Operation;
  readonly resource: Resource;
  readonly subresource: string;
}

/**
 * The version in which a webhook wants to see a request, or undefined when it does not want to see it at all. A
 * webhook that asks for another version of the same resource is shown that one, unless it wants exact matches only.
 */
export function versionFor(
  { rules = [], matchPolicy }: Webhook,
  subject: RuleSubject,
  siblings: readonly Resource[],
): Resource | undefined {
  if (rules.some((rule) => matches(rule, subject))) return subject.resource;
  if (matchPolicy === "Exact") return undefined;
  for (const rule of rules) {
    const found = siblings.find(
      (resource) => hasPart(resource, subject.subresource) && matches(rule, { ...subject, resource }),
    );
    if (found) return found;
  }
  return undefined;
}

function hasPart({ subresources }: Resource, subresource: string): boolean {
  return subresource === "" || subresources.some(({ name }) => name === subresource);
}

function matches(rule: WebhookRule, { operation, resource, subresource }: RuleSubject): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope = "*" } = rule;
  return (
    (scope === "*" || (scope === "Namespaced") === resource.namespaced) &&
    includes(operations, operation) &&
    includes(apiGroups, resource.group) &&
    includes(apiVersions, resource.version) &&
    resources.some((pattern) => namesPart(pattern, resource.plural, subresource))
  );
}

function includes(patterns: readonly string[], value: string): boolean {
  return patterns.includes("*") || patterns.includes(value);
}

/** `pods` and `*` name objects, not their parts. */
function namesPart(pattern: string, plural: string, subresource: string): boolean {
  const slash = pattern.indexOf("/");
  const [resource, part] = slash < 0 ? [pattern, ""] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
  return (resource === "*" || resource === plural) && (part === "*" || part === subresource);
}
