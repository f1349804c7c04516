/** What the agents may do, as data: the operator hands out exactly this, and so has to have it itself. */
import { CLUSTER_GROUP } from "#api/cluster";
import { OperatorSecret } from "#api/operator";
import { type PolicyRule, RBAC_GROUP } from "#api/rbac";
import { WORK_GROUP } from "#api/work";
import { GrantedAccess } from "./names.ts";

const LOOK = ["get", "list", "watch"];
const KEEP = [...LOOK, "create", "update", "patch", "delete"];

/** On the managed cluster: what the registration agent tells the hub about it. */
export const registrationRules: PolicyRule[] = [
  { apiGroups: [""], resources: ["nodes"], verbs: LOOK },
  { apiGroups: [CLUSTER_GROUP], resources: ["clusterclaims"], verbs: LOOK },
  { apiGroups: ["about.k8s.io"], resources: ["clusterproperties"], verbs: LOOK },
  // The namespaces that the sets of the cluster ask for; it never deletes one.
  { apiGroups: [""], resources: ["namespaces"], verbs: [...LOOK, "create", "update", "patch"] },
];

/**
 * On the managed cluster, for those to whom access is granted. Without a ClusterRole only what it takes to withdraw what
 * was granted before: the agent finds that out by looking.
 */
export function accessRules(namespace: string, clusterRole: string | undefined): AccessRules {
  const account = { apiGroups: [""], resourceNames: [GrantedAccess.account] };
  const binding = {
    apiGroups: [RBAC_GROUP],
    resources: ["clusterrolebindings"],
    resourceNames: [GrantedAccess.binding(namespace)],
  };
  const withdraw = ["get", "delete"];
  if (clusterRole === undefined) {
    return {
      inNamespace: [{ ...account, resources: ["serviceaccounts"], verbs: withdraw }],
      everywhere: [{ ...binding, verbs: withdraw }],
    };
  }
  return {
    inNamespace: [
      { ...account, resources: ["serviceaccounts"], verbs: [...LOOK, "patch", "delete"] },
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["create"] },
      { ...account, resources: ["serviceaccounts/token"], verbs: ["create"] },
    ],
    everywhere: [
      { ...binding, verbs: [...LOOK, "patch", "delete"] },
      { apiGroups: [RBAC_GROUP], resources: ["clusterrolebindings"], verbs: ["create"] },
      { apiGroups: [RBAC_GROUP], resources: ["clusterroles"], resourceNames: [clusterRole], verbs: ["bind"] },
    ],
  };
}

export interface AccessRules {
  /** The Klusterlet's. */
  readonly inNamespace: PolicyRule[];
  readonly everywhere: PolicyRule[];
}

/** Where the agents run: the registration agent keeps its identity there. What does not exist yet cannot be named. */
export const identityRules: PolicyRule[] = [
  {
    apiGroups: [""],
    resources: ["secrets"],
    resourceNames: [OperatorSecret.hub],
    verbs: [...LOOK, "update", "patch"],
  },
  { apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
];

/** Where the agents run, if there are several of one: they agree on who works. */
export const electionRules: PolicyRule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: [...LOOK, "create", "update"] },
];

/** On the managed cluster: the work agent's own objects, and acting as the executor of a work. */
export const workRules: PolicyRule[] = [
  { apiGroups: [WORK_GROUP], resources: ["appliedmanifestworks"], verbs: KEEP },
  { apiGroups: [WORK_GROUP], resources: ["appliedmanifestworks/status"], verbs: ["patch", "update"] },
  { apiGroups: [WORK_GROUP], resources: ["appliedmanifestworks/finalizers"], verbs: ["update"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"] },
  { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "update"] },
];

/**
 * On the managed cluster, beside the ClusterRole `admin`: what works bring that are no namespaced objects. Roles in works
 * may hold anything, which is why whoever writes works for a cluster is its administrator.
 */
export const executionRules: PolicyRule[] = [
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: KEEP },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["create", "update", "patch", "delete"] },
  { apiGroups: [RBAC_GROUP], resources: ["clusterrolebindings", "rolebindings"], verbs: KEEP },
  { apiGroups: [RBAC_GROUP], resources: ["clusterroles", "roles"], verbs: [...KEEP, "escalate", "bind"] },
  { apiGroups: ["scheduling.k8s.io"], resources: ["priorityclasses"], verbs: KEEP },
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    verbs: KEEP,
  },
  { apiGroups: ["monitoring.coreos.com"], resources: ["servicemonitors"], verbs: KEEP },
];
