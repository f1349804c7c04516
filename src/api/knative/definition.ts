import { type CustomResourceColumn, type CustomResourceDefinition, crd } from "#api/apiextensions";
import { object, optional, type Shape } from "#api/schema";
import { knativeStatus } from "./common-spec.ts";
import { KNATIVE_GROUP, KnativeCondition } from "./names.ts";

const ready = `.status.conditions[?(@.type=="${KnativeCondition.ready}")]`;

/** What `kubectl get` shows; upstream shows only the cluster. */
const COLUMNS: CustomResourceColumn[] = [
  { name: "Target Cluster", type: "string", jsonPath: ".spec.clusterProfileRef.name" },
  { name: "Version", type: "string", jsonPath: ".status.version" },
  { name: "Ready", type: "string", jsonPath: `${ready}.status` },
  { name: "Reason", type: "string", jsonPath: `${ready}.reason` },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** The two kinds are defined alike, but for what can be asked for. */
export function definition({
  kind,
  plural,
  spec,
}: {
  kind: string;
  plural: string;
  spec: Shape<unknown>;
}): CustomResourceDefinition {
  return crd({
    group: KNATIVE_GROUP,
    names: { kind, plural },
    scope: "Namespaced",
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: true,
        status: true,
        schema: object({ spec: optional(spec), status: optional(knativeStatus) }).schema,
        columns: COLUMNS,
      },
    ],
  });
}
