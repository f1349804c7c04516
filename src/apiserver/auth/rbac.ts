import type { UserInfo } from "../resource.ts";
import type { Attributes } from "./attributes.ts";
import { BindingIndex, type Grant } from "./binding-index.ts";
import { type ObjectReader, Stored } from "./object-reader.ts";
import { type PolicyRule, RBAC_GROUP, type RoleRef, rulesOf, writtenRule } from "./policy.ts";
import { ruleAllows } from "./rule-match.ts";
import { Group } from "./users.ts";

export interface Decision {
  readonly allowed: boolean;
  /** Which binding allows it, or what stood in the way of an answer; often empty. */
  readonly reason: string;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision;
  /** All rules that hold for the user in a namespace ("" for the cluster), binding by binding. */
  rulesFor(user: UserInfo, namespace: string): PolicyRule[];
  /** The rules that a binding in a namespace ("" for the cluster) would grant; undefined for a missing role. */
  rulesOfRole(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
  /** Stops following the store. */
  close(): void;
}

/** Role-based access control over the stored roles and bindings. Nothing denies; what no rule allows is refused. */
export function createRbacAuthorizer({ reader }: { readonly reader: ObjectReader }): Authorizer {
  const bindings = new BindingIndex(reader);

  function rulesOfRole({ kind, name }: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    const role =
      kind === "ClusterRole"
        ? reader.get(Stored.clusterRoles, name)
        : kind === "Role" && namespace !== ""
          ? reader.get(Stored.roles, `${namespace}/${name}`)
          : undefined;
    return role && rulesOf(role);
  }

  function* grantsTo(user: UserInfo, namespace: string): Generator<Grant> {
    yield* bindings.grantsTo(user, "");
    if (namespace !== "") yield* bindings.grantsTo(user, namespace);
  }

  return {
    authorize(attributes) {
      const { user } = attributes;
      if (user.groups.includes(Group.masters)) return { allowed: true, reason: "" };
      const namespace = attributes.resource === undefined ? "" : (attributes.namespace ?? "");
      const missing = new Set<string>();
      for (const grant of grantsTo(user, namespace)) {
        const rules = rulesOfRole(grant.roleRef, grant.namespace);
        if (!rules) missing.add(missingRole(grant.roleRef));
        else if (rules.some((rule) => ruleAllows(rule, attributes))) {
          return { allowed: true, reason: `RBAC: allowed by ${describe(grant)}` };
        }
      }
      const errors = [...missing].sort();
      const reason = errors.length > 1 ? `[${errors.join(", ")}]` : errors.join("");
      return { allowed: false, reason: reason === "" ? "" : `RBAC: ${reason}` };
    },

    rulesFor(user, namespace) {
      // A binding counts once, however many of its subjects the user is.
      const distinct = new Map([...grantsTo(user, namespace)].map((grant) => [grant.binding, grant]));
      return [...distinct.values()]
        .sort((a, b) => (a.binding < b.binding ? -1 : 1))
        .flatMap((grant) => rulesOfRole(grant.roleRef, grant.namespace) ?? []);
    },

    rulesOfRole,
    close: () => bindings.close(),
  };
}

/** The status of a SelfSubjectRulesReview. */
export function rulesReviewStatus(rules: readonly PolicyRule[]): Record<string, unknown> {
  return {
    resourceRules: rules
      .filter(({ resources }) => resources.length > 0)
      .map((rule) => writtenRule({ ...rule, nonResourceURLs: [] })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map((rule) => writtenRule({ ...rule, apiGroups: [], resources: [], resourceNames: [] })),
    incomplete: false,
  };
}

function missingRole({ kind, name }: RoleRef): string {
  return `${kind.toLowerCase()}.${RBAC_GROUP} "${name}" not found`;
}

function describe({ bindingName, namespace, roleRef, subject }: Grant): string {
  const role = `${roleRef.kind} "${roleRef.name}"`;
  const home = subject.namespace || namespace;
  const who = `${subject.kind} "${subject.kind === "ServiceAccount" ? `${subject.name}/${home}` : subject.name}"`;
  return namespace === ""
    ? `ClusterRoleBinding "${bindingName}" of ${role} to ${who}`
    : `RoleBinding "${bindingName}/${namespace}" of ${role} to ${who}`;
}
