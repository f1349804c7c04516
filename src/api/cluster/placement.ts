/** Placement: which clusters of the bound sets are meant. PlacementDecision: which were chosen. */
import { crd } from "#api/apiextensions";
import {
  condition,
  dateTime,
  int32,
  int64,
  intOrString,
  labelSelector,
  list,
  listByKey,
  object,
  oneOf,
  optional,
  string,
} from "#api/schema";
import { CLUSTER_GROUP, PlacementCondition } from "./names.ts";

const claimSelector = object({
  matchExpressions: optional(
    list(
      object({
        key: string(),
        operator: string(),
        values: optional(list(string(), { "x-kubernetes-list-type": "atomic" })),
      }),
    ),
  ),
});

const predicate = object({
  requiredClusterSelector: optional(
    object({
      labelSelector: optional(labelSelector()),
      claimSelector: optional(claimSelector),
      celSelector: optional(
        object({
          celExpressions: optional(
            list(string(), { description: "All of them have to be true; the variable is managedCluster." }),
          ),
        }),
      ),
    }),
  ),
});

const prioritizer = object({
  scoreCoordinate: object({
    type: oneOf(["BuiltIn", "AddOn"], { default: "BuiltIn" }),
    builtIn: optional(string({ description: "Balance, Steady, ResourceAllocatableCPU or ResourceAllocatableMemory." })),
    addOn: optional(object({ resourceName: string(), scoreName: string() })),
  }),
  weight: optional(int32({ default: 1, minimum: -10, maximum: 10 })),
});

const spreadConstraint = object({
  topologyKey: string({
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$",
  }),
  topologyKeyType: oneOf(["Label", "Claim"]),
  maxSkew: optional(int32({ default: 1, minimum: 1 })),
  whenUnsatisfiable: optional(oneOf(["DoNotSchedule", "ScheduleAnyway"], { default: "ScheduleAnyway" })),
});

const toleration = object({
  key: optional(
    string({
      maxLength: 316,
      pattern:
        "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
    }),
  ),
  operator: optional(string({ default: "Equal" })),
  value: optional(string({ maxLength: 1024 })),
  effect: optional(oneOf(["NoSelect", "PreferNoSelect", "NoSelectIfNew"])),
  tolerationSeconds: optional(int64()),
});

const decisionGroup = object({
  groupName: string({ pattern: "^[a-zA-Z0-9][-A-Za-z0-9_.]{0,61}[a-zA-Z0-9]$" }),
  groupClusterSelector: object({
    labelSelector: optional(labelSelector()),
    claimSelector: optional(claimSelector),
  }),
});

const spec = object({
  clusterSets: optional(
    list(string(), { description: "Out of those bound to the namespace; all of them unless told." }),
  ),
  numberOfClusters: optional(int32({ description: "How many are wanted at most; all unless told." })),
  predicates: optional(list(predicate, { description: "A cluster has to satisfy one of them." })),
  prioritizerPolicy: optional(
    object({ mode: optional(string({ default: "Additive" })), configurations: optional(list(prioritizer)) }),
  ),
  spreadPolicy: optional(object({ spreadConstraints: optional(list(spreadConstraint, { maxItems: 8 })) })),
  tolerations: optional(list(toleration)),
  decisionStrategy: optional(
    object({
      groupStrategy: optional(
        object({
          decisionGroups: optional(list(decisionGroup)),
          clustersPerDecisionGroup: optional(
            intOrString({ default: "100%", pattern: "^((100|[1-9][0-9]{0,1})%|[1-9][0-9]*)$" }),
          ),
        }),
      ),
    }),
  ),
  scoreRateLimit: optional(string({ default: "1m", pattern: "^[0-9]+[hms]$" })),
  sortBy: optional(oneOf(["ClusterName", "Score"], { default: "ClusterName" })),
});

const status = object({
  numberOfSelectedClusters: optional(int32()),
  decisionGroups: optional(
    list(
      object({
        decisionGroupIndex: optional(int32()),
        decisionGroupName: optional(string()),
        decisions: optional(list(string())),
        clusterCount: optional(int32({ default: 0 })),
      }),
    ),
  ),
  conditions: optional(listByKey(condition(), ["type"])),
  lastScoreUpdateTime: optional(dateTime()),
});

export const placementCrd = crd({
  group: CLUSTER_GROUP,
  names: { kind: "Placement", plural: "placements" },
  scope: "Namespaced",
  versions: [
    {
      name: "v1beta1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec, status: optional(status) }).schema,
      columns: [
        { name: "Succeeded", type: "string", jsonPath: satisfied("status") },
        { name: "Reason", type: "string", jsonPath: satisfied("reason") },
        { name: "SelectedClusters", type: "integer", jsonPath: ".status.numberOfSelectedClusters" },
      ],
    },
  ],
});

function satisfied(field: string): string {
  return `.status.conditions[?(@.type=="${PlacementCondition.Satisfied}")].${field}`;
}

const decisionStatus = object({
  decisions: list(object({ clusterName: string(), reason: string(), score: optional(int64()) })),
});

export const placementDecisionCrd = crd({
  group: CLUSTER_GROUP,
  names: { kind: "PlacementDecision", plural: "placementdecisions" },
  scope: "Namespaced",
  versions: [
    {
      name: "v1beta1",
      served: true,
      storage: true,
      status: true,
      schema: object({ status: optional(decisionStatus) }).schema,
    },
  ],
});

const scores = object({
  conditions: optional(listByKey(condition(), ["type"])),
  scores: optional(listByKey(object({ name: string(), value: int32({ minimum: -100, maximum: 100 }) }), ["name"])),
  validUntil: optional(dateTime()),
});

/** What an add-on thinks of its cluster, for Placements that ask. */
export const addOnPlacementScoreCrd = crd({
  group: CLUSTER_GROUP,
  names: { kind: "AddOnPlacementScore", plural: "addonplacementscores" },
  scope: "Namespaced",
  versions: [
    {
      name: "v1alpha1",
      served: true,
      storage: true,
      status: true,
      schema: object({ status: optional(scores) }).schema,
    },
  ],
});
