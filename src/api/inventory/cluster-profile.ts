/** ClusterProfile: one cluster as the inventory shows it, and the ways to reach it. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import {
  anything,
  boolean,
  bytes,
  condition,
  dateTime,
  type Infer,
  list,
  listByKey,
  object,
  optional,
  string,
} from "#api/schema";
import { INVENTORY_GROUP } from "./names.ts";

const spec = object({
  displayName: optional(string()),
  clusterManager: object(
    { name: string({ description: "The system that manages the cluster and keeps this profile." }) },
    { "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "ClusterManager is immutable" }] },
  ),
});

const property = object({
  name: string({ minLength: 1, maxLength: 253 }),
  value: string({ minLength: 1, maxLength: 1024 }),
  lastObservedTime: optional(dateTime()),
});

/** The cluster stanza of a kubeconfig, in a kubeconfig's spelling. */
const kubeconfigCluster = object({
  server: string(),
  "tls-server-name": optional(string()),
  "insecure-skip-tls-verify": optional(boolean()),
  "certificate-authority": optional(string()),
  "certificate-authority-data": optional(bytes()),
  "proxy-url": optional(string()),
  "disable-compression": optional(boolean()),
  extensions: optional(list(object({ name: string(), extension: anything() }))),
});

const accessProvider = object({ name: string(), cluster: optional(kubeconfigCluster) });

const status = object({
  conditions: optional(listByKey(condition(), ["type"])),
  version: optional(object({ kubernetes: optional(string()) })),
  properties: optional(listByKey(property, ["name"])),
  accessProviders: optional(listByKey(accessProvider, ["name"])),
  credentialProviders: optional(
    listByKey(accessProvider, ["name"], { description: "The older name of accessProviders." }),
  ),
});

export type ClusterProfileProperty = Infer<typeof property>;
export type AccessProvider = Infer<typeof accessProvider>;

export interface ClusterProfile extends KubeObject {
  spec: Infer<typeof spec>;
  status?: Infer<typeof status>;
}
export const ClusterProfile = kind<ClusterProfile>({
  group: INVENTORY_GROUP,
  version: "v1alpha1",
  kind: "ClusterProfile",
  plural: "clusterprofiles",
  namespaced: true,
});

export const clusterProfileCrd = crd({
  group: INVENTORY_GROUP,
  names: { kind: "ClusterProfile", plural: "clusterprofiles" },
  scope: "Namespaced",
  versions: [
    {
      name: "v1alpha1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec, status: optional(status) }).schema,
    },
  ],
});
