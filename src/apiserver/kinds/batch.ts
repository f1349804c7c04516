/** The batch group: Pods that run to an end. */
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { at, ensure, fieldsAt, fill, fillText, isAbsent, textAt } from "./fields.ts";
import { defaultPodTemplate } from "./pod-defaults.ts";
import { notNegative, oneOf, validatePodTemplate } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/workloads.ts";
import { immutable } from "./validation.ts";

const batch = (kind: string): GroupVersionKind => ({ group: "batch", version: "v1", kind });

const JOB_UID = "batch.kubernetes.io/controller-uid";
const JOB_NAME = "batch.kubernetes.io/job-name";
const BACKOFF_LIMIT = 6;
const RESTART_POLICIES = ["OnFailure", "Never"];

const jobs = resource({
  ...batch("Job"),
  plural: "jobs",
  namespaced: true,
  categories: ["all"],
  table: tables.jobs,
  hasStatus: true,
  tracksGeneration: true,
  selectableFields: { "status.successful": (job) => String(at(job, "status", "succeeded") ?? 0) },
  default(draft) {
    const spec = ensure(draft, "spec");
    // A Job that names only its parallelism is a work queue, which ends when its Pods say so.
    if (isAbsent(spec.completions) && isAbsent(spec.parallelism)) spec.completions = 1;
    fill(spec, { parallelism: 1, backoffLimit: BACKOFF_LIMIT, suspend: false, manualSelector: false });
    fillText(spec, {
      completionMode: "NonIndexed",
      podReplacementPolicy: isObject(spec.podFailurePolicy) ? "Failed" : "TerminatingOrFailed",
    });
    defaultPodTemplate(ensure(spec, "template"));
  },
  prepareForCreate: selectOwnPods,
  validate: (job) => [
    ...notNegative(job, "spec", "parallelism"),
    ...notNegative(job, "spec", "completions"),
    ...notNegative(job, "spec", "backoffLimit"),
    ...notNegative(job, "spec", "activeDeadlineSeconds"),
    ...notNegative(job, "spec", "ttlSecondsAfterFinished"),
    ...oneOf(fieldsAt(job, "spec"), "completionMode", ["Indexed", "NonIndexed"], "spec"),
    ...(isObject(at(job, "spec", "selector")) ? [] : [field.required("spec.selector")]),
    ...jobTemplateErrors(fieldsAt(job, "spec", "template"), "spec.template"),
  ],
  validateChange(job, current) {
    const [next, before] = [fieldsAt(job, "spec"), fieldsAt(current, "spec")];
    const fixed =
      next.completionMode === "Indexed"
        ? ["selector", "completionMode"]
        : ["selector", "completions", "completionMode"];
    // While a Job is suspended its template may still be scheduled elsewhere.
    const template = before.suspend === true && isAbsent(at(current, "status", "startTime")) ? [] : ["template"];
    return [...fixed, ...template].flatMap((key) => immutable(`spec.${key}`, next[key], before[key]));
  },
  subresources: [statusOf(batch("Job"))],
});

/** Marks a Job's Pods with its uid, so that no other Job can take them for its own. */
function selectOwnPods(job: DynamicObject): void {
  const spec = ensure(job, "spec");
  if (spec.manualSelector === true) return;
  const { uid = "", name } = job.metadata;
  const labels = { [JOB_UID]: uid, [JOB_NAME]: name, "controller-uid": uid, "job-name": name };
  const template = ensure(ensure(spec, "template"), "metadata");
  template.labels = { ...fieldsAt(template, "labels"), ...labels };
  job.metadata.labels = {
    ...(Object.keys(job.metadata.labels ?? {}).length > 0 ? job.metadata.labels : labelsOf(template)),
  };
  spec.selector = { matchLabels: { [JOB_UID]: uid } };
}

function labelsOf(template: Record<string, unknown>): Record<string, string> {
  return fieldsAt(template, "labels") as Record<string, string>;
}

function jobTemplateErrors(template: Record<string, unknown>, path: string): FieldError[] {
  const policy = textAt(template, "spec", "restartPolicy");
  const errors = validatePodTemplate(template, path, [...RESTART_POLICIES, "Always"]);
  if (policy === "Always") {
    errors.push(
      field.required(
        `${path}.spec.restartPolicy`,
        `valid values: ${RESTART_POLICIES.map((value) => `"${value}"`).join(", ")}`,
      ),
    );
  }
  return errors;
}

/** Room for the time that a Job's name gets appended. */
const LONGEST_CRONJOB_NAME = 52;

const cronJobs = resource({
  ...batch("CronJob"),
  plural: "cronjobs",
  namespaced: true,
  shortNames: ["cj"],
  categories: ["all"],
  table: tables.cronJobs,
  hasStatus: true,
  tracksGeneration: true,
  default(draft) {
    const spec = ensure(draft, "spec");
    fillText(spec, { concurrencyPolicy: "Allow" });
    fill(spec, { suspend: false, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 });
    defaultPodTemplate(ensure(ensure(ensure(spec, "jobTemplate"), "spec"), "template"));
  },
  validate(object) {
    const { name } = object.metadata;
    return [
      ...(name.length > LONGEST_CRONJOB_NAME
        ? [field.invalid("metadata.name", name, `must be no more than ${LONGEST_CRONJOB_NAME} characters`)]
        : []),
      ...scheduleErrors(textAt(object, "spec", "schedule")),
      ...oneOf(fieldsAt(object, "spec"), "concurrencyPolicy", ["Allow", "Forbid", "Replace"], "spec"),
      ...notNegative(object, "spec", "startingDeadlineSeconds"),
      ...notNegative(object, "spec", "successfulJobsHistoryLimit"),
      ...notNegative(object, "spec", "failedJobsHistoryLimit"),
      ...jobTemplateErrors(
        fieldsAt(object, "spec", "jobTemplate", "spec", "template"),
        "spec.jobTemplate.spec.template",
      ),
    ];
  },
  subresources: [statusOf(batch("CronJob"))],
});

function scheduleErrors(schedule: string): FieldError[] {
  if (schedule === "") return [field.required("spec.schedule")];
  if (schedule.includes("TZ")) {
    return [
      field.invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ];
  }
  const parts = schedule.trim().split(/\s+/);
  if (schedule.startsWith("@") || parts.length === 5) return [];
  return [
    field.invalid("spec.schedule", schedule, `expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]`),
  ];
}

export const batchResources: readonly Resource[] = [cronJobs, jobs];
