/** AddOnTemplate: an add-on that needs no program of its own on the hub. Both versions say the same. */
import { crd } from "#api/apiextensions";
import { list, object, oneOf, optional, string } from "#api/schema";
import { manifestWorkSpec } from "#api/work";
import { ADDON_GROUP } from "./names.ts";
import { SIGNER_NAME } from "./pieces.ts";

const hubPermission = object({
  type: oneOf(["CurrentCluster", "SingleNamespace"]),
  currentCluster: optional(object({ clusterRoleName: string() })),
  singleNamespace: optional(
    object({
      namespace: string(),
      roleRef: object({ apiGroup: string(), kind: string(), name: string() }, { "x-kubernetes-map-type": "atomic" }),
    }),
  ),
});

const registration = object({
  type: oneOf(["KubeClient", "CustomSigner"]),
  kubeClient: optional(object({ hubPermissions: optional(list(hubPermission)) })),
  customSigner: optional(
    object({
      signerName: string(SIGNER_NAME),
      subject: optional(
        object({
          user: optional(string()),
          groups: optional(list(string())),
          organizationUnit: optional(list(string())),
        }),
      ),
      signingCA: object({ name: string(), namespace: optional(string()) }),
    }),
  ),
});

const spec = object({
  addonName: string(),
  agentSpec: manifestWorkSpec,
  registration: optional(list(registration)),
});

const { schema } = object({ spec });
const columns = [{ name: "ADDON NAME", type: "string" as const, jsonPath: ".spec.addonName" }];

export const addOnTemplateCrd = crd({
  group: ADDON_GROUP,
  names: { kind: "AddOnTemplate", plural: "addontemplates" },
  scope: "Cluster",
  versions: [
    { name: "v1alpha1", served: true, storage: true, schema, columns },
    { name: "v1beta1", served: true, storage: false, schema, columns },
  ],
});
