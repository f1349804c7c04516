/**
 * The rights of the hub's programs, as data: the same lists are granted to them, and held by the operator, which may
 * not grant what it does not have.
 */
import { CLUSTER_ACCESS, CLUSTER_GROUP, REGISTER_GROUP } from "#api/cluster";
import { INVENTORY_GROUP } from "#api/inventory";
import { OPERATOR_GROUP, OperatorSecret } from "#api/operator";
import { type PolicyRule, RBAC_GROUP } from "#api/rbac";
import { WORK_GROUP } from "#api/work";
import { rightsTo } from "../kit/index.ts";
import { DEFINITION_NAMES } from "./definitions.ts";
import { KnativeController } from "./names.ts";

const READ = ["get", "list", "watch"];
const KEEP = [...READ, "create", "patch", "delete"];
const ADDON_GROUP = "addon.open-cluster-management.io";
const KNATIVE_GROUP = "operator.knative.dev";
const RBAC_KINDS = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

const EVENTS = rule(["", "events.k8s.io"], ["events"], ["create", "update", "patch"]);

/** Who registers clusters, keeps their rights and their namespaces, and with `inventory` their ClusterProfiles. */
export function registrationRights({ inventory }: { inventory: boolean }): PolicyRule[] {
  return [
    rule([CLUSTER_GROUP], ["managedclusters"], [...READ, "update", "patch"]),
    rule([CLUSTER_GROUP], ["managedclusters/status"], ["update", "patch"]),
    rule([CLUSTER_GROUP], ["managedclustersets"], [...READ, "create", "patch"]),
    rule([CLUSTER_GROUP], ["managedclustersetbindings"], READ),
    rule([CLUSTER_GROUP], ["managedclustersets/status", "managedclustersetbindings/status"], ["patch"]),
    rule(["certificates.k8s.io"], ["certificatesigningrequests"], [...READ, "create"]),
    rule(["certificates.k8s.io"], ["certificatesigningrequests/approval"], ["update"]),
    rule(["certificates.k8s.io"], ["signers"], ["approve"], ["kubernetes.io/kube-apiserver-client"]),
    rule(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
    rule([REGISTER_GROUP], ["managedclusters/clientcertificates"], ["renew"]),
    rule([""], ["namespaces"], [...READ, "create", "patch"]),
    rule([RBAC_GROUP], RBAC_KINDS, KEEP),
    rule(["coordination.k8s.io"], ["leases"], [...READ, "create", "update"]),
    // Handed on to agents, for their add-ons and their work.
    rule([ADDON_GROUP], ["managedclusteraddons"], READ),
    rule([ADDON_GROUP], ["managedclusteraddons/status"], ["update", "patch"]),
    rule([WORK_GROUP], ["manifestworks"], [...READ, "update", "patch"]),
    rule([WORK_GROUP], ["manifestworks/status"], ["update", "patch"]),
    // The one Secret by which a cluster grants access; that it is created cannot be said by name.
    rule([""], ["secrets"], ["create"]),
    rule([""], ["secrets"], [...READ, "update", "patch", "delete"], [CLUSTER_ACCESS.secret]),
    EVENTS,
    ...(inventory ? inventoryRights() : []),
  ];
}

function inventoryRights(): PolicyRule[] {
  return [
    rule([INVENTORY_GROUP], ["clusterprofiles"], KEEP),
    rule([INVENTORY_GROUP], ["clusterprofiles/status"], ["patch"]),
    // Whether the lists of a profile are kept by entry or as a whole stands in its definition.
    rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], READ, [`clusterprofiles.${INVENTORY_GROUP}`]),
  ];
}

/**
 * Who installs Knative. On other clusters the rights of the token count that a ClusterProfile names; on the hub itself
 * they are these. Knative brings roles for its own programs, with other rights in every release: to write such a role
 * without having all of them oneself is what `escalate` and `bind` are for, and a list of them would be no less.
 */
export function knativeRights(): PolicyRule[] {
  return [
    rule([KNATIVE_GROUP], ["knativeservings", "knativeeventings"], [...READ, "patch"]),
    rule([KNATIVE_GROUP], ["knativeservings/status", "knativeeventings/status"], ["patch"]),
    rule([KNATIVE_GROUP], ["knativeservings/finalizers", "knativeeventings/finalizers"], ["update"]),
    rule([INVENTORY_GROUP], ["clusterprofiles"], READ),
    rule([""], ["namespaces"], [...READ, "create", "patch"]),
    rule([""], ["configmaps", "secrets", "services", "serviceaccounts"], KEEP),
    rule(["apps"], ["deployments", "statefulsets"], KEEP),
    rule(["autoscaling"], ["horizontalpodautoscalers"], KEEP),
    rule(["batch"], ["jobs"], [...READ, "create", "delete"]),
    rule(["policy"], ["poddisruptionbudgets"], KEEP),
    rule(["admissionregistration.k8s.io"], ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"], KEEP),
    rule(["discovery.k8s.io"], ["endpointslices"], ["list", "watch"]),
    // Definitions are never deleted, because everything of their kind would go with them.
    rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], [...READ, "create", "patch"]),
    rule([RBAC_GROUP], RBAC_KINDS, KEEP),
    rule([RBAC_GROUP], ["clusterroles", "roles"], ["escalate", "bind"]),
    rule(["caching.internal.knative.dev"], ["images"], KEEP),
    rule(["networking.internal.knative.dev", "cert-manager.io"], ["certificates"], KEEP),
    rule(["networking.istio.io"], ["gateways"], KEEP),
    rule(["security.istio.io"], ["peerauthentications"], KEEP),
    rule(["projectcontour.io"], ["tlscertificatedelegations"], KEEP),
    EVENTS,
  ];
}

/** In their own namespace, to elect one Pod among several. */
export function electionRights(): PolicyRule[] {
  return [rule(["coordination.k8s.io"], ["leases"], [...READ, "create", "update"])];
}

/** What the operator does itself: keeps what it makes, and clears up after clusters when the hub goes. */
function managementRights(): PolicyRule[] {
  return [
    rule([OPERATOR_GROUP], ["clustermanagers"], [...READ, "patch"]),
    rule([OPERATOR_GROUP], ["clustermanagers/status"], ["patch"]),
    rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], [...READ, "create", "patch"]),
    rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], ["delete"], [...DEFINITION_NAMES]),
    rule([""], ["namespaces"], [...READ, "create", "patch", "delete"]),
    rule([""], ["nodes"], READ),
    rule([""], ["serviceaccounts"], KEEP),
    rule([""], ["configmaps", "secrets"], READ),
    rule([""], ["configmaps", "secrets"], ["create"]),
    rule([""], ["configmaps"], ["patch", "delete"], [KnativeController.providerFile]),
    rule([""], ["secrets"], ["patch", "delete"], [OperatorSecret.imagePull]),
    rule([RBAC_GROUP], RBAC_KINDS, KEEP),
    rule(["apps"], ["deployments"], KEEP),
    // What an operator before us may have left.
    rule([""], ["services"], [...READ, "delete"]),
    rule(
      ["admissionregistration.k8s.io"],
      ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
      [...READ, "delete"],
    ),
    EVENTS,
    ...removalRights(),
  ];
}

function removalRights(): PolicyRule[] {
  return [
    // A namespace is only removed if nobody else has anything in it, and to know that one has to look at everything.
    rule(["*"], ["*"], ["list"]),
    rule(["certificates.k8s.io"], ["certificatesigningrequests"], ["delete"]),
    rule(["coordination.k8s.io"], ["leases"], ["delete"]),
    // Objects that wait for somebody who will not come any more lose their finalizers.
    rule([CLUSTER_GROUP], ["managedclusters", "managedclustersets", "managedclustersetbindings"], ["patch"]),
    rule([WORK_GROUP], ["manifestworks"], ["patch"]),
  ];
}

export function operatorRights(): PolicyRule[] {
  return rightsTo(managementRights(), registrationRights({ inventory: true }), knativeRights(), electionRights());
}

function rule(apiGroups: string[], resources: string[], verbs: string[], resourceNames?: string[]): PolicyRule {
  return { apiGroups, resources, ...(resourceNames && { resourceNames }), verbs };
}
