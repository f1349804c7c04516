/** CronJobs: defaults, and what is wrong with one. */
import type { DynamicObject } from "#api/meta";
import { CronError, parseSchedule, zoneNamed } from "#lib/cron";
import { isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind } from "../resource.ts";
import { at, ensure, fieldsAt, fill, fillText, isAbsent, textAt } from "./fields.ts";
import { jobSpecErrors } from "./job-validation.ts";
import { defaultFailurePolicy } from "./jobs.ts";
import { defaultPodTemplate } from "./pod-defaults.ts";
import { notNegative, oneOf } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/workloads.ts";

const CRON_JOB: GroupVersionKind = { group: "batch", version: "v1", kind: "CronJob" };

/** Room for the time that a Job's name gets appended. */
const LONGEST_NAME = 52;

export const cronJobs = resource({
  ...CRON_JOB,
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
    const jobSpec = ensure(ensure(spec, "jobTemplate"), "spec");
    defaultFailurePolicy(jobSpec);
    defaultPodTemplate(ensure(jobSpec, "template"));
  },
  validate: (cronJob) => [
    ...nameErrors(cronJob),
    ...scheduleErrors(textAt(cronJob, "spec", "schedule")),
    ...zoneErrors(at(cronJob, "spec", "timeZone")),
    ...oneOf(fieldsAt(cronJob, "spec"), "concurrencyPolicy", ["Allow", "Forbid", "Replace"], "spec"),
    ...notNegative(cronJob, "spec", "startingDeadlineSeconds"),
    ...notNegative(cronJob, "spec", "successfulJobsHistoryLimit"),
    ...notNegative(cronJob, "spec", "failedJobsHistoryLimit"),
    ...jobSpecErrors(fieldsAt(cronJob, "spec", "jobTemplate", "spec"), "spec.jobTemplate.spec"),
    ...selectorErrors(cronJob),
  ],
  subresources: [statusOf(CRON_JOB)],
});

function nameErrors({ metadata: { name } }: DynamicObject): FieldError[] {
  if (name.length <= LONGEST_NAME) return [];
  return [field.invalid("metadata.name", name, `must be no more than ${LONGEST_NAME} characters`)];
}

function scheduleErrors(schedule: string): FieldError[] {
  const path = "spec.schedule";
  if (schedule === "") return [field.required(path)];
  if (schedule.includes("TZ")) {
    return [field.invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")];
  }
  try {
    parseSchedule(schedule);
    return [];
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    return [field.invalid(path, schedule, error.message)];
  }
}

function zoneErrors(zone: unknown): FieldError[] {
  const path = "spec.timeZone";
  if (isAbsent(zone)) return [];
  if (zone === "") return [field.invalid(path, zone, "timeZone must be nil or non-empty string")];
  if (String(zone).toLowerCase() === "local") {
    const problem = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
    return [field.invalid(path, zone, problem)];
  }
  return zoneNamed(String(zone)) ? [] : [field.invalid(path, zone, `unknown time zone ${zone}`)];
}

/** Every Job chooses its own Pods, so that no two of them share any. */
function selectorErrors(cronJob: DynamicObject): FieldError[] {
  const path = "spec.jobTemplate.spec";
  const { selector, manualSelector } = fieldsAt(cronJob, "spec", "jobTemplate", "spec");
  return [
    ...(isObject(selector) ? [field.invalid(`${path}.selector`, selector, "`selector` will be auto-generated")] : []),
    ...(manualSelector === true ? [field.notSupported(`${path}.manualSelector`, true, ["nil", "false"])] : []),
  ];
}
