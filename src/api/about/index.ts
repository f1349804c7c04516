/** The group `about.k8s.io`: properties that a cluster states about itself, such as its id. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import { type Infer, object, optional, type Shape, string } from "#api/schema";

export const ABOUT_GROUP = "about.k8s.io";

const spec = object({ value: string({ minLength: 1 }) });

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

export const clusterPropertyCrd = crd({
  group: ABOUT_GROUP,
  names: { kind: "ClusterProperty", plural: "clusterproperties" },
  scope: "Cluster",
  annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/3084" },
  versions: [
    {
      name: "v1alpha1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(spec), status: optional(status) }).schema,
      columns: [
        { name: "value", type: "string", jsonPath: ".spec.value" },
        { name: "age", type: "date", jsonPath: ".metadata.creationTimestamp" },
      ],
    },
  ],
});
