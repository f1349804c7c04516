/** ManagedClusterAddOn: an add-on of one cluster, in the namespace of that cluster. */
import { type CrdVersionOptions, crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import { condition, type Infer, int64, list, listByKey, object, oneOf, optional, string } from "#api/schema";
import { ADDON_GROUP, ADDON_NAMESPACE } from "./names.ts";
import {
  addOnMeta,
  config,
  configKind,
  configReferent,
  configSpecHash,
  SIGNER_NAME,
  supportedConfigs,
} from "./pieces.ts";

const configs = optional(list(config));
const user = optional(string());
const groups = optional(list(string()));
const driver = optional(oneOf(["csr", "token"]));

/** What both versions say in the same words. */
const reported = {
  conditions: optional(listByKey(condition(), ["type"])),
  addOnMeta: optional(addOnMeta),
  relatedObjects: optional(
    list(object({ group: string(), resource: string(), namespace: optional(string()), name: string() })),
  ),
  supportedConfigs: optional(supportedConfigs),
  namespace: optional(string()),
  healthCheck: optional(object({ mode: optional(oneOf(["Lease", "Customized"], { default: "Lease" })) })),
};

const configState = {
  ...configKind,
  lastObservedGeneration: optional(int64()),
  desiredConfig: optional(configSpecHash),
  lastAppliedConfig: optional(configSpecHash),
};

const specV1Alpha1 = object({
  configs,
  installNamespace: optional(
    string({ default: ADDON_NAMESPACE, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" }),
  ),
});

const statusV1Alpha1 = object({
  ...reported,
  addOnConfiguration: optional(
    object({
      crdName: optional(string()),
      crName: optional(string()),
      lastObservedGeneration: optional(int64()),
    }),
  ),
  configReferences: optional(list(object({ ...configState, ...configReferent }))),
  registrations: optional(
    list(
      object({
        signerName: string(SIGNER_NAME),
        subject: optional(object({ user, groups, organizationUnit: optional(list(string())) })),
      }),
    ),
  ),
  kubeClientDriver: driver,
});

const specV1Beta1 = object({ configs });

const statusV1Beta1 = object({
  ...reported,
  configReferences: optional(list(object(configState))),
  registrations: optional(
    list(
      object({
        type: oneOf(["kubeClient", "customSigner"]),
        kubeClient: optional(object({ driver, subject: optional(object({ user, groups })) })),
        customSigner: optional(
          object({
            signerName: string(SIGNER_NAME),
            subject: optional(object({ user, groups, organizationUnits: optional(list(string())) })),
          }),
        ),
      }),
    ),
  ),
});

export interface ManagedClusterAddOnV1Alpha1 extends KubeObject {
  spec: Infer<typeof specV1Alpha1>;
  status?: Infer<typeof statusV1Alpha1>;
}
export interface ManagedClusterAddOn extends KubeObject {
  spec: Infer<typeof specV1Beta1>;
  status?: Infer<typeof statusV1Beta1>;
}

const WHERE = { group: ADDON_GROUP, kind: "ManagedClusterAddOn", plural: "managedclusteraddons", namespaced: true };
/** As it is stored: to be had without a conversion. */
export const ManagedClusterAddOnV1Alpha1 = kind<ManagedClusterAddOnV1Alpha1>({ ...WHERE, version: "v1alpha1" });
export const ManagedClusterAddOn = kind<ManagedClusterAddOn>({ ...WHERE, version: "v1beta1" });

const shown: Pick<CrdVersionOptions, "served" | "status" | "columns"> = {
  served: true,
  status: true,
  columns: ["Available", "Degraded", "Progressing"].map((type) => ({
    name: type,
    type: "string",
    jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
  })),
};

export const managedClusterAddOnCrd = crd({
  group: ADDON_GROUP,
  names: { kind: "ManagedClusterAddOn", plural: "managedclusteraddons", shortNames: ["mca", "mcas"] },
  scope: "Namespaced",
  versions: [
    {
      name: "v1alpha1",
      storage: true,
      schema: object({ spec: specV1Alpha1, status: optional(statusV1Alpha1) }).schema,
      ...shown,
    },
    {
      name: "v1beta1",
      storage: false,
      schema: object({ spec: specV1Beta1, status: optional(statusV1Beta1) }).schema,
      ...shown,
    },
  ],
});
