/** Every question of the matrix: identities × verbs × resources × names and namespaces. */
import { Random } from "../../../src/apiserver/store/testing/random.ts";
import { CLUSTER_NAMES, IDENTITIES, type Identity } from "./identities.ts";
import { isAllowed, type Probe } from "./rights.ts";

export interface Question {
  readonly identity: Identity;
  readonly probe: Probe;
  readonly expected: boolean;
}

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

interface Resource {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verbs?: readonly string[];
  /** Asked for beside the whole collection. */
  readonly names?: readonly string[];
}

const CLUSTER = "cluster.open-cluster-management.io";
const REGISTER = "register.open-cluster-management.io";
const WORK = "work.open-cluster-management.io";
const ADDON = "addon.open-cluster-management.io";
const RBAC = "rbac.authorization.k8s.io";
const CERTIFICATES = "certificates.k8s.io";

/** In which agents have something of their own, or would most like to have: asked for in all namespaces. */
const NAMESPACED: readonly Resource[] = [
  { group: "", resource: "secrets", names: ["capstan-cluster-access", "hub-kubeconfig-secret"] },
  { group: "", resource: "configmaps", names: ["capstan-detach-ledger", "kube-root-ca.crt"] },
  { group: "", resource: "events", names: ["one"] },
  { group: "", resource: "serviceaccounts", verbs: [...VERBS, "impersonate"], names: ["default"] },
  { group: "", resource: "serviceaccounts", subresource: "token", verbs: ["create"], names: ["default"] },
  { group: "coordination.k8s.io", resource: "leases", names: ["managed-cluster-lease"] },
  { group: "events.k8s.io", resource: "events", names: ["one"] },
  { group: WORK, resource: "manifestworks", names: ["one"] },
  { group: WORK, resource: "manifestworks", subresource: "status", names: ["one"] },
  { group: ADDON, resource: "managedclusteraddons", names: ["one"] },
  { group: ADDON, resource: "managedclusteraddons", subresource: "status", names: ["one"] },
  {
    group: RBAC,
    resource: "roles",
    verbs: [...VERBS, "bind", "escalate"],
    names: ["open-cluster-management:cluster-access"],
  },
  { group: RBAC, resource: "rolebindings", names: ["open-cluster-management:managedcluster:edge:work"] },
  { group: "multicluster.x-k8s.io", resource: "clusterprofiles", names: ["edge"] },
];

/** Others of the hub's namespaces: asked for at home, at a neighbour's, where the hub lives, and everywhere. */
const ELSEWHERE: readonly Resource[] = [
  { group: "", resource: "pods" },
  { group: "", resource: "pods", subresource: "exec", verbs: ["get", "create"] },
  { group: "", resource: "pods", subresource: "log", verbs: ["get"] },
  { group: "", resource: "services" },
  { group: "", resource: "services", subresource: "proxy", verbs: ["get", "create"] },
  { group: "apps", resource: "deployments" },
  { group: "apps", resource: "deployments", subresource: "scale", verbs: ["get", "update", "patch"] },
  { group: "batch", resource: "jobs" },
  { group: "discovery.k8s.io", resource: "endpointslices" },
  { group: "authorization.k8s.io", resource: "localsubjectaccessreviews", verbs: ["create"] },
  { group: CLUSTER, resource: "managedclustersetbindings" },
  { group: CLUSTER, resource: "placements" },
  { group: CLUSTER, resource: "placementdecisions" },
  { group: CLUSTER, resource: "addonplacementscores" },
  { group: WORK, resource: "manifestworkreplicasets" },
  { group: WORK, resource: "manifestworks", subresource: "finalizers", verbs: ["update"] },
  { group: ADDON, resource: "addondeploymentconfigs" },
  {
    group: "multicluster.x-k8s.io",
    resource: "clusterprofiles",
    subresource: "status",
    verbs: ["get", "update", "patch"],
  },
  { group: "operator.knative.dev", resource: "knativeservings" },
  { group: "operator.knative.dev", resource: "knativeeventings" },
  { group: "*", resource: "*", verbs: ["*", "get"] },
];

/** What lies in no namespace, or in no kind at all. */
const AT_LARGE: readonly Resource[] = [
  { group: CLUSTER, resource: "managedclusters", names: CLUSTER_NAMES },
  { group: CLUSTER, resource: "managedclusters", subresource: "status", names: CLUSTER_NAMES },
  { group: CLUSTER, resource: "managedclusters", subresource: "finalizers", verbs: ["update"], names: CLUSTER_NAMES },
  { group: CLUSTER, resource: "managedclustersets", names: ["default", "global"] },
  { group: CLUSTER, resource: "managedclustersets", subresource: "join", verbs: ["create", "get"], names: ["default"] },
  { group: CLUSTER, resource: "managedclustersets", subresource: "bind", verbs: ["create", "get"], names: ["default"] },
  { group: CLUSTER, resource: "managedclustersets", subresource: "status", names: ["default"] },
  { group: REGISTER, resource: "managedclusters", verbs: [...VERBS, "renew", "accept"], names: CLUSTER_NAMES },
  {
    group: REGISTER,
    resource: "managedclusters",
    subresource: "accept",
    verbs: ["update", "create", "*"],
    names: CLUSTER_NAMES,
  },
  {
    group: REGISTER,
    resource: "managedclusters",
    subresource: "clientcertificates",
    verbs: ["renew", "update", "*"],
    names: CLUSTER_NAMES,
  },
  { group: CERTIFICATES, resource: "certificatesigningrequests", names: ["edge-abcde"] },
  { group: CERTIFICATES, resource: "certificatesigningrequests", subresource: "approval", names: ["edge-abcde"] },
  { group: CERTIFICATES, resource: "certificatesigningrequests", subresource: "status", names: ["edge-abcde"] },
  {
    group: CERTIFICATES,
    resource: "signers",
    verbs: ["approve", "sign", "attest"],
    names: ["kubernetes.io/kube-apiserver-client", "kubernetes.io/kubelet-serving", "open-cluster-management.io/grpc"],
  },
  {
    group: RBAC,
    resource: "clusterroles",
    verbs: [...VERBS, "bind", "escalate"],
    names: ["cluster-admin", "open-cluster-management:managedcluster:edge"],
  },
  {
    group: RBAC,
    resource: "clusterrolebindings",
    names: ["cluster-admin", "open-cluster-management:managedcluster:edge"],
  },
  { group: "", resource: "namespaces", names: ["edge", "edge-1", "kube-system"] },
  { group: "", resource: "namespaces", subresource: "finalize", verbs: ["update"], names: ["edge"] },
  { group: "", resource: "nodes", names: ["one"] },
  { group: "", resource: "nodes", subresource: "proxy", verbs: ["get", "create"], names: ["one"] },
  { group: "", resource: "persistentvolumes" },
  { group: "", resource: "users", verbs: ["impersonate"], names: ["admin", "system:admin"] },
  {
    group: "",
    resource: "groups",
    verbs: ["impersonate"],
    names: ["system:masters", "system:open-cluster-management:edge"],
  },
  { group: "authentication.k8s.io", resource: "uids", verbs: ["impersonate"], names: ["1"] },
  { group: "authentication.k8s.io", resource: "userextras", subresource: "scopes", verbs: ["impersonate"] },
  { group: "authentication.k8s.io", resource: "tokenreviews", verbs: ["create"] },
  { group: "authentication.k8s.io", resource: "selfsubjectreviews", verbs: ["create"] },
  { group: "authorization.k8s.io", resource: "subjectaccessreviews", verbs: ["create"] },
  { group: "authorization.k8s.io", resource: "selfsubjectaccessreviews", verbs: ["create"] },
  { group: "authorization.k8s.io", resource: "selfsubjectrulesreviews", verbs: ["create"] },
  { group: "apiextensions.k8s.io", resource: "customresourcedefinitions" },
  { group: "apiregistration.k8s.io", resource: "apiservices" },
  { group: "admissionregistration.k8s.io", resource: "mutatingwebhookconfigurations" },
  { group: "admissionregistration.k8s.io", resource: "validatingwebhookconfigurations" },
  { group: ADDON, resource: "clustermanagementaddons", names: ["proxy"] },
  { group: ADDON, resource: "addontemplates", names: ["proxy"] },
  { group: "operator.open-cluster-management.io", resource: "clustermanagers", names: ["cluster-manager"] },
  { group: "operator.open-cluster-management.io", resource: "klusterlets", names: ["klusterlet"] },
  { group: "about.k8s.io", resource: "clusterproperties" },
  { group: "*", resource: "*", verbs: ["*"] },
];

/** Where the hub and its administrators keep their own. */
const HUB_NAMESPACES = [
  "open-cluster-management",
  "open-cluster-management-hub",
  "fleet-system",
  "kube-system",
  "default",
];
const EVERYWHERE = "";

/** All of them, with the answers that they should have. */
export function* questions(): Generator<Question> {
  for (const identity of IDENTITIES) {
    for (const probe of probesFor(identity)) yield { identity, probe, expected: isAllowed(identity.rights, probe) };
  }
}

function* probesFor({ cluster }: Identity): Generator<Probe> {
  const neighbour = cluster === "edge" ? "edge-1" : "edge";
  for (const namespace of [...CLUSTER_NAMES, ...HUB_NAMESPACES, EVERYWHERE]) yield* probesOf(NAMESPACED, namespace);
  for (const namespace of [cluster, neighbour, "kube-system", EVERYWHERE]) yield* probesOf(ELSEWHERE, namespace);
  yield* probesOf(AT_LARGE, EVERYWHERE);
}

function* probesOf(resources: readonly Resource[], namespace: string): Generator<Probe> {
  for (const { group, resource, subresource = "", verbs = VERBS, names = [] } of resources) {
    for (const verb of verbs) {
      for (const name of ["", ...names]) yield { verb, group, resource, subresource, namespace, name };
    }
  }
}

/** All that are allowed, and so many of the others, chosen by the seed. */
export function sampled(all: readonly Question[], count: number, seed: number): Question[] {
  const random = new Random(seed);
  const refused = all.filter(({ expected }) => !expected);
  const share = count / refused.length;
  return [...all.filter(({ expected }) => expected), ...refused.filter(() => random.next() < share)];
}
