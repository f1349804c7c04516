/** ManagedClusterSet, a group of clusters, and ManagedClusterSetBinding, which lets a namespace use one. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind, type LabelSelector } from "#api/meta";
import {
  condition,
  type Infer,
  labelSelector,
  list,
  listByKey,
  object,
  oneOf,
  optional,
  type Shape,
  string,
} from "#api/schema";
import { NAMESPACE_NAME } from "./managed-cluster.ts";
import { CLUSTER_GROUP, ClusterLabel, ClusterSetCondition } from "./names.ts";

const EXCLUSIVE = "ExclusiveClusterSetLabel";
const BY_DEFAULT = { selectorType: EXCLUSIVE };

/** A field that the server fills in: there whenever one reads, not required when one writes. */
function defaulted<T>(shape: Shape<T>): Shape<T> {
  return optional(shape);
}

const setSpec = object(
  {
    clusterSelector: defaulted(
      object(
        {
          selectorType: oneOf([EXCLUSIVE, "LabelSelector"], { default: EXCLUSIVE }),
          labelSelector: optional(labelSelector()),
        },
        { default: BY_DEFAULT },
      ),
    ),
    managedNamespaces: optional(listByKey(object({ name: string(NAMESPACE_NAME) }), ["name"])),
  },
  { default: { clusterSelector: BY_DEFAULT } },
);

// These conditions are a plain list, unlike those of a ManagedCluster: that is how the API was published.
const status = object({ conditions: optional(list(condition())) });

export interface ManagedClusterSet extends KubeObject {
  spec: Infer<typeof setSpec>;
  status?: Infer<typeof status>;
}
export const ManagedClusterSet = kind<ManagedClusterSet>({
  group: CLUSTER_GROUP,
  version: "v1beta2",
  kind: "ManagedClusterSet",
  plural: "managedclustersets",
  namespaced: false,
});

/** Selects the clusters of a set by their labels. Without a selector there are none; an empty one selects all. */
export function selectorOfSet({ metadata, spec }: ManagedClusterSet): LabelSelector | undefined {
  const { selectorType, labelSelector } = spec.clusterSelector;
  return selectorType === EXCLUSIVE ? { matchLabels: { [ClusterLabel.set]: metadata.name } } : labelSelector;
}

export const managedClusterSetCrd = crd({
  group: CLUSTER_GROUP,
  names: { kind: "ManagedClusterSet", plural: "managedclustersets", shortNames: ["mclset", "mclsets"] },
  scope: "Cluster",
  versions: [
    {
      name: "v1beta2",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(setSpec), status: optional(status) }).schema,
      columns: [
        {
          name: "Empty",
          type: "string",
          jsonPath: `.status.conditions[?(@.type=="${ClusterSetCondition.Empty}")].status`,
        },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
      ],
    },
  ],
});

const bindingSpec = object({ clusterSet: optional(string({ minLength: 1 })) });

export interface ManagedClusterSetBinding extends KubeObject {
  spec?: Infer<typeof bindingSpec>;
  status?: Infer<typeof status>;
}
export const ManagedClusterSetBinding = kind<ManagedClusterSetBinding>({
  group: CLUSTER_GROUP,
  version: "v1beta2",
  kind: "ManagedClusterSetBinding",
  plural: "managedclustersetbindings",
  namespaced: true,
});

export const managedClusterSetBindingCrd = crd({
  group: CLUSTER_GROUP,
  names: {
    kind: "ManagedClusterSetBinding",
    plural: "managedclustersetbindings",
    shortNames: ["mclsetbinding", "mclsetbindings"],
  },
  scope: "Namespaced",
  versions: [
    {
      name: "v1beta2",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(bindingSpec), status: optional(status) }).schema,
    },
  ],
});
