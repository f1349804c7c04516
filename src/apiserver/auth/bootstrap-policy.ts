import type { DynamicObject } from "#api/meta";
import { aggregatedRules } from "./aggregation.ts";
import {
  ADMIN,
  AUTH_DELEGATOR,
  AUTHENTICATION_READER,
  allow,
  approver,
  BASIC_USER,
  CLUSTER_ADMIN,
  DISCOVERY,
  EDIT,
  ISSUER_DISCOVERY,
  MONITORING,
  NODE_BOOTSTRAPPER,
  PUBLIC_INFO,
  VIEW,
} from "./default-rules.ts";
import { type PolicyRule, RBAC_GROUP, RBAC_VERSION, writtenRule } from "./policy.ts";
import { Group } from "./users.ts";

const LABELS = { "kubernetes.io/bootstrapping": "rbac-defaults" };
const ANNOTATIONS = { "rbac.authorization.kubernetes.io/autoupdate": "true" };

/** Each takes in the one before, so that they are filled in this order. */
const AGGREGATED = ["view", "edit", "admin"] as const;

const CLUSTER_ROLES: Readonly<Record<string, readonly PolicyRule[]>> = {
  "cluster-admin": CLUSTER_ADMIN,
  "system:discovery": DISCOVERY,
  "system:monitoring": MONITORING,
  "system:basic-user": BASIC_USER,
  "system:public-info-viewer": PUBLIC_INFO,
  "system:auth-delegator": AUTH_DELEGATOR,
  "system:service-account-issuer-discovery": ISSUER_DISCOVERY,
  "system:node-bootstrapper": NODE_BOOTSTRAPPER,
  "system:certificates.k8s.io:certificatesigningrequests:nodeclient": [
    allow("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient"),
  ],
  "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient": [
    allow("create", "certificates.k8s.io", "certificatesigningrequests/selfnodeclient"),
  ],
  "system:certificates.k8s.io:legacy-unknown-approver": approver("kubernetes.io/legacy-unknown"),
  "system:certificates.k8s.io:kubelet-serving-approver": approver("kubernetes.io/kubelet-serving"),
  "system:certificates.k8s.io:kube-apiserver-client-approver": approver("kubernetes.io/kube-apiserver-client"),
  "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver": approver(
    "kubernetes.io/kube-apiserver-client-kubelet",
  ),
  // Programs that do not run beside this server. Others refer to these roles by name, so they exist and allow nothing.
  "system:kube-aggregator": [],
  "system:kube-controller-manager": [],
  "system:kube-dns": [],
  "system:kube-scheduler": [],
  "system:kubelet-api-admin": [],
  "system:node": [],
  "system:node-problem-detector": [],
  "system:node-proxier": [],
  "system:persistent-volume-provisioner": [],
  "system:volume-scheduler": [],
};

type Subject = { readonly kind: "Group" | "User"; readonly name: string };

const group = (name: string): Subject => ({ kind: "Group", name });
const user = (name: string): Subject => ({ kind: "User", name });

/** ClusterRoleBindings, each with the name of the role that it binds. */
const CLUSTER_BINDINGS: Readonly<Record<string, readonly Subject[]>> = {
  "cluster-admin": [group(Group.masters)],
  "system:monitoring": [group("system:monitoring")],
  "system:discovery": [group(Group.authenticated)],
  "system:basic-user": [group(Group.authenticated)],
  "system:public-info-viewer": [group(Group.authenticated), group(Group.unauthenticated)],
  "system:service-account-issuer-discovery": [group(Group.serviceAccounts)],
  "system:kube-controller-manager": [user("system:kube-controller-manager")],
  "system:kube-scheduler": [user("system:kube-scheduler")],
  "system:volume-scheduler": [user("system:kube-scheduler")],
  "system:node-proxier": [user("system:kube-proxy")],
  "system:node": [],
};

const READER = "extension-apiserver-authentication-reader";
const SYSTEM_NAMESPACE = "kube-system";

/** The roles and bindings that every cluster starts with; aggregated roles come with their rules filled in. */
export function bootstrapPolicy(): DynamicObject[] {
  const roles = [
    ...Object.entries(CLUSTER_ROLES).map(([name, rules]) => role("ClusterRole", { name }, rules)),
    ...aggregatedRoles(),
  ];
  const bindings = Object.entries(CLUSTER_BINDINGS).map(([name, subjects]) => {
    return binding("ClusterRoleBinding", { name }, { kind: "ClusterRole", name }, subjects);
  });
  return [
    ...roles,
    ...bindings,
    role("Role", { name: READER, namespace: SYSTEM_NAMESPACE }, AUTHENTICATION_READER),
    binding("RoleBinding", { name: `system::${READER}`, namespace: SYSTEM_NAMESPACE }, { kind: "Role", name: READER }, [
      user("system:kube-controller-manager"),
      user("system:kube-scheduler"),
    ]),
  ];
}

/** view, edit and admin, and the roles that they gather their own part from. */
function aggregatedRoles(): DynamicObject[] {
  const parts = { view: VIEW, edit: EDIT, admin: ADMIN };
  const roles = AGGREGATED.map((name) => {
    return role("ClusterRole", { name: `system:aggregate-to-${name}`, labels: gatheredBy(name) }, parts[name]);
  });
  for (const [index, name] of AGGREGATED.entries()) {
    const next = AGGREGATED[index + 1];
    const gathering = {
      ...role("ClusterRole", { name, labels: next ? gatheredBy(next) : {} }, []),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: gatheredBy(name) }] },
    };
    roles.push({ ...gathering, rules: (aggregatedRules(gathering, roles) ?? []).map(writtenRule) });
  }
  return roles;
}

function gatheredBy(name: string): Record<string, string> {
  return { [`${RBAC_GROUP}/aggregate-to-${name}`]: "true" };
}

interface Identity {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

function role(kind: "ClusterRole" | "Role", identity: Identity, rules: readonly PolicyRule[]): DynamicObject {
  return { apiVersion: RBAC_VERSION, kind, metadata: metadata(identity), rules: rules.map(writtenRule) };
}

function binding(
  kind: "ClusterRoleBinding" | "RoleBinding",
  identity: Identity,
  roleRef: { readonly kind: string; readonly name: string },
  subjects: readonly Subject[],
): DynamicObject {
  return {
    apiVersion: RBAC_VERSION,
    kind,
    metadata: metadata(identity),
    ...(subjects.length > 0 && { subjects: subjects.map((each) => ({ ...each, apiGroup: RBAC_GROUP })) }),
    roleRef: { apiGroup: RBAC_GROUP, ...roleRef },
  };
}

function metadata({ labels, ...identity }: Identity): DynamicObject["metadata"] {
  return { ...identity, labels: { ...LABELS, ...labels }, annotations: { ...ANNOTATIONS } };
}
