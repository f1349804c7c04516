/** What a ClusterManager and a Klusterlet have in common. */
import {
  bytes,
  condition,
  type Infer,
  int64,
  list,
  listByKey,
  mapOf,
  object,
  oneOf,
  optional,
  quantity,
  string,
} from "#api/schema";

export const HOST_NAME =
  "^(([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\\-]*[a-zA-Z0-9])\\.)*([A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9\\-]*[A-Za-z0-9])$";
export const EKS_CLUSTER = "^arn:aws:eks:([a-zA-Z0-9-]+):(\\d{12}):cluster/([a-zA-Z0-9-]+)$";

const featureGate = object({
  feature: string({ description: "The name of the gate." }),
  mode: optional(oneOf(["Enable", "Disable"], { default: "Disable" })),
});
export type FeatureGate = Infer<typeof featureGate>;
export const featureGates = list(featureGate, {
  description: "Gates that are not to have their default; unknown names are reported and otherwise ignored.",
});

export const nodePlacement = object(
  {
    nodeSelector: optional(mapOf(string())),
    tolerations: optional(
      list(
        object({
          effect: optional(string()),
          key: optional(string()),
          operator: optional(string()),
          tolerationSeconds: optional(int64()),
          value: optional(string()),
        }),
      ),
    ),
  },
  { description: "Where the Pods may run." },
);
export type NodePlacement = Infer<typeof nodePlacement>;

export const resourceRequirement = object(
  {
    type: optional(oneOf(["Default", "BestEffort", "ResourceRequirement"], { default: "Default" })),
    resourceRequirements: optional(
      object({
        claims: optional(listByKey(object({ name: string(), request: optional(string()) }), ["name"])),
        limits: optional(mapOf(quantity())),
        requests: optional(mapOf(quantity())),
      }),
    ),
  },
  { description: "What every container asks for: a little, nothing, or what resourceRequirements say." },
);
export type ResourceRequirement = Infer<typeof resourceRequirement>;

/** An address with the authority that vouches for it. */
export const serverUrl = object({ url: string(), caBundle: optional(bytes()) });

const relatedResource = object({
  group: string(),
  version: string(),
  resource: string({ description: "The plural of the kind." }),
  namespace: optional(string()),
  name: string(),
});
export type RelatedResource = Infer<typeof relatedResource>;

const generation = object({
  group: string(),
  version: string(),
  resource: string(),
  namespace: optional(string()),
  name: string(),
  lastGeneration: int64({ description: "The generation of the object when the operator last wrote it." }),
});
export type GenerationStatus = Infer<typeof generation>;

export const operatorStatus = object({
  observedGeneration: optional(int64()),
  conditions: optional(listByKey(condition(), ["type"])),
  generations: optional(list(generation)),
  relatedResources: optional(list(relatedResource, { description: "Everything that was made for this object." })),
});
export type OperatorStatus = Infer<typeof operatorStatus>;
