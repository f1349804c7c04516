/** AddOnDeploymentConfig: how the agents of add-ons are deployed. Both versions say the same. */
import { crd } from "#api/apiextensions";
import { bytes, int64, list, listByKey, mapOf, object, optional, quantity, string } from "#api/schema";
import { ADDON_GROUP, ADDON_NAMESPACE } from "./names.ts";

const spec = object({
  agentInstallNamespace: optional(
    string({ default: ADDON_NAMESPACE, maxLength: 63, pattern: "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$" }),
  ),
  customizedVariables: optional(
    listByKey(
      object({
        name: string({ maxLength: 255, pattern: "^[a-zA-Z_][_a-zA-Z0-9]*$" }),
        value: optional(string({ maxLength: 1024 })),
      }),
      ["name"],
    ),
  ),
  nodePlacement: optional(
    object({
      nodeSelector: optional(mapOf(string())),
      tolerations: optional(
        list(
          object({
            key: optional(string()),
            operator: optional(string()),
            value: optional(string()),
            effect: optional(string()),
            tolerationSeconds: optional(int64()),
          }),
        ),
      ),
    }),
  ),
  registries: optional(list(object({ source: optional(string()), mirror: string() }))),
  proxyConfig: optional(
    object({
      httpProxy: optional(string()),
      httpsProxy: optional(string()),
      noProxy: optional(string()),
      caBundle: optional(bytes()),
    }),
  ),
  resourceRequirements: optional(
    listByKey(
      object({
        containerID: string({
          pattern: "^(deployments|daemonsets|statefulsets|replicasets|jobs|cronjobs|pods|\\*):.+:.+$",
          description: "The kind, name and container that is meant, such as deployments:agent:*.",
        }),
        resources: object({
          claims: optional(listByKey(object({ name: string(), request: optional(string()) }), ["name"])),
          limits: optional(mapOf(quantity())),
          requests: optional(mapOf(quantity())),
        }),
      }),
      ["containerID"],
    ),
  ),
});

const { schema } = object({ spec });

export const addOnDeploymentConfigCrd = crd({
  group: ADDON_GROUP,
  names: { kind: "AddOnDeploymentConfig", plural: "addondeploymentconfigs" },
  scope: "Namespaced",
  versions: [
    { name: "v1alpha1", served: true, storage: true, schema },
    { name: "v1beta1", served: true, storage: false, schema },
  ],
});
