/** Manifests of the apply suite. */
import type { DynamicObject } from "#api/meta";

export function namespace(name: string, labels?: Record<string, string>): DynamicObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, ...(labels && { labels }) } };
}

export function configMap(namespace: string, name: string, data: Record<string, string> = { k: "v" }): DynamicObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}

export function secret(
  namespace: string,
  name: string,
  stringData: Record<string, string>,
  more: object = {},
): DynamicObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData, ...more };
}

/** With amounts, ports and times as people and generators write them, which no server keeps so. */
export function deployment(namespace: string, name: string, replicas = 2): DynamicObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, creationTimestamp: null },
        spec: {
          volumes: [{ name: "scratch", emptyDir: {} }],
          containers: [
            {
              name: "web",
              image: "nginx",
              ports: [{ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }],
              resources: { limits: { cpu: "1000m", memory: "1024Mi" }, requests: { cpu: 0.5 } },
              env: [{ name: "A", value: "" }],
            },
          ],
        },
      },
    },
    status: {},
  };
}

export function service(namespace: string, name: string): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace },
    spec: { ports: [{ port: 443, targetPort: 8443 }] },
  };
}

export function endpointSlice(namespace: string, name: string): DynamicObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${name}-1`, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ name: "", port: 8443 }],
    endpoints: [{ addresses: ["192.0.2.10"], conditions: { ready: true } }],
  };
}

/** A kind of its own: `widgets.GROUP`. */
export function definition(group: string): DynamicObject {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

export function widget(group: string, namespace: string, name: string): DynamicObject {
  return { apiVersion: `${group}/v1`, kind: "Widget", metadata: { name, namespace }, spec: { size: 1 } };
}

/** A webhook that judges widgets, and is left out when it does not answer. */
export function webhook(group: string, namespace: string, name: string): DynamicObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: `widgets.${group}` },
    webhooks: [
      {
        name: `widgets.${group}`,
        clientConfig: { service: { namespace, name, path: "/" } },
        rules: [{ apiGroups: [group], apiVersions: ["v1"], resources: ["widgets"], operations: ["CREATE"] }],
        failurePolicy: "Ignore",
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 1,
      },
    ],
  };
}

export function wishes(...objects: readonly DynamicObject[]) {
  return objects.map((object) => ({ object }));
}
