/** What the default roles allow, written as verbs, groups and resources in words. */
import type { PolicyRule } from "./policy.ts";

/** Verbs that go together, and what to write for the core group, whose real name is empty. */
const WORDS = new Map([
  ["read", ["get", "list", "watch"]],
  ["write", ["create", "delete", "deletecollection", "patch", "update"]],
  ["core", [""]],
]);

/** `allow("read", "core apps", "pods deployments/scale")`; names limit the rule to objects called so. */
export function allow(verbs: string, groups: string, resources: string, names = ""): PolicyRule {
  return {
    verbs: words(verbs),
    apiGroups: words(groups),
    resources: words(resources),
    resourceNames: words(names),
    nonResourceURLs: [],
  };
}

/** `allowPaths("get", "/version /openapi/*")`. */
export function allowPaths(verbs: string, paths: string): PolicyRule {
  return { verbs: words(verbs), apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: words(paths) };
}

function words(text: string): string[] {
  const found = text.split(/\s+/).filter((word) => word !== "");
  return [...new Set(found.flatMap((word) => WORDS.get(word) ?? [word]))].sort();
}

const HEALTH = "/livez /readyz /healthz";
const VERSION = "/version /version/";

export const CLUSTER_ADMIN = [allow("*", "*", "*"), allowPaths("*", "*")];

export const DISCOVERY = [allowPaths("get", `${HEALTH} ${VERSION} /openapi /openapi/* /api /api/* /apis /apis/*`)];

export const PUBLIC_INFO = [allowPaths("get", `${HEALTH} ${VERSION}`)];

export const MONITORING = [
  allowPaths("get", `${HEALTH} /livez/* /readyz/* /healthz/* /metrics /metrics/slis`),
  allow("get", "core", "nodes/metrics"),
];

export const BASIC_USER = [
  allow("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
  allow("create", "authentication.k8s.io", "selfsubjectreviews"),
];

export const AUTH_DELEGATOR = [
  allow("create", "authentication.k8s.io", "tokenreviews"),
  allow("create", "authorization.k8s.io", "subjectaccessreviews"),
];

export const ISSUER_DISCOVERY = [
  allowPaths(
    "get",
    "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
  ),
];

export const NODE_BOOTSTRAPPER = [allow("create read", "certificates.k8s.io", "certificatesigningrequests")];

/** Reading whatever a namespace holds, except what would let the reader become somebody else. */
export const VIEW = [
  allow(
    "read",
    "core",
    `configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers
     replicationcontrollers/scale serviceaccounts services services/status`,
  ),
  allow(
    "read",
    "core",
    `bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas
     resourcequotas/status`,
  ),
  allow("read", "core", "namespaces"),
  allow("read", "core events.k8s.io", "events"),
  allow("read", "discovery.k8s.io", "endpointslices"),
  allow(
    "read",
    "apps",
    `controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets
     replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status`,
  ),
  allow("read", "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
  allow("read", "batch", "cronjobs cronjobs/status jobs jobs/status"),
  allow(
    "read",
    "extensions",
    `daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status
     networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale`,
  ),
  allow("read", "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
  allow("read", "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
  allow("read", "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
];

/** Changing what a namespace holds, and with Secrets and Pods acting as its service accounts. */
export const EDIT = [
  allow("read", "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
  allow("impersonate", "core", "serviceaccounts"),
  allow("write", "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
  allow("create", "core", "pods/eviction"),
  allow(
    "write",
    "core",
    `configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts
     services services/proxy`,
  ),
  allow("create", "core", "serviceaccounts/token"),
  allow("write", "core events.k8s.io", "events"),
  allow(
    "write",
    "apps",
    `daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets
     statefulsets/scale`,
  ),
  allow("write", "autoscaling", "horizontalpodautoscalers"),
  allow("write", "batch", "cronjobs jobs"),
  allow(
    "write",
    "extensions",
    `daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets
     replicasets/scale replicationcontrollers/scale`,
  ),
  allow("write", "policy", "poddisruptionbudgets"),
  allow("write", "networking.k8s.io", "ingresses networkpolicies"),
  allow("write", "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
  allow("read write", "coordination.k8s.io", "leases"),
];

/** Handing on within a namespace what one holds there. */
export const ADMIN = [
  allow("create", "authorization.k8s.io", "localsubjectaccessreviews"),
  allow("read write", "rbac.authorization.k8s.io", "rolebindings roles"),
];

export const AUTHENTICATION_READER = [allow("read", "core", "configmaps", "extension-apiserver-authentication")];

/** Approving requests to one signer. */
export function approver(signer: string): PolicyRule[] {
  return [allow("approve", "certificates.k8s.io", "signers", signer)];
}
