/** Tables of the kinds that run Pods. */
import type { DynamicObject } from "#api/meta";
import { humanDuration } from "#lib/duration";
import { fieldsAt, listAt, numberAt, objectsAt, textAt } from "../fields.ts";
import { selectorText } from "../subresources.ts";
import { age } from "./age.ts";
import {
  ageColumn,
  column,
  containerColumns,
  count,
  labelsText,
  layout,
  nameColumn,
  orNone,
  templateSpec,
  wide,
} from "./layout.ts";

const selector = wide(
  column("Selector", "Which Pods belong to it.", (object) =>
    orNone(selectorText(fieldsAt(object, "spec", "selector"))),
  ),
);
const ready = column("Ready", "How many Pods are ready, of those wished for.", (object) => {
  return `${numberAt(object, "status", "readyReplicas") ?? 0}/${numberAt(object, "spec", "replicas") ?? 0}`;
});
const inStatus = (key: string) => (object: DynamicObject) => numberAt(object, "status", key);

export const deployments = layout(
  nameColumn,
  ready,
  count("Up-to-date", "Pods made from the newest template.", inStatus("updatedReplicas")),
  count("Available", "Pods that have been ready for long enough.", inStatus("availableReplicas")),
  ageColumn,
  ...containerColumns(templateSpec),
  ...selector,
);

/** ReplicaSets and ReplicationControllers. */
export const replicaSets = layout(
  nameColumn,
  count("Desired", "Pods wished for.", (object) => numberAt(object, "spec", "replicas")),
  count("Current", "Pods that exist.", inStatus("replicas")),
  count("Ready", "Pods that are ready.", inStatus("readyReplicas")),
  ageColumn,
  ...containerColumns(templateSpec),
  ...selector,
);

export const statefulSets = layout(nameColumn, ready, ageColumn, ...containerColumns(templateSpec));

export const daemonSets = layout(
  nameColumn,
  count("Desired", "Nodes that should run the Pod.", inStatus("desiredNumberScheduled")),
  count("Current", "Nodes that run the Pod.", inStatus("currentNumberScheduled")),
  count("Ready", "Nodes where the Pod is ready.", inStatus("numberReady")),
  count("Up-to-date", "Nodes where the Pod is of the newest template.", inStatus("updatedNumberScheduled")),
  count("Available", "Nodes where the Pod has been ready for long enough.", inStatus("numberAvailable")),
  column("Node Selector", "Which nodes run the Pod.", (object) =>
    labelsText(fieldsAt(templateSpec(object), "nodeSelector")),
  ),
  ageColumn,
  ...containerColumns(templateSpec),
  ...selector,
);

export const jobs = layout(
  nameColumn,
  column("Status", "How far the Job has come.", jobStatus),
  column("Completions", "Pods that succeeded, of those wished for.", (job) => {
    const succeeded = numberAt(job, "status", "succeeded") ?? 0;
    const completions = numberAt(job, "spec", "completions");
    const parallelism = numberAt(job, "spec", "parallelism") ?? 0;
    if (completions !== undefined) return `${succeeded}/${completions}`;
    return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
  }),
  column("Duration", "How long the Job ran, or has been running.", (job, now) => {
    const start = textAt(job, "status", "startTime");
    const end = textAt(job, "status", "completionTime");
    if (!start) return "";
    return end ? humanDuration(Date.parse(end) - Date.parse(start)) : age(start, now);
  }),
  ageColumn,
  ...containerColumns(templateSpec),
  ...selector,
);

function jobStatus(job: DynamicObject): string {
  const conditions = objectsAt(job, "status", "conditions");
  const is = (type: string) => conditions.some((condition) => condition.type === type && condition.status === "True");
  if (is("Complete")) return "Complete";
  if (is("Failed")) return "Failed";
  if (job.metadata.deletionTimestamp) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(is) ?? "Running";
}

export const cronJobs = layout(
  nameColumn,
  column("Schedule", "When a Job is started, in cron's form.", (object) => textAt(object, "spec", "schedule")),
  column("Timezone", "The time zone of the schedule.", (object) => orNone(textAt(object, "spec", "timeZone"))),
  column("Suspend", "Whether no further Jobs are started.", (object) =>
    fieldsAt(object, "spec").suspend === true ? "True" : "False",
  ),
  count("Active", "Jobs that run now.", (object) => listAt(object, "status", "active").length),
  column("Last Schedule", "The time since a Job was last started.", (object, now) => {
    const last = textAt(object, "status", "lastScheduleTime");
    return last ? age(last, now) : "<none>";
  }),
  ageColumn,
  ...containerColumns((object) => fieldsAt(object, "spec", "jobTemplate", "spec", "template", "spec")),
  ...wide(
    column("Selector", "Which Pods belong to its Jobs.", (object) =>
      orNone(selectorText(fieldsAt(object, "spec", "jobTemplate", "spec", "selector"))),
    ),
  ),
);

export const podTemplates = layout(
  nameColumn,
  ...containerColumns((object) => fieldsAt(object, "template", "spec")).map((shown) => ({ ...shown, priority: 0 })),
  column("Pod Labels", "The labels of Pods made from it.", (object) =>
    labelsText(fieldsAt(object, "template", "metadata", "labels")),
  ),
);

export const controllerRevisions = layout(
  nameColumn,
  column("Controller", "The object whose revision this is.", ({ metadata }) => {
    const owner = (metadata.ownerReferences ?? []).find(({ controller }) => controller);
    if (!owner) return "<none>";
    const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    return `${owner.kind.toLowerCase()}${group}/${owner.name}`;
  }),
  count("Revision", "Which revision, counted from one.", (object) => numberAt(object, "revision")),
  ageColumn,
);
