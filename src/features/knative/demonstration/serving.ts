import { crd } from "#api/apiextensions";
import type { DynamicObject } from "#api/meta";
import { int32, object, optional, string } from "#api/schema";
import { NOTE, piecesOf } from "./pieces.ts";

const NAMESPACE = "knative-serving";

/** A kind of its own, so that a definition is installed too. */
function greetings(version: string): DynamicObject {
  const definition = crd({
    group: "demo.capstan.dev",
    names: { kind: "Greeting", plural: "greetings" },
    scope: "Namespaced",
    annotations: NOTE,
    labels: { "app.kubernetes.io/name": "knative-serving", "app.kubernetes.io/version": version },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        status: true,
        schema: object({ spec: object({ text: string(), times: optional(int32()) }) }).schema,
      },
    ],
  });
  return { ...definition };
}

/** The files of one version, by name. What went with the newer version is what an upgrade has to remove. */
export function servingFiles(version: string, { isOld }: { isOld: boolean }): Record<string, DynamicObject[]> {
  const { thing, configMap, deployment, service, autoscaler, budget, job } = piecesOf(version, NAMESPACE);
  const rbac = "rbac.authorization.k8s.io/v1";
  const metrics = { name: "http-metrics", port: 9090, targetPort: 9090 };
  return {
    "1-serving-crds.yaml": [greetings(version)],
    "2-serving-core.yaml": [
      thing({ apiVersion: "v1", kind: "Namespace" }, NAMESPACE, {}, true),
      thing({ apiVersion: "v1", kind: "ServiceAccount" }, "controller"),
      thing(
        { apiVersion: rbac, kind: "ClusterRole" },
        "knative-serving-demonstration",
        { rules: [{ apiGroups: ["demo.capstan.dev"], resources: ["greetings"], verbs: ["get", "list", "watch"] }] },
        true,
      ),
      thing(
        { apiVersion: rbac, kind: "ClusterRoleBinding" },
        "knative-serving-demonstration",
        {
          subjects: [{ kind: "ServiceAccount", name: "controller", namespace: NAMESPACE }],
          roleRef: {
            apiGroup: "rbac.authorization.k8s.io",
            kind: "ClusterRole",
            name: "knative-serving-demonstration",
          },
        },
        true,
      ),
      configMap("config-deployment", { "queue-sidecar-image": `demo.capstan.dev/knative/queue:${version}` }),
      configMap("config-features", { "kubernetes.podspec-affinity": "disabled" }),
      configMap("config-logging", { "loglevel.controller": "info" }),
      configMap("config-network", { "ingress-class": "istio.ingress.networking.knative.dev" }),
      ...(isOld ? [configMap("config-tracing", { backend: "none" })] : []),
      deployment("activator"),
      autoscaler("activator", { minReplicas: 1, maxReplicas: 20 }),
      budget("activator-pdb", "activator"),
      service("activator-service", "activator", [metrics, { name: "http", port: 80, targetPort: 8012 }]),
      deployment("autoscaler", { replicas: 1 }),
      service("autoscaler", "autoscaler", [metrics]),
      deployment("controller"),
      service("controller", "controller", [metrics]),
      deployment("webhook"),
      autoscaler("webhook", { minReplicas: 1, maxReplicas: 5 }),
      budget("webhook-pdb", "webhook"),
      service("webhook", "webhook", [{ name: "https-webhook", port: 443, targetPort: 8443 }]),
    ],
    "3-serving-post-install-jobs.yaml": [job("storage-version-migration-serving-")],
  };
}
