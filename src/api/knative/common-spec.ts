/** What KnativeServing and KnativeEventing have in common: the fields of `spec`, and all of `status`. */
import type { ConditionStatus } from "#api/meta";
import {
  boolean,
  type Infer,
  int32,
  int64,
  labelSelector,
  list,
  mapOf,
  object,
  optional,
  string,
  type ValidationRule,
} from "#api/schema";
import {
  affinity,
  containerProbe,
  containerResources,
  envVar,
  intOrString,
  localObjectReference,
  toleration,
  topologySpreadConstraint,
  volumeMount,
} from "./pod-pieces.ts";

const strings = mapOf(string());

const namespaceConfiguration = object({ annotations: optional(strings), labels: optional(strings) });

const manifest = object({ URL: string() });

const workloadOverride = object({
  affinity: optional(affinity),
  annotations: optional(strings),
  env: optional(list(object({ container: string(), envVars: optional(list(envVar)) }))),
  hostNetwork: optional(boolean()),
  labels: optional(strings),
  livenessProbes: optional(list(containerProbe)),
  name: string(),
  nodeSelector: optional(strings),
  readinessProbes: optional(list(containerProbe)),
  replicas: optional(int32()),
  resources: optional(list(containerResources)),
  tolerations: optional(list(toleration)),
  topologySpreadConstraints: optional(list(topologySpreadConstraint)),
  version: optional(string({ description: "Accepted for the sake of old objects; it does nothing." })),
  volumeMounts: optional(list(volumeMount, { description: "Accepted for the sake of old objects; it does nothing." })),
});
export type WorkloadOverride = Infer<typeof workloadOverride>;

const registry = object({
  default: optional(
    string({ description: "An image for every container; a NAME in braces behind a dollar sign stands for its own." }),
  ),
  imagePullSecrets: optional(list(localObjectReference)),
  override: optional(strings),
});
export type Registry = Infer<typeof registry>;

const serviceOverride = object({
  annotations: optional(strings),
  labels: optional(strings),
  name: string(),
  selector: optional(strings),
});

const budgetOverride = object({
  maxUnavailable: optional(intOrString),
  minAvailable: optional(intOrString),
  name: string(),
  selector: optional(labelSelector()),
  unhealthyPodEvictionPolicy: optional(string()),
});

export const commonFields = {
  additionalManifests: optional(list(manifest)),
  clusterProfileRef: optional(
    object(
      { name: string({ minLength: 1 }), namespace: string({ minLength: 1 }) },
      {
        description: "The ClusterProfile of the cluster to install on; without it, the cluster that holds this object.",
      },
    ),
  ),
  config: optional(
    mapOf(strings, { description: "What to put into ConfigMaps, by their name with or without config-." }),
  ),
  deployments: optional(list(workloadOverride, { description: "The older name of workloads." })),
  "high-availability": optional(object({ replicas: int32() })),
  manifests: optional(list(manifest)),
  namespace: optional(namespaceConfiguration),
  namespaceConfiguration: {
    ...optional(namespaceConfiguration),
    schema: { ...namespaceConfiguration.schema, description: "Another name of namespace, which wins key by key." },
  },
  podDisruptionBudgets: optional(list(budgetOverride)),
  registry: optional(registry),
  resources: optional(list(containerResources, { description: "Use workloads, which name the Deployment too." })),
  services: optional(list(serviceOverride)),
  version: optional(string()),
  workloads: optional(list(workloadOverride)),
};

const commonSpec = object(commonFields);
/** What is read of either kind. */
export type KnativeSpec = Infer<typeof commonSpec>;

/** The cluster is chosen once: to move, the object is deleted and created anew. */
export const CLUSTER_IS_KEPT: ValidationRule[] = [
  {
    rule: "has(self.clusterProfileRef) == has(oldSelf.clusterProfileRef)",
    message: "spec.clusterProfileRef cannot be added or removed after creation",
  },
  {
    rule: "!has(self.clusterProfileRef) || !has(oldSelf.clusterProfileRef) || self.clusterProfileRef == oldSelf.clusterProfileRef",
    message: "spec.clusterProfileRef is immutable",
  },
];

const condition = object({
  lastTransitionTime: optional(string()),
  message: optional(string()),
  reason: optional(string()),
  severity: optional(string()),
  status: string<ConditionStatus>(),
  type: string(),
});
/** Unlike other conditions, these may lack a reason and a message, and their time moves with either of them. */
export type KnativeStatusCondition = Infer<typeof condition>;

export const knativeStatus = object({
  annotations: optional(strings),
  conditions: optional(list(condition)),
  manifests: optional(list(string())),
  observedGeneration: optional(int64()),
  version: optional(string()),
});
export type KnativeStatus = Infer<typeof knativeStatus>;
