/** What the hub's programs, their accounts and their rights are called; upstream's names where upstream has them. */
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { Service } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import { HUB_NAMESPACE, type WebhookProgram } from "#api/operator";
import { SITE_KINDS } from "../kit/index.ts";

/** Under this name the operator answers for the fields that it writes. */
export const FIELD_MANAGER = "capstan-cluster-manager";

export const RegistrationController = {
  deployment: (manager: string) => `${manager}-registration-controller`,
  app: "clustermanager-registration-controller",
  container: "hub-registration-controller",
  account: { name: "registration-controller-sa", namespace: HUB_NAMESPACE },
  role: (manager: string) => `open-cluster-management:${manager}-registration:controller`,
  lease: "registration-controller",
} as const;

export const KnativeController = {
  deployment: (manager: string) => `${manager}-knative-controller`,
  app: "clustermanager-knative-controller",
  container: "knative-controller",
  account: { name: "knative-controller-sa", namespace: HUB_NAMESPACE },
  role: (manager: string) => `open-cluster-management:${manager}-knative:controller`,
  lease: "knative-controller",
  /** Which controllers of a hub it runs; all others are the registration controller's. */
  controllers: ["knative-serving", "knative-eventing", "knative-leftovers"],
  providerFile: "clusterprofile-provider-file",
} as const;

function webhookDeployment(program: string, role: string) {
  return {
    /** Its Pods carry the same as label `app`. */
    deployment: (manager: string) => `${manager}-${program}-webhook`,
    account: { name: `${program}-webhook-sa`, namespace: HUB_NAMESPACE },
    role: (manager: string) => `open-cluster-management:${manager}-${role}:webhook`,
  };
}

export const WebhookDeployment: Readonly<Record<WebhookProgram, ReturnType<typeof webhookDeployment>>> = {
  registration: webhookDeployment("registration", "registration"),
  work: webhookDeployment("work", "work"),
  addon: webhookDeployment("addon", "addon"),
};

export const WEBHOOK_PROGRAMS: readonly WebhookProgram[] = ["registration", "work", "addon"];

/** The Role by which both elect a leader among their Pods. */
export const ELECTION_ROLE = { name: "open-cluster-management:leader-election", namespace: HUB_NAMESPACE } as const;

/** Among these is looked for what is not wished any more. */
export const HUB_KINDS: readonly Kind<KubeObject>[] = [
  ...SITE_KINDS,
  ...([Service, ValidatingWebhookConfiguration, MutatingWebhookConfiguration] as readonly Kind<KubeObject>[]),
];
