/** ManifestWorkReplicaSet: one work for each of the clusters that Placements chose. */
import { crd } from "#api/apiextensions";
import { rolloutStrategy } from "#api/cluster";
import { condition, integer, list, listByKey, object, oneOf, optional, string } from "#api/schema";
import { manifestWorkSpec } from "./manifest-work.ts";
import { WORK_GROUP } from "./names.ts";

const placementRef = object({
  name: string({ minLength: 1 }),
  rolloutStrategy: optional(rolloutStrategy({ type: "All", all: { progressDeadline: "None" } })),
});

const spec = object({
  manifestWorkTemplate: optional(manifestWorkSpec),
  placementRefs: list(placementRef, { minItems: 1 }),
  cascadeDeletionPolicy: oneOf(["Background", "Foreground"], { default: "Background" }),
});

const summary = object({
  desiredTotal: optional(integer()),
  total: optional(integer()),
  updated: optional(integer()),
  applied: optional(integer()),
  available: optional(integer()),
  progressing: optional(integer()),
  degraded: optional(integer()),
});

const status = object({
  conditions: optional(listByKey(condition(), ["type"])),
  summary: optional(summary),
  placementSummary: optional(
    list(
      object({
        name: optional(string()),
        availableDecisionGroups: optional(string()),
        summary: optional(summary),
      }),
    ),
  ),
});

export const manifestWorkReplicaSetCrd = crd({
  group: WORK_GROUP,
  names: { kind: "ManifestWorkReplicaSet", plural: "manifestworkreplicasets", shortNames: ["mwrs"] },
  scope: "Namespaced",
  versions: [
    {
      name: "v1alpha1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(spec), status: optional(status) }).schema,
      columns: [
        { name: "Placement", type: "string", jsonPath: conditionOf("PlacementVerified", "reason") },
        { name: "Found", type: "string", jsonPath: conditionOf("PlacementVerified", "status") },
        { name: "ManifestWorks", type: "string", jsonPath: conditionOf("ManifestworkApplied", "reason") },
        { name: "Applied", type: "string", jsonPath: conditionOf("ManifestworkApplied", "status") },
      ],
    },
  ],
});

function conditionOf(type: string, field: string): string {
  return `.status.conditions[?(@.type=="${type}")].${field}`;
}
