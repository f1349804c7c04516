/** ClusterClaim: a fact that a spoke tells about itself. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import { type Infer, object, optional, string } from "#api/schema";
import { CLUSTER_GROUP } from "./names.ts";

const spec = object({ value: optional(string({ minLength: 1, maxLength: 1024 })) });

export interface ClusterClaim extends KubeObject {
  spec?: Infer<typeof spec>;
}
export const ClusterClaim = kind<ClusterClaim>({
  group: CLUSTER_GROUP,
  version: "v1alpha1",
  kind: "ClusterClaim",
  plural: "clusterclaims",
  namespaced: false,
});

export const clusterClaimCrd = crd({
  group: CLUSTER_GROUP,
  names: { kind: "ClusterClaim", plural: "clusterclaims" },
  scope: "Cluster",
  versions: [{ name: "v1alpha1", served: true, storage: true, schema: object({ spec: optional(spec) }).schema }],
});
