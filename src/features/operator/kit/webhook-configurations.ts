/** What an API server is told of the webhooks of a hub. */
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
  type WebhookClientConfig,
} from "#api/admissionregistration";
import { apiVersionOf, type DynamicObject } from "#api/meta";
import type { HubWebhook } from "#api/operator";

/** As long as upstream's; nothing that a webhook looks at takes a second. */
const TIMEOUT_SECONDS = 10;

/** All fields are said that a server would fill in, so that what it has can be compared with what is wished. */
export function webhookConfiguration(
  { name, type, rule }: HubWebhook,
  clientConfig: WebhookClientConfig,
): DynamicObject & { webhooks: unknown[] } {
  const kind = type === "Mutating" ? MutatingWebhookConfiguration : ValidatingWebhookConfiguration;
  const webhook = {
    name,
    clientConfig,
    rules: [{ ...rule, scope: "*" }],
    // What is not looked at is not let in: a hub without its webhooks would let clusters accept themselves.
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    sideEffects: "None",
    timeoutSeconds: TIMEOUT_SECONDS,
    admissionReviewVersions: ["v1beta1", "v1"],
    ...(type === "Mutating" && { reinvocationPolicy: "Never" }),
  };
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name }, webhooks: [webhook] };
}

/** A webhook below a URL that leads to its program. */
export function clientConfigAt(
  base: string,
  { path }: { readonly path: string },
  authorities: string,
): WebhookClientConfig {
  return { url: `${base.replace(/\/+$/, "")}${path}`, caBundle: Buffer.from(authorities).toString("base64") };
}
