/** What puts the operator itself on a spoke: the administrator applies it, and the operator does the rest. */
import type { DynamicObject } from "#api/meta";
import { OPERATOR_GROUP, OPERATOR_NAMESPACE, OperatorName } from "#api/operator";
import { type PolicyRule, RBAC_GROUP } from "#api/rbac";
import { WORK_GROUP } from "#api/work";
import { clusterRights, deployment, namespace, resourcesOf, rightsTo, serviceAccount } from "../kit/index.ts";
import { LOOKED_FOR_RULES } from "./namespace-removal.ts";
import { electionRules, executionRules, identityRules, registrationRules, workRules } from "./rights.ts";
import { DEFINITION_NAMES } from "./shared-objects.ts";

export interface KlusterletInstallationOptions {
  /** Our own image. */
  readonly image: string;
  readonly replicas?: number;
  /** Further arguments of the operator, such as `--enable-sync-labels`. */
  readonly args?: readonly string[];
}

/** In the order to create them; the definition of Klusterlets is not among them. */
export function klusterletInstallation({
  image,
  replicas = 1,
  args = [],
}: KlusterletInstallationOptions): DynamicObject[] {
  const name = OperatorName.klusterlet;
  const account = { name, namespace: OPERATOR_NAMESPACE };
  return [
    namespace(OPERATOR_NAMESPACE),
    serviceAccount(account),
    ...clusterRights(name, operatorRights(), [account]),
    deployment({
      ...account,
      app: name,
      container: "klusterlet",
      image,
      args: [
        "operator",
        "klusterlet",
        `--image=${image}`,
        "--leader-elect",
        `--leader-elect-namespace=${OPERATOR_NAMESPACE}`,
        ...args,
      ],
      serviceAccount: name,
      replicas,
      resources: resourcesOf(undefined),
      hasReadiness: true,
      env: [{ name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
    }),
  ];
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
      rule([OPERATOR_GROUP], ["klusterlets"], [...LOOK, "update", "patch"]),
      rule([OPERATOR_GROUP], ["klusterlets/status", "klusterlets/finalizers"], ["update", "patch"]),
      rule(["apps"], ["deployments"], KEEP),
      rule([""], ["namespaces", "serviceaccounts", "configmaps"], KEEP),
      rule([RBAC_GROUP], ["clusterroles", "clusterrolebindings", "roles", "rolebindings"], KEEP),
      rule([""], ["secrets"], [...LOOK, "create", "patch", "delete"]),
      rule([""], ["nodes"], LOOK),
      rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], [...LOOK, "create"]),
      {
        ...rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], ["patch"]),
        resourceNames: [...DEFINITION_NAMES],
      },
      rule([WORK_GROUP], ["appliedmanifestworks"], ["list", "patch"]),
      rule(["coordination.k8s.io"], ["leases"], ["get", "create", "update", "patch"]),
      rule(["", "events.k8s.io"], ["events"], ["create", "update", "patch"]),
    ],
    LOOKED_FOR_RULES,
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
