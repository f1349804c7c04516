/** The pieces that the demonstration is built from, in the shape that Knative's own manifests have. */
import type { DynamicObject } from "#api/meta";

/** Says on every object what it is, because it looks like something else. */
export const NOTE = {
  "demo.capstan.dev/note":
    "A demonstration written for Capstan. It is no release of Knative, and none of its programs do anything.",
};

/** Pieces of one version, in one namespace. */
export interface Pieces {
  thing(
    type: { apiVersion: string; kind: string },
    name: string,
    content?: object,
    isClusterWide?: boolean,
  ): DynamicObject;
  configMap(name: string, data: Record<string, string>): DynamicObject;
  deployment(
    name: string,
    options?: { replicas?: number; env?: { name: string; value: string }[]; volumes?: object[] },
  ): DynamicObject;
  service(
    name: string,
    app: string,
    ports: { name: string; port: number; targetPort: number }[],
    type?: string,
  ): DynamicObject;
  autoscaler(name: string, bounds: { minReplicas: number; maxReplicas: number }): DynamicObject;
  budget(name: string, app: string): DynamicObject;
  /** A Job without a name: it gets one from the version. */
  job(generateName: string): DynamicObject;
}

export function piecesOf(version: string, namespace: string): Pieces {
  const labels = { "app.kubernetes.io/name": "knative-serving", "app.kubernetes.io/version": version };
  const image = (name: string) => `demo.capstan.dev/knative/${name}:${version}`;
  const thing: Pieces["thing"] = ({ apiVersion, kind }, name, content = {}, isClusterWide = false) => ({
    apiVersion,
    kind,
    metadata: { name, ...(!isClusterWide && { namespace }), labels, annotations: NOTE },
    ...content,
  });
  const resources = { requests: { cpu: "10m", memory: "10Mi" }, limits: { cpu: "100m", memory: "100Mi" } };

  return {
    thing,
    configMap: (name, data) => thing({ apiVersion: "v1", kind: "ConfigMap" }, name, { data }),
    deployment(name, { replicas, env = [], volumes } = {}) {
      const selector = { app: name };
      const container = {
        name,
        image: image(name),
        env: [{ name: "SYSTEM_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } }, ...env],
        ports: [{ name: "metrics", containerPort: 9090 }],
        readinessProbe: { httpGet: { port: 9090, path: "/ready" }, periodSeconds: 5 },
        resources,
      };
      return thing({ apiVersion: "apps/v1", kind: "Deployment" }, name, {
        spec: {
          ...(replicas !== undefined && { replicas }),
          selector: { matchLabels: selector },
          template: {
            metadata: { labels: { ...labels, ...selector }, annotations: NOTE },
            spec: { containers: [container], ...(volumes && { volumes }) },
          },
        },
      });
    },
    service: (name, app, ports, type) =>
      thing({ apiVersion: "v1", kind: "Service" }, name, { spec: { ...(type && { type }), selector: { app }, ports } }),
    autoscaler: (name, bounds) =>
      thing({ apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" }, name, {
        spec: {
          ...bounds,
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
          metrics: [
            { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 100 } } },
          ],
        },
      }),
    budget: (name, app) =>
      thing({ apiVersion: "policy/v1", kind: "PodDisruptionBudget" }, name, {
        spec: { minAvailable: "80%", selector: { matchLabels: { app } } },
      }),
    job(generateName) {
      const container = { name: "migrate", image: image("migrate"), resources };
      const { metadata, ...job } = thing({ apiVersion: "batch/v1", kind: "Job" }, "", {
        spec: {
          ttlSecondsAfterFinished: 600,
          backoffLimit: 10,
          template: { metadata: { annotations: NOTE }, spec: { restartPolicy: "OnFailure", containers: [container] } },
        },
      });
      const { name: _, ...rest } = metadata;
      return { ...job, metadata: { ...rest, generateName } } as unknown as DynamicObject;
    },
  };
}
