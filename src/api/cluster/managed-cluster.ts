/** ManagedCluster: a cluster that asked to join, or has joined. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import {
  boolean,
  bytes,
  condition,
  dateTime,
  type Infer,
  int32,
  list,
  listByKey,
  mapOf,
  object,
  oneOf,
  optional,
  quantity,
  string,
} from "#api/schema";
import { CLUSTER_GROUP, ClusterCondition, DEFAULT_LEASE_DURATION_SECONDS } from "./names.ts";

export const NAMESPACE_NAME = { maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" };

const taint = object({
  key: string({
    maxLength: 316,
    pattern:
      "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
  }),
  value: optional(string({ maxLength: 1024 })),
  effect: oneOf(["NoSelect", "PreferNoSelect", "NoSelectIfNew"]),
  timeAdded: optional(dateTime({ nullable: true })),
});

const spec = object({
  managedClusterClientConfigs: optional(
    list(
      object({
        url: string({ description: "Where the cluster's API server is reached; https." }),
        caBundle: optional(bytes()),
      }),
    ),
  ),
  hubAcceptsClient: optional(boolean({ description: "Whether an administrator lets the cluster in." })),
  leaseDurationSeconds: optional(int32({ default: DEFAULT_LEASE_DURATION_SECONDS })),
  taints: optional(list(taint)),
});

const status = object({
  conditions: optional(listByKey(condition(), ["type"])),
  capacity: optional(mapOf(quantity())),
  allocatable: optional(mapOf(quantity())),
  version: optional(object({ kubernetes: optional(string()) })),
  clusterClaims: optional(
    list(
      object({
        name: optional(string({ minLength: 1, maxLength: 253 })),
        value: optional(string({ minLength: 1, maxLength: 1024 })),
      }),
    ),
  ),
  managedNamespaces: optional(
    listByKey(
      object({
        name: string(NAMESPACE_NAME),
        clusterSet: string(),
        conditions: optional(listByKey(condition(), ["type"])),
      }),
      ["clusterSet", "name"],
    ),
  ),
});

export type Taint = Infer<typeof taint>;

export interface ManagedCluster extends KubeObject {
  spec?: Infer<typeof spec>;
  status?: Infer<typeof status>;
}
export const ManagedCluster = kind<ManagedCluster>({
  group: CLUSTER_GROUP,
  version: "v1",
  kind: "ManagedCluster",
  plural: "managedclusters",
  namespaced: false,
});

export const managedClusterCrd = crd({
  group: CLUSTER_GROUP,
  names: { kind: "ManagedCluster", plural: "managedclusters", shortNames: ["mcl", "mcls"] },
  scope: "Cluster",
  versions: [
    {
      name: "v1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(spec), status: optional(status) }).schema,
      columns: [
        { name: "Hub Accepted", type: "boolean", jsonPath: ".spec.hubAcceptsClient" },
        { name: "Managed Cluster URLs", type: "string", jsonPath: ".spec.managedClusterClientConfigs[*].url" },
        { name: "Joined", type: "string", jsonPath: conditionStatus(ClusterCondition.Joined) },
        { name: "Available", type: "string", jsonPath: conditionStatus(ClusterCondition.Available) },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
      ],
    },
  ],
});

function conditionStatus(type: string): string {
  return `.status.conditions[?(@.type=="${type}")].status`;
}
