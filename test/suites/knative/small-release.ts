/** Two versions of a Serving that is just large enough to tell how the operator treats one. */
import type { DynamicObject } from "#api/meta";
import { memorySource, type ReleaseSource } from "#features/knative";

export const SMALL = ["activator", "controller"];

export function smallReleases(): ReleaseSource {
  return memorySource("/releases", {
    "knative-serving/1.22.0/1-core.yaml": [...release("1.22.0"), configMap("config-former"), role("former")],
    "knative-serving/1.23.0/1-core.yaml": [...release("1.23.0"), job()],
    "knative-eventing/1.23.0/1-core.yaml": [deployment("eventing-controller", "1.23.0")],
  });
}

function release(version: string): DynamicObject[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "knative-serving" } },
    ...SMALL.map((name) => deployment(name, version)),
    configMap("config-network"),
    role("knative-serving-small"),
  ];
}

function deployment(name: string, version: string): DynamicObject {
  const labels = { app: name, "app.kubernetes.io/version": version };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "knative-serving", labels },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: { containers: [{ name, image: `example.com/${name}:${version}` }] } },
    },
  };
}

function configMap(name: string): DynamicObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "knative-serving" }, data: {} };
}

function role(name: string): DynamicObject {
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules };
}

function job(): DynamicObject {
  const containers = [{ name: "migrate", image: "example.com/migrate:1" }];
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "migrate", namespace: "knative-serving" },
    spec: { template: { spec: { restartPolicy: "Never", containers } } },
  };
}
