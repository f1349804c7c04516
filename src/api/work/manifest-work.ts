/** ManifestWork: objects that a hub wants on one cluster, in the namespace of that cluster. */
import { crd } from "#api/apiextensions";
import { type DynamicObject, type KubeObject, kind } from "#api/meta";
import {
  boolean,
  condition,
  type Infer,
  int32,
  int64,
  list,
  listByKey,
  object,
  oneOf,
  optional,
  type Shape,
  string,
} from "#api/schema";
import { WORK_FIELD_MANAGER, WORK_GROUP } from "./names.ts";

/** Any object, whole; the server sees to it that it has an apiVersion, a kind and metadata. */
const manifest: Shape<DynamicObject> = {
  schema: { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
};

const resourceIdentifier = object({
  group: optional(string()),
  resource: string({ description: "The plural, in lower case." }),
  name: string(),
  namespace: optional(string({ description: "Empty for what has no namespace." })),
});

const deleteOption = object({
  propagationPolicy: optional(oneOf(["Foreground", "Orphan", "SelectivelyOrphan"], { default: "Foreground" })),
  selectivelyOrphans: optional(
    object({
      orphaningRules: optional(
        list(resourceIdentifier, { description: "What stays on the cluster; every field is compared exactly." }),
      ),
    }),
  ),
  ttlSecondsAfterFinished: optional(
    int64({ description: "How long the work stays once its condition Complete is true; 0 removes it at once." }),
  ),
});

const ignoreFields = object({
  condition: oneOf(["OnSpokePresent", "OnSpokeChange"], {
    default: "OnSpokePresent",
    description:
      "OnSpokePresent: the fields are sent only when the object is created. OnSpokeChange: they are sent again only when the manifest changes.",
  }),
  jsonPaths: optional(list(string())),
  jsonPointers: optional(list(string())),
  jqPathExpressions: optional(list(string())),
});

const updateStrategy = object({
  type: oneOf(["Update", "CreateOnly", "ServerSideApply", "ReadOnly"], { default: "Update" }),
  serverSideApply: optional(
    object({
      force: optional(boolean({ description: "Takes fields over from whoever owns them." })),
      fieldManager: optional(string({ default: WORK_FIELD_MANAGER, pattern: `^${WORK_FIELD_MANAGER}` })),
      ignoreFields: optional(listByKey(ignoreFields, ["condition"])),
    }),
  ),
});

const jsonPath = object({
  name: string(),
  path: string({ description: "A JSON path of the object, such as .status.phase." }),
  version: optional(string({ description: "The version of the kind that the path is meant for." })),
});

const feedbackRule = object({
  type: oneOf(["WellKnownStatus", "JSONPaths"]),
  jsonPaths: optional(listByKey(jsonPath, ["name"])),
});

const conditionRule = object(
  {
    condition: string({ description: "The type of the condition that the rule sets." }),
    type: oneOf(["WellKnownConditions", "CEL"]),
    celExpressions: optional(
      list(string(), { description: "The condition is true when all of them are; the variable is object." }),
    ),
    message: optional(string()),
    messageExpression: optional(string({ description: "Gives the message; the variables are object and result." })),
  },
  {
    "x-kubernetes-validations": [
      { rule: `self.type != 'CEL' || self.condition != ""`, message: "Condition is required for CEL rules" },
    ],
  },
);

const manifestConfig = object({
  resourceIdentifier,
  updateStrategy: optional(updateStrategy),
  feedbackRules: optional(list(feedbackRule)),
  feedbackScrapeType: optional(oneOf(["Poll", "Watch"], { default: "Poll" })),
  conditionRules: optional(listByKey(conditionRule, ["condition"])),
});

const subdomain = string({
  minLength: 1,
  maxLength: 253,
  pattern: "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$",
});

const executor = object({
  subject: optional(
    object({
      type: oneOf(["ServiceAccount"]),
      serviceAccount: optional(object({ namespace: subdomain, name: subdomain })),
    }),
  ),
});

/** Also what an AddOnTemplate and a ManifestWorkReplicaSet make works of. */
export const manifestWorkSpec = object({
  workload: optional(object({ manifests: optional(list(manifest)) })),
  deleteOption: optional(deleteOption),
  manifestConfigs: optional(list(manifestConfig)),
  executor: optional(executor),
});

const resourceMeta = object({
  ordinal: int32({ description: "Its place among the manifests, from 0." }),
  group: optional(string()),
  version: optional(string()),
  kind: optional(string()),
  resource: optional(string()),
  name: optional(string()),
  namespace: optional(string()),
});

const feedbackValue = object({
  name: string(),
  fieldValue: object({
    type: oneOf(["Integer", "String", "Boolean", "JsonRaw"]),
    integer: optional(int64()),
    string: optional(string()),
    boolean: optional(boolean()),
    jsonRaw: optional(string({ maxLength: 1024 })),
  }),
});

const manifestCondition = object({
  resourceMeta,
  conditions: listByKey(condition(), ["type"]),
  statusFeedback: optional(object({ values: optional(listByKey(feedbackValue, ["name"])) })),
});

const status = object({
  conditions: optional(listByKey(condition(), ["type"])),
  resourceStatus: optional(object({ manifests: optional(list(manifestCondition)) })),
});

export type DeleteOption = Infer<typeof deleteOption>;
export type IgnoreFields = Infer<typeof ignoreFields>;
export type UpdateStrategy = Infer<typeof updateStrategy>;
export type FeedbackRule = Infer<typeof feedbackRule>;
export type ConditionRule = Infer<typeof conditionRule>;
export type ManifestConfig = Infer<typeof manifestConfig>;
export type WorkExecutor = Infer<typeof executor>;
export type ManifestResourceMeta = Infer<typeof resourceMeta>;
export type FeedbackValue = Infer<typeof feedbackValue>;
/** What the agent says of one manifest. */
export type ManifestCondition = Infer<typeof manifestCondition>;

export interface ManifestWork extends KubeObject {
  spec?: Infer<typeof manifestWorkSpec>;
  status?: Infer<typeof status>;
}
export const ManifestWork = kind<ManifestWork>({
  group: WORK_GROUP,
  version: "v1",
  kind: "ManifestWork",
  plural: "manifestworks",
  namespaced: true,
});

export const manifestWorkCrd = crd({
  group: WORK_GROUP,
  names: { kind: "ManifestWork", plural: "manifestworks" },
  scope: "Namespaced",
  versions: [
    {
      name: "v1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(manifestWorkSpec), status: optional(status) }).schema,
    },
  ],
});
