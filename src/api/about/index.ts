/** The group `about.k8s.io`: properties that a cluster states about itself, such as its id. */
import { type CrdVersionOptions, crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import { type Infer, object, optional, type Shape, string } from "#api/schema";

export const ABOUT_GROUP = "about.k8s.io";

/** What the authors of the API meant, and a misspelt mark kept out of their definition. */
const LONGEST_VALUE = 128_000;

const spec = object({ value: string({ minLength: 1, maxLength: LONGEST_VALUE }) });

/** Nothing is ever reported, yet the API has the field and the subresource. */
const status: Shape<Record<string, never>> = { schema: { type: "object" } };

export interface ClusterProperty extends KubeObject {
  spec?: Infer<typeof spec>;
}
export const ClusterProperty = kind<ClusterProperty>({
  group: ABOUT_GROUP,
  version: "v1alpha1",
  kind: "ClusterProperty",
  plural: "clusterproperties",
  namespaced: false,
});

const version: Omit<CrdVersionOptions, "name" | "storage"> = {
  served: true,
  status: true,
  schema: object({ spec: optional(spec), status: optional(status) }).schema,
  columns: [
    { name: "value", type: "string", jsonPath: ".spec.value" },
    { name: "age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
};

/**
 * The authors of the API install v1beta1, Open Cluster Management v1alpha1, and both call the definition by the same name:
 * so it has both, which say the same. It is stored in v1alpha1, because a server lets nobody take away a version that
 * something was ever stored in, and an operator that knows only v1alpha1 may follow ours.
 */
export const clusterPropertyCrd = crd({
  group: ABOUT_GROUP,
  names: { kind: "ClusterProperty", plural: "clusterproperties", categories: ["multicluster"] },
  scope: "Cluster",
  annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/3084" },
  versions: [
    { name: "v1alpha1", storage: true, ...version },
    { name: "v1beta1", storage: false, ...version },
  ],
});
