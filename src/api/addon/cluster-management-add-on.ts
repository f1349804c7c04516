/** ClusterManagementAddOn: an add-on that the hub offers, and the clusters that it is for. */
import { type CrdVersionOptions, crd } from "#api/apiextensions";
import { rolloutStrategy } from "#api/cluster";
import { type KubeObject, kind } from "#api/meta";
import { condition, type Infer, int64, list, listByKey, object, oneOf, optional, string } from "#api/schema";
import { ADDON_GROUP } from "./names.ts";
import { addOnMeta, config, configKind, configReferent, configSpecHash } from "./pieces.ts";

const placement = object({
  namespace: string({ minLength: 1 }),
  name: string({ minLength: 1 }),
  configs: optional(list(config)),
  rolloutStrategy: optional(rolloutStrategy({ type: "All" })),
});

const installStrategy = optional(
  object(
    {
      type: optional(oneOf(["Manual", "Placements"], { default: "Manual" })),
      placements: optional(listByKey(placement, ["namespace", "name"])),
    },
    { default: { type: "Manual" } },
  ),
);

const defaultReferences = optional(list(object({ ...configKind, desiredConfig: optional(configSpecHash) })));

const installProgressions = optional(
  list(
    object({
      namespace: string({ minLength: 1 }),
      name: string({ minLength: 1 }),
      configReferences: optional(
        list(
          object({
            ...configKind,
            desiredConfig: optional(configSpecHash),
            lastKnownGoodConfig: optional(configSpecHash),
            lastAppliedConfig: optional(configSpecHash),
          }),
        ),
      ),
      conditions: optional(listByKey(condition(), ["type"])),
    }),
  ),
);

const specV1Alpha1 = object({
  addOnMeta: optional(addOnMeta),
  addOnConfiguration: optional(
    object({
      crdName: optional(string()),
      crName: optional(string()),
      lastObservedGeneration: optional(int64()),
    }),
  ),
  supportedConfigs: optional(
    listByKey(object({ ...configKind, defaultConfig: optional(object(configReferent)) }), ["group", "resource"]),
  ),
  installStrategy,
});

// The small c is how the API was published.
const statusV1Alpha1 = object({ defaultconfigReferences: defaultReferences, installProgressions });

const specV1Beta1 = object({
  addOnMeta: optional(addOnMeta),
  defaultConfigs: optional(listByKey(config, ["group", "resource"])),
  installStrategy,
});

const statusV1Beta1 = object({ defaultConfigReferences: defaultReferences, installProgressions });

export interface ClusterManagementAddOnV1Alpha1 extends KubeObject {
  spec: Infer<typeof specV1Alpha1>;
  status?: Infer<typeof statusV1Alpha1>;
}
export interface ClusterManagementAddOn extends KubeObject {
  spec: Infer<typeof specV1Beta1>;
  status?: Infer<typeof statusV1Beta1>;
}

const WHERE = {
  group: ADDON_GROUP,
  kind: "ClusterManagementAddOn",
  plural: "clustermanagementaddons",
  namespaced: false,
};
/** As it is stored: to be had without a conversion. */
export const ClusterManagementAddOnV1Alpha1 = kind<ClusterManagementAddOnV1Alpha1>({ ...WHERE, version: "v1alpha1" });
export const ClusterManagementAddOn = kind<ClusterManagementAddOn>({ ...WHERE, version: "v1beta1" });

const DISPLAY_NAME = { name: "DISPLAY NAME", type: "string", jsonPath: ".spec.addOnMeta.displayName" } as const;
const shown: Pick<CrdVersionOptions, "served" | "status"> = { served: true, status: true };

export const clusterManagementAddOnCrd = crd({
  group: ADDON_GROUP,
  names: { kind: "ClusterManagementAddOn", plural: "clustermanagementaddons", shortNames: ["cma", "cmas"] },
  scope: "Cluster",
  versions: [
    {
      name: "v1alpha1",
      storage: true,
      schema: object({ spec: specV1Alpha1, status: optional(statusV1Alpha1) }).schema,
      columns: [DISPLAY_NAME, { name: "CRD NAME", type: "string", jsonPath: ".spec.addOnConfiguration.crdName" }],
      ...shown,
    },
    {
      name: "v1beta1",
      storage: false,
      schema: object({ spec: specV1Beta1, status: optional(statusV1Beta1) }).schema,
      columns: [DISPLAY_NAME],
      ...shown,
    },
  ],
});
