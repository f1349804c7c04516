import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";

export const RBAC_GROUP = "rbac.authorization.k8s.io";
export const RBAC_VERSION = `${RBAC_GROUP}/v1`;

/** What a role allows. Lists that are absent in the object are empty here. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

export interface PolicySubject {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Stored objects never change, so what was read of one stays right for as long as the object is around. */
const rulesOfStored = new WeakMap<DynamicObject, readonly PolicyRule[]>();

/** The rules of a Role or ClusterRole that came from the store. */
export function rulesOf(stored: DynamicObject): readonly PolicyRule[] {
  const known = rulesOfStored.get(stored);
  if (known) return known;
  const rules = readRules(stored);
  rulesOfStored.set(stored, rules);
  return rules;
}

/** The rules of any Role or ClusterRole, also of a draft that may still change. */
export function readRules(role: DynamicObject): PolicyRule[] {
  return objects(role.rules).map((rule) => ({
    verbs: texts(rule.verbs),
    apiGroups: texts(rule.apiGroups),
    resources: texts(rule.resources),
    resourceNames: texts(rule.resourceNames),
    nonResourceURLs: texts(rule.nonResourceURLs),
  }));
}

/** The rule as it is written in an object: empty lists are left out. */
export function writtenRule(rule: PolicyRule): Record<string, string[]> {
  const written: Record<string, string[]> = { verbs: [...rule.verbs] };
  for (const list of ["apiGroups", "resources", "resourceNames", "nonResourceURLs"] as const) {
    if (rule[list].length > 0) written[list] = [...rule[list]];
  }
  return written;
}

export function roleRefOf(binding: DynamicObject): RoleRef {
  const roleRef = isObject(binding.roleRef) ? binding.roleRef : {};
  return { kind: text(roleRef.kind), name: text(roleRef.name) };
}

export function subjectsOf(binding: DynamicObject): PolicySubject[] {
  return objects(binding.subjects).map(({ kind, name, namespace }) => ({
    kind: text(kind),
    name: text(name),
    namespace: text(namespace),
  }));
}

function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
