/** Who converts between the versions of a kind that say different things. */
import type { WebhookClientConfig } from "#api/admissionregistration";
import type { CustomResourceDefinition } from "#api/apiextensions";

/** The Service whose Pods convert, and the path and port that they do it at. */
export const AddOnConversion = { service: "cluster-manager-addon-webhook", path: "/convert", port: 9443 } as const;

export function convertedBy(
  definition: CustomResourceDefinition,
  clientConfig: WebhookClientConfig,
): CustomResourceDefinition {
  const webhook = { clientConfig, conversionReviewVersions: ["v1", "v1beta1"] };
  return { ...definition, spec: { ...definition.spec, conversion: { strategy: "Webhook", webhook } } };
}
