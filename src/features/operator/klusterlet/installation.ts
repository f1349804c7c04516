/** What puts the operator itself on a spoke. */
import type { DynamicObject } from "#api/meta";
import { OPERATOR_GROUP, OperatorName } from "#api/operator";
import { type PolicyRule, RBAC_GROUP } from "#api/rbac";
import { WORK_GROUP } from "#api/work";
import { type InstallationOptions, operatorInstallation, rightsTo } from "../kit/index.ts";
import { electionRules, executionRules, identityRules, registrationRules, workRules } from "./rights.ts";
import { DEFINITION_NAMES } from "./shared-objects.ts";

export function klusterletInstallation(options: InstallationOptions): DynamicObject[] {
  const name = OperatorName.klusterlet;
  return operatorInstallation({ name, container: "klusterlet", rights: operatorRights() }, options);
}

const LOOK = ["get", "list", "watch"];
const KEEP = [...LOOK, "create", "patch", "delete"];

/**
 * What the operator needs for itself, and all that it hands out, because nobody may hand out what they do not have.
 * Whose access is granted is only known when somebody wishes it; the right to hand that out comes with the work agent's,
 * which may put roles of any content on its cluster.
 */
export function operatorRights(): PolicyRule[] {
  return rightsTo(
    [
      rule([OPERATOR_GROUP], ["klusterlets"], [...LOOK, "patch"]),
      rule([OPERATOR_GROUP], ["klusterlets/status"], ["patch"]),
      rule(["apps"], ["deployments"], KEEP),
      rule([""], ["namespaces", "serviceaccounts", "configmaps"], KEEP),
      rule([RBAC_GROUP], ["clusterroles", "clusterrolebindings", "roles", "rolebindings"], KEEP),
      rule([""], ["secrets"], KEEP),
      rule([""], ["nodes"], LOOK),
      rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], [...LOOK, "create"]),
      {
        ...rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], ["patch"]),
        resourceNames: [...DEFINITION_NAMES],
      },
      rule([WORK_GROUP], ["appliedmanifestworks"], ["list", "watch", "patch"]),
      rule(["", "events.k8s.io"], ["events"], ["create", "update", "patch"]),
      // Before a namespace is removed it is looked at whether somebody else has something in it, of whatever kind.
      rule(["*"], ["*"], ["list"]),
    ],
    registrationRules,
    identityRules,
    electionRules,
    workRules,
    executionRules,
  );
}

function rule(apiGroups: string[], resources: string[], verbs: string[]): PolicyRule {
  return { apiGroups, resources, verbs };
}
