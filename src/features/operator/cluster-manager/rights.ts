/**
 * The rights of the hub's programs, as data: the same lists are granted to them, and held by the operator, which may
 * not grant what it does not have.
 */
import { CLUSTER_ACCESS, CLUSTER_GROUP, REGISTER_GROUP } from "#api/cluster";
import { INVENTORY_GROUP } from "#api/inventory";
import { OPERATOR_GROUP, OperatorSecret, WebhookCertificate, type WebhookProgram, WebhookService } from "#api/operator";
import { type PolicyRule, RBAC_GROUP } from "#api/rbac";
import { DETACH_LEDGER, WORK_GROUP } from "#api/work";
import { rightsTo } from "../kit/index.ts";
import { DEFINITION_NAMES, FIRST_TO_GO, NEXT_TO_GO } from "./definitions.ts";
import { KnativeController, WEBHOOK_PROGRAMS } from "./names.ts";

const READ = ["get", "list", "watch"];
const KEEP = [...READ, "create", "patch", "delete"];
const ADDON_GROUP = "addon.open-cluster-management.io";
const KNATIVE_GROUP = "operator.knative.dev";
const RBAC_KINDS = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

const EVENTS = rule(["", "events.k8s.io"], ["events"], ["create", "update", "patch"]);

/**
 * Who registers clusters, keeps their rights and their namespaces, with `inventory` their ClusterProfiles, and with
 * `cleanup` removes their add-ons and works when they go.
 */
export function registrationRights({ inventory, cleanup, finished }: RegistrationDuties): PolicyRule[] {
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
    // The hub's own webhooks ask for these: it puts clusters into the default set, and accepts those it may by itself.
    rule([REGISTER_GROUP], ["managedclusters/accept"], ["update"]),
    rule([CLUSTER_GROUP], ["managedclustersets/join"], ["create"]),
    rule([""], ["namespaces"], [...READ, "create", "patch"]),
    rule([RBAC_GROUP], RBAC_KINDS, KEEP),
    rule(["coordination.k8s.io"], ["leases"], [...READ, "create", "update"]),
    // Handed on to agents, for their add-ons and their work.
    rule([ADDON_GROUP], ["managedclusteraddons"], READ),
    rule([ADDON_GROUP], ["managedclusteraddons/status"], ["update", "patch"]),
    // Whether there are add-ons at all.
    rule(["apiextensions.k8s.io"], ["customresourcedefinitions"], READ, [`managedclusteraddons.${ADDON_GROUP}`]),
    rule([WORK_GROUP], ["manifestworks"], [...READ, "update", "patch"]),
    rule([WORK_GROUP], ["manifestworks/status"], ["update", "patch"]),
    // The one Secret by which a cluster grants access; that it is created cannot be said by name.
    rule([""], ["secrets"], ["create"]),
    rule([""], ["secrets"], [...READ, "update", "patch", "delete"], [CLUSTER_ACCESS.secret]),
    // What a cluster that was given up still has to clean up; agents get the right to cross it out handed on.
    rule([""], ["configmaps"], ["create"]),
    rule([""], ["configmaps"], [...READ, "update", "patch", "delete"], [DETACH_LEDGER]),
    // Add-ons of a cluster that was given up lose their finalizers.
    rule([ADDON_GROUP], ["managedclusteraddons"], ["patch"]),
    EVENTS,
    ...(cleanup ? cleanupRights() : []),
    ...(finished ? [rule([WORK_GROUP], ["manifestworks"], ["delete"])] : []),
    ...(inventory ? inventoryRights() : []),
  ];
}

/** Of the kinds that go unless told; whoever adds to them with --gc-resource-list has to grant the same for those. */
interface RegistrationDuties {
  readonly inventory: boolean;
  readonly cleanup: boolean;
  /** Whether it deletes works that are finished. */
  readonly finished?: boolean;
}

function cleanupRights(): PolicyRule[] {
  return [rule([ADDON_GROUP], ["managedclusteraddons"], ["delete"]), rule([WORK_GROUP], ["manifestworks"], ["delete"])];
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

/** Who is asked before something is written has to ask who may do what; that of add-ons only converts. */
export function webhookRights(program: WebhookProgram): PolicyRule[] {
  if (program === "addon") return [];
  const reviews = rule(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]);
  return program === "work" ? [reviews] : [reviews, rule([""], ["namespaces"], ["get"])];
}

/** To say on its own Service where it listens, where no Service leads. */
export function webhookServiceRights(program: WebhookProgram): PolicyRule[] {
  return [rule([""], ["services"], [...READ, "patch"], [WebhookService[program]])];
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
    rule([""], ["configmaps"], ["patch", "delete"], [KnativeController.providerFile, WebhookCertificate.bundle]),
    rule(
      [""],
      ["secrets"],
      ["patch", "delete"],
      [OperatorSecret.imagePull, WebhookCertificate.signer, ...Object.values(WebhookCertificate.serving)],
    ),
    rule([RBAC_GROUP], RBAC_KINDS, KEEP),
    rule(["apps"], ["deployments"], KEEP),
    rule([""], ["services"], KEEP),
    rule(["admissionregistration.k8s.io"], ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"], KEEP),
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
    ...[...FIRST_TO_GO, ...NEXT_TO_GO].map(({ spec }) => rule([spec.group], [spec.names.plural], ["patch"])),
  ];
}

export function operatorRights(): PolicyRule[] {
  return rightsTo(
    managementRights(),
    registrationRights({ inventory: true, cleanup: true, finished: true }),
    knativeRights(),
    electionRights(),
    ...WEBHOOK_PROGRAMS.flatMap((program) => [webhookRights(program), webhookServiceRights(program)]),
  );
}

function rule(apiGroups: string[], resources: string[], verbs: string[], resourceNames?: string[]): PolicyRule {
  return { apiGroups, resources, ...(resourceNames && { resourceNames }), verbs };
}
