/** PlacementDecision of the inventory: profiles that some scheduler chose, in the words of the Cluster Inventory API. */
import { crd } from "#api/apiextensions";
import { list, object, optional, string } from "#api/schema";
import { INVENTORY_GROUP } from "./names.ts";

const decision = object({
  clusterProfileRef: object({ name: string(), namespace: optional(string()) }),
  reason: optional(string()),
});

export const profileDecisionCrd = crd({
  group: INVENTORY_GROUP,
  names: { kind: "PlacementDecision", plural: "placementdecisions" },
  scope: "Namespaced",
  versions: [
    {
      name: "v1alpha1",
      served: true,
      storage: true,
      schema: object({
        decisions: list(decision, { minItems: 0, maxItems: 100 }),
        schedulerName: optional(string()),
      }).schema,
    },
  ],
});
