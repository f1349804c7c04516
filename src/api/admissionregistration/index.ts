/** The group `admissionregistration.k8s.io/v1`: who outside of an API server is asked before something is written. */
import { type KubeObject, kind, type LabelSelector } from "#api/meta";

export interface MutatingWebhookConfiguration extends KubeObject {
  webhooks?: MutatingWebhook[];
}
export const MutatingWebhookConfiguration = kind<MutatingWebhookConfiguration>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
  namespaced: false,
});

export interface ValidatingWebhookConfiguration extends KubeObject {
  webhooks?: Webhook[];
}
export const ValidatingWebhookConfiguration = kind<ValidatingWebhookConfiguration>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
});

export interface Webhook {
  /** A domain name with at least three parts. */
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: WebhookRule[];
  failurePolicy?: "Fail" | "Ignore";
  matchPolicy?: "Exact" | "Equivalent";
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  /** `Unknown` and `Some` are found only in configurations from before v1. */
  sideEffects: "None" | "NoneOnDryRun" | "Unknown" | "Some";
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  matchConditions?: MatchCondition[];
}

export interface MutatingWebhook extends Webhook {
  reinvocationPolicy?: "Never" | "IfNeeded";
}

/** Where a webhook is; exactly one of `url` and `service` is set. */
export interface WebhookClientConfig {
  url?: string;
  service?: WebhookService;
  /** PEM in base64 of whom the webhook's certificate comes from; without it, whoever the system trusts. */
  caBundle?: string;
}

export interface WebhookService {
  namespace: string;
  name: string;
  path?: string;
  /** 443 unless told. */
  port?: number;
}

export interface WebhookRule {
  operations?: string[];
  apiGroups?: string[];
  apiVersions?: string[];
  /** `pods`, `pods/status`; a star stands for any resource, and after the slash for any part of one. */
  resources?: string[];
  scope?: "*" | "Cluster" | "Namespaced";
}

export interface MatchCondition {
  name: string;
  /** CEL that gives a boolean. */
  expression: string;
}
