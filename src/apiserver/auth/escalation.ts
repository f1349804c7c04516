import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { type ApiError, forbidden, notFound } from "../errors.ts";
import type { UserInfo } from "../resource.ts";
import { type PolicyRule, RBAC_GROUP, readRules, roleRefOf } from "./policy.ts";
import type { Authorizer } from "./rbac.ts";
import { covers, pathMatches } from "./rule-match.ts";

const NOTHING: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/** What an aggregated role may come to hold. */
const EVERYTHING: readonly PolicyRule[] = [
  { ...NOTHING, verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { ...NOTHING, verbs: ["*"], nonResourceURLs: ["*"] },
];

/** A rule multiplies its lists; beyond this many parts it must be held as a whole, so that no role can stop the server. */
const MOST_PARTS = 100_000;

/** The parts of the wanted rules that the owned ones do not hold, each with one verb on one thing. */
export function rulesCover(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): PolicyRule[] {
  const isHeld = (part: PolicyRule) => owned.some((rule) => ruleCovers(rule, part));
  return wanted.flatMap((rule) => {
    if (isHeld(rule)) return [];
    return partsOf(rule) > MOST_PARTS ? [rule] : atoms(rule).filter((atom) => !isHeld(atom));
  });
}

function partsOf({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  const onResources = apiGroups.length * resources.length * Math.max(1, resourceNames.length);
  return verbs.length * (onResources + nonResourceURLs.length);
}

export interface PolicyWrite {
  readonly user: UserInfo;
  readonly authorizer: Authorizer;
  /** The role or binding as it would be stored, with kind and namespace. */
  readonly object: DynamicObject;
  /** What is stored now; absent for a create. */
  readonly previous?: DynamicObject;
}

/** Why the user may not write this Role or ClusterRole: nobody hands out what he does not hold, unless he may `escalate`. */
export function checkRoleWrite({ user, authorizer, object, previous }: PolicyWrite): ApiError | undefined {
  const { name, namespace = "" } = object.metadata;
  const resource = object.kind === "ClusterRole" ? "clusterroles" : "roles";
  if (previous && differInUpkeepOnly(object, previous)) return undefined;
  // A create has no name to speak of yet: a permission to escalate one named role does not make that role.
  const target = { group: RBAC_GROUP, resource, namespace, name: previous ? name : "" };
  if (authorizer.authorize({ user, verb: "escalate", ...target }).allowed) return undefined;

  const owned = authorizer.rulesFor(user, namespace);
  const subject = { group: RBAC_GROUP, kind: resource, name };
  const missing = rulesCover(owned, readRules(object));
  if (missing.length > 0) return forbidden(subject, notHeld(user, missing));
  const aggregates = isAggregated(object) || (previous !== undefined && isAggregated(previous));
  if (aggregates && rulesCover(owned, EVERYTHING).length > 0) {
    return forbidden(subject, "must have cluster-admin privileges to use the aggregationRule");
  }
  return undefined;
}

/** Why the user may not write this RoleBinding or ClusterRoleBinding, unless he may `bind` the role. */
export function checkBindingWrite({ user, authorizer, object, previous }: PolicyWrite): ApiError | undefined {
  const { name } = object.metadata;
  const isClusterWide = object.kind === "ClusterRoleBinding";
  const namespace = isClusterWide ? "" : (object.metadata.namespace ?? "");
  const resource = isClusterWide ? "clusterrolebindings" : "rolebindings";
  if (previous && differInUpkeepOnly(object, previous)) return undefined;
  const roleRef = roleRefOf(object);
  const role = {
    group: RBAC_GROUP,
    resource: roleRef.kind === "ClusterRole" ? "clusterroles" : "roles",
    namespace,
    name: roleRef.name,
  };
  if (authorizer.authorize({ user, verb: "bind", ...role }).allowed) return undefined;

  const wanted = authorizer.rulesOfRole(roleRef, namespace);
  if (!wanted) return notFound({ group: RBAC_GROUP, kind: resource, name: roleRef.name });
  const missing = rulesCover(authorizer.rulesFor(user, namespace), wanted);
  return missing.length > 0
    ? forbidden({ group: RBAC_GROUP, kind: resource, name }, notHeld(user, missing))
    : undefined;
}

/** Whether the ClusterRole gathers the rules of others. */
function isAggregated({ aggregationRule }: DynamicObject): boolean {
  const selectors = isObject(aggregationRule) ? aggregationRule.clusterRoleSelectors : undefined;
  return Array.isArray(selectors) && selectors.length > 0;
}

/** The garbage collector and finalizers must get through, whoever they run as. */
function differInUpkeepOnly(a: DynamicObject, b: DynamicObject): boolean {
  const essence = ({ metadata, ...rest }: DynamicObject) => {
    const { ownerReferences: _o, finalizers: _f, managedFields: _m, resourceVersion: _r, ...kept } = metadata;
    return { ...rest, metadata: kept };
  };
  return equal(essence(a), essence(b));
}

function notHeld({ username, groups }: UserInfo, missing: readonly PolicyRule[]): string {
  const lines = [...new Set(compact(missing).map(ruleText))].sort();
  const who = `user ${JSON.stringify(username)} (groups=${list(groups)})`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}`;
}

/** One rule for all verbs on the same thing, which is easier to read than one for each. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const byTarget = new Map<string, PolicyRule>();
  for (const { verbs, ...target } of rules) {
    const key = target.nonResourceURLs.length > 0 ? JSON.stringify([verbs, target]) : JSON.stringify(target);
    const sofar = byTarget.get(key);
    byTarget.set(key, { ...target, verbs: [...(sofar?.verbs ?? []), ...verbs] });
  }
  return [...byTarget.values()];
}

function ruleText(rule: PolicyRule): string {
  const parts = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const filled = parts.filter(([, values]) => values.length > 0);
  return `{${filled.map(([label, values]) => `${label}:${list(values)}`).join(", ")}}`;
}

function list(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}

function atoms(rule: PolicyRule): PolicyRule[] {
  const names = rule.resourceNames.length > 0 ? rule.resourceNames.map((name) => [name]) : [[]];
  const onResources = rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        names.map((resourceNames) => ({
          ...NOTHING,
          apiGroups: [group],
          resources: [resource],
          verbs: [verb],
          resourceNames,
        })),
      ),
    ),
  );
  const onPaths = rule.nonResourceURLs.flatMap((path) =>
    rule.verbs.map((verb) => ({ ...NOTHING, nonResourceURLs: [path], verbs: [verb] })),
  );
  return [...onResources, ...onPaths];
}

function ruleCovers(rule: PolicyRule, atom: PolicyRule): boolean {
  return (
    atom.verbs.every((verb) => covers(rule.verbs, verb)) &&
    atom.apiGroups.every((group) => covers(rule.apiGroups, group)) &&
    atom.resources.every((resource) => coversResource(rule.resources, resource)) &&
    atom.nonResourceURLs.every((path) => rule.nonResourceURLs.some((pattern) => pathMatches(pattern, path))) &&
    // All objects are more than those with a name; a named one is among all of them.
    (rule.resourceNames.length === 0 ||
      (atom.resourceNames.length > 0 && atom.resourceNames.every((name) => rule.resourceNames.includes(name))))
  );
}

function coversResource(resources: readonly string[], resource: string): boolean {
  if (covers(resources, resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && resources.includes(`*${resource.slice(slash)}`);
}
