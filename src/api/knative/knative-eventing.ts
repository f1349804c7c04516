/** KnativeEventing: one installation of Knative Eventing, here or on another cluster. */
import { type KubeObject, kind } from "#api/meta";
import { boolean, type Infer, object, optional, string } from "#api/schema";
import { CLUSTER_IS_KEPT, commonFields, type KnativeStatus } from "./common-spec.ts";
import { definition } from "./definition.ts";
import { KNATIVE_GROUP } from "./names.ts";

/** Upstream asks for all of them as soon as there is one. */
const source = object({ enabled: boolean() });

const spec = object(
  {
    ...commonFields,
    defaultBrokerClass: optional(string()),
    sinkBindingSelectionMode: optional(string()),
    source: optional(
      object({ ceph: source, github: source, gitlab: source, kafka: source, rabbitmq: source, redis: source }),
    ),
  },
  { "x-kubernetes-validations": CLUSTER_IS_KEPT },
);
export type KnativeEventingSpec = Infer<typeof spec>;

export interface KnativeEventing extends KubeObject {
  spec?: KnativeEventingSpec;
  status?: KnativeStatus;
}
export const KnativeEventing = kind<KnativeEventing>({
  group: KNATIVE_GROUP,
  version: "v1beta1",
  kind: "KnativeEventing",
  plural: "knativeeventings",
  namespaced: true,
});

export const knativeEventingCrd = definition({ kind: "KnativeEventing", plural: "knativeeventings", spec });
