/** The webhooks of a hub: what they are called, where they answer, and what they are asked about. */
import { AddOnConversion } from "#api/addon";
import type { WebhookRule } from "#api/admissionregistration";
import { CLUSTER_GROUP } from "#api/cluster";
import { WORK_GROUP } from "#api/work";

/** The programs that answer. That of add-ons is asked for other versions of them, the others before something is written. */
export type WebhookProgram = "registration" | "work" | "addon";

export const WebhookPath = {
  validateCluster: "/validate-cluster-open-cluster-management-io-v1-managedcluster",
  mutateCluster: "/mutate-cluster-open-cluster-management-io-v1-managedcluster",
  validateBinding: "/validate-cluster-open-cluster-management-io-v1beta2-managedclustersetbinding",
  validateWork: "/validate-work-open-cluster-management-io-v1-manifestwork",
} as const;

/** The Services by which an API server finds the programs; they are called so whatever the ClusterManager is called. */
export const WebhookService = {
  registration: "cluster-manager-registration-webhook",
  work: "cluster-manager-work-webhook",
  addon: AddOnConversion.service,
} as const satisfies Record<WebhookProgram, string>;

/** Where the programs listen in their Pods unless their ClusterManager says otherwise. */
export const WEBHOOK_PORT = AddOnConversion.port;

/**
 * On such a Service, written by the program behind it: where it really listens, if that is on the machine of the API
 * server and no Service leads there.
 */
export const WEBHOOK_URL_ANNOTATION = "webhook.capstan.dev/url";

/** What proves to API servers who the programs are; in the namespace of the hub. */
export const WebhookCertificate = {
  /** Secret, keys `tls.crt` and `tls.key`: the authority. */
  signer: "signer-secret",
  /** ConfigMap with all authorities that may still be in use. */
  bundle: "ca-bundle-configmap",
  bundleKey: "ca-bundle.crt",
  /** Secrets, keys `tls.crt` and `tls.key`: what each program shows. */
  serving: {
    registration: "registration-webhook-serving-cert",
    work: "work-webhook-serving-cert",
    addon: "addon-webhook-serving-cert",
  } as const satisfies Record<WebhookProgram, string>,
} as const;

export interface HubWebhook {
  /** Of the configuration, and of the one webhook in it. */
  readonly name: string;
  readonly type: "Mutating" | "Validating";
  readonly program: "registration" | "work";
  readonly path: string;
  readonly rule: Required<Pick<WebhookRule, "apiGroups" | "apiVersions" | "resources" | "operations">>;
}

const operations = ["CREATE", "UPDATE"];
const clusters = { apiGroups: [CLUSTER_GROUP], apiVersions: ["*"], resources: ["managedclusters"], operations };

/** All that is asked before something is written. */
export const HubWebhooks: readonly HubWebhook[] = [
  {
    name: `managedclustervalidators.admission.${CLUSTER_GROUP}`,
    type: "Validating",
    program: "registration",
    path: WebhookPath.validateCluster,
    rule: clusters,
  },
  {
    name: `managedclustermutators.admission.${CLUSTER_GROUP}`,
    type: "Mutating",
    program: "registration",
    path: WebhookPath.mutateCluster,
    rule: clusters,
  },
  {
    name: `managedclustersetbindingvalidators.admission.${CLUSTER_GROUP}`,
    type: "Validating",
    program: "registration",
    path: WebhookPath.validateBinding,
    rule: {
      apiGroups: [CLUSTER_GROUP],
      apiVersions: ["v1beta2"],
      resources: ["managedclustersetbindings"],
      operations,
    },
  },
  {
    name: `manifestworkvalidators.admission.${WORK_GROUP}`,
    type: "Validating",
    program: "work",
    path: WebhookPath.validateWork,
    rule: { apiGroups: [WORK_GROUP], apiVersions: ["v1"], resources: ["manifestworks"], operations },
  },
];
