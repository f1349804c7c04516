/** Where everything lies, and what the namespace carries. */

import { Namespace } from "#api/core";
import type { KnativeSpec } from "#api/knative";
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { withAnnotations, withLabels } from "#lib/meta";
import { changedAt, isOf, type Transformer } from "./objects.ts";

/** Where objects name a namespace that is not their own. */
const REFERENCES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  RoleBinding: [["subjects", "*"]],
  ClusterRoleBinding: [["subjects", "*"]],
  MutatingWebhookConfiguration: [["webhooks", "*", "clientConfig", "service"]],
  ValidatingWebhookConfiguration: [["webhooks", "*", "clientConfig", "service"]],
  APIService: [["spec", "service"]],
  CustomResourceDefinition: [["spec", "conversion", "webhook", "clientConfig", "service"]],
};

/** Everything in one namespace, which is also what every Namespace of the release becomes. */
export function inNamespace(namespace: string, isNamespaced: (object: DynamicObject) => boolean): Transformer {
  const moved = (reference: unknown) =>
    isObject(reference) && reference.namespace !== undefined ? { ...reference, namespace } : reference;
  return (object) => {
    if (isOf(object, Namespace)) return { ...object, metadata: { ...object.metadata, name: namespace } };
    const { namespace: _, ...metadata } = object.metadata;
    const placed = { ...object, metadata: isNamespaced(object) ? { ...metadata, namespace } : metadata };
    return (REFERENCES[object.kind] ?? []).reduce<DynamicObject>((all, path) => changedAt(all, path, moved), placed);
  };
}

/** The two names of one field, of which `namespace` wins key by key. */
export function namespaceMetadata({
  namespace = {},
  namespaceConfiguration: other = {},
}: Pick<KnativeSpec, "namespace" | "namespaceConfiguration">): {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
} {
  return {
    labels: { ...other.labels, ...namespace.labels },
    annotations: { ...other.annotations, ...namespace.annotations },
  };
}

export function namespaceConfigured(spec: KnativeSpec): Transformer {
  const { labels, annotations } = namespaceMetadata(spec);
  return (object) => (isOf(object, Namespace) ? withAnnotations(withLabels(object, labels), annotations) : object);
}
