/** How many Pods: of all Deployments, or of single workloads; where an autoscaler decides, its bounds. */
import { Deployment } from "#api/apps";
import type { KnativeSpec, WorkloadOverride } from "#api/knative";
import { type DynamicObject, type KubeObject, kind } from "#api/meta";
import { isOf, type Transformer, withSpec } from "./objects.ts";

interface HorizontalPodAutoscaler extends KubeObject {
  spec?: { minReplicas?: number; maxReplicas?: number };
}
export const HorizontalPodAutoscaler = kind<HorizontalPodAutoscaler>({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
});

/** It runs only while there are ping sources; Eventing itself decides. */
export const PING_ADAPTER = "pingsource-mt-adapter";

/** Their number is decided by an autoscaler, of Kubernetes or of their own. */
const AUTOSCALED: ReadonlySet<string> = new Set([
  "webhook",
  "activator",
  "3scale-kourier-gateway",
  "eventing-webhook",
  "mt-broker-ingress",
  "mt-broker-filter",
  "kafka-broker-dispatcher",
  "kafka-source-dispatcher",
  "kafka-channel-dispatcher",
]);

/** Autoscalers that are not called after what they scale. */
const AUTOSCALERS: Readonly<Record<string, string>> = {
  "mt-broker-ingress": "broker-ingress-hpa",
  "mt-broker-filter": "broker-filter-hpa",
};

export function isAutoscaled(name: string): boolean {
  return AUTOSCALED.has(name);
}

export function autoscalerOf(workload: string): string {
  return AUTOSCALERS[workload] ?? workload;
}

/** The older list first, so that the newer one has the last word. */
export function overridesOf({ deployments = [], workloads = [] }: KnativeSpec): readonly WorkloadOverride[] {
  return [...deployments, ...workloads];
}

export function highlyAvailable(spec: KnativeSpec): Transformer {
  const replicas = spec["high-availability"]?.replicas;
  const own = new Set(overridesOf(spec).flatMap(({ name, replicas: wanted }) => (wanted === undefined ? [] : [name])));
  return (object) => {
    const { name } = object.metadata;
    if (replicas === undefined || own.has(name)) return object;
    if (isOf(object, HorizontalPodAutoscaler)) return withAtLeast(object, replicas);
    return isOf(object, Deployment) && name !== PING_ADAPTER && !isAutoscaled(name)
      ? withSpec(object, { replicas })
      : object;
  };
}

/** An autoscaler that does not go below that number, with as much room above it as before. */
export function withAtLeast(autoscaler: HorizontalPodAutoscaler & DynamicObject, replicas: number): DynamicObject {
  const { minReplicas = 0, maxReplicas } = autoscaler.spec ?? {};
  if (minReplicas >= replicas) return autoscaler;
  const most = maxReplicas === undefined ? {} : { maxReplicas: maxReplicas + replicas - minReplicas };
  return withSpec(autoscaler, { minReplicas: replicas, ...most });
}
