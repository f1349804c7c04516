/** Jobs: defaults, the selector that they get, what is wrong with one, and what of it may change. */
import { JobLabel } from "#api/batch";
import type { DynamicObject, LabelSelector } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { dns1123Label } from "#lib/names";
import { labelSelector, SelectorError } from "#lib/selectors";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind } from "../resource.ts";
import {
  at,
  ensure,
  type Fields,
  fieldsAt,
  fill,
  fillText,
  isAbsent,
  numberAt,
  objectsAt,
  textMapAt,
} from "./fields.ts";
import { jobStatusErrors } from "./job-status.ts";
import { jobSpecErrors } from "./job-validation.ts";
import { defaultPodTemplate } from "./pod-defaults.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/workloads.ts";
import { immutable } from "./validation.ts";

const JOB: GroupVersionKind = { group: "batch", version: "v1", kind: "Job" };
const BACKOFF_LIMIT = 6;
/** Where each index has a limit, that of the whole Job does not matter. */
const NO_LIMIT = 2 ** 31 - 1;

export const jobs = resource({
  ...JOB,
  plural: "jobs",
  namespaced: true,
  categories: ["all"],
  table: tables.jobs,
  dependents: "orphaned",
  orphanWarning:
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  hasStatus: true,
  tracksGeneration: true,
  selectableFields: { "status.successful": (job) => String(at(job, "status", "succeeded") ?? 0) },
  default(draft) {
    const spec = ensure(draft, "spec");
    // A Job that names only its parallelism is a work queue, which ends when its Pods say so.
    if (isAbsent(spec.completions) && isAbsent(spec.parallelism)) spec.completions = 1;
    const backoffLimit = isAbsent(spec.backoffLimitPerIndex) ? BACKOFF_LIMIT : NO_LIMIT;
    fill(spec, { parallelism: 1, backoffLimit, suspend: false, manualSelector: false });
    fillText(spec, {
      completionMode: "NonIndexed",
      podReplacementPolicy: isObject(spec.podFailurePolicy) ? "Failed" : "TerminatingOrFailed",
    });
    defaultFailurePolicy(spec);
    defaultPodTemplate(ensure(spec, "template"));
  },
  prepareForCreate: selectOwnPods,
  validate: (job) => [...jobSpecErrors(fieldsAt(job, "spec"), "spec"), ...selectorErrors(job), ...hostNameErrors(job)],
  validateChange: changeErrors,
  subresources: [statusOf(JOB, { validate: jobStatusErrors })],
});

/** A condition is looked for as true, unless told. */
export function defaultFailurePolicy(spec: Fields): void {
  const patterns = objectsAt(spec, "podFailurePolicy", "rules").flatMap((rule) => objectsAt(rule, "onPodConditions"));
  for (const pattern of patterns) fillText(pattern, { status: "True" });
}

/** Marks a Job's Pods with its uid, so that no other Job can take them for its own. */
function selectOwnPods(job: DynamicObject): void {
  const spec = ensure(job, "spec");
  if (spec.manualSelector !== true) {
    const template = ensure(ensure(spec, "template"), "metadata");
    template.labels = { ...ownLabels(job), ...fieldsAt(template, "labels") };
    const selector = ensure(spec, "selector");
    selector.matchLabels = { [JobLabel.controllerUid]: job.metadata.uid, ...fieldsAt(selector, "matchLabels") };
  }
  const labels = Object.fromEntries(textMapAt(spec, "template", "metadata", "labels"));
  if (Object.keys(job.metadata.labels ?? {}).length === 0 && Object.keys(labels).length > 0) {
    job.metadata.labels = labels;
  }
}

function ownLabels({ metadata: { name, uid = "" } }: DynamicObject): Record<string, string> {
  return {
    [JobLabel.legacyControllerUid]: uid,
    [JobLabel.legacyJobName]: name,
    [JobLabel.controllerUid]: uid,
    [JobLabel.jobName]: name,
  };
}

/** The selector finds the Job's own Pods, and unless it was chosen by hand, no others. */
function selectorErrors(job: DynamicObject): FieldError[] {
  const selector = at(job, "spec", "selector");
  if (!isObject(selector)) return [field.required("spec.selector")];
  const labels = Object.fromEntries(textMapAt(job, "spec", "template", "metadata", "labels"));
  const path = "spec.template.metadata.labels";
  const errors: FieldError[] = [];
  try {
    const matcher = labelSelector(selector as LabelSelector);
    if (!matcher.matches(labels)) {
      errors.push(field.invalid(path, labels, "`selector` does not match template `labels`"));
    }
    if (at(job, "spec", "manualSelector") === true) return errors;
    if (!matcher.matches(ownLabels(job))) {
      errors.push(field.invalid("spec.selector", selector, "`selector` not auto-generated"));
    }
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return [field.invalid("spec.selector", selector, error.message)];
  }
  for (const [key, expected] of Object.entries(ownLabels(job))) {
    const problem = `must be '${expected}'`;
    if (labels[key] === undefined) errors.push(field.required(`${path}[${key}]`, problem));
    else if (labels[key] !== expected) errors.push(field.invalid(`${path}[${key}]`, labels, problem));
  }
  return errors;
}

/** The Pods of an indexed Job have host names that are made from its name. */
function hostNameErrors(job: DynamicObject): FieldError[] {
  const completions = numberAt(job, "spec", "completions") ?? 0;
  if (at(job, "spec", "completionMode") !== "Indexed" || completions === 0) return [];
  const { name } = job.metadata;
  const longest = `${name}-${completions - 1}`;
  if (dns1123Label(longest).length === 0) return [];
  return [field.invalid("metadata.name", name, `will not able to create pod with invalid DNS label: ${longest}`)];
}

const FIXED = ["selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"];

function changeErrors(job: DynamicObject, current: DynamicObject): FieldError[] {
  const [next, before] = [fieldsAt(job, "spec"), fieldsAt(current, "spec")];
  return [
    ...completionsErrors(next, before),
    ...FIXED.flatMap((key) => immutable(`spec.${key}`, next[key], before[key])),
    ...templateErrors(next, current),
  ];
}

/** An indexed Job may become larger or smaller as a whole. */
function completionsErrors(next: Fields, before: Fields): FieldError[] {
  if (next.completionMode !== "Indexed") return immutable("spec.completions", next.completions, before.completions);
  if (equal(next.completions, before.completions) || isAbsent(next.completions)) return [];
  if (next.completions === next.parallelism) return [];
  return [field.invalid("spec.completions", next.completions, "can only be modified in tandem with spec.parallelism")];
}

/** While a Job is suspended and none of its Pods runs, where they go and what they need may still change. */
function templateErrors(next: Fields, current: DynamicObject): FieldError[] {
  const [template, before] = [fieldsAt(next, "template"), fieldsAt(current, "spec", "template")];
  if (!isAtRest(current)) return immutable("spec.template", template, before);
  return immutable("spec.template", unplaced(template), unplaced(before));
}

function isAtRest(job: DynamicObject): boolean {
  const isSuspended = objectsAt(job, "status", "conditions").some(
    ({ type, status }) => type === "Suspended" && status === "True",
  );
  const hasNotStarted = isAbsent(at(job, "status", "startTime"));
  return (
    at(job, "spec", "suspend") === true &&
    (hasNotStarted || isSuspended) &&
    (numberAt(job, "status", "active") ?? 0) === 0
  );
}

/** A template without what says where its Pods go and what they need. */
function unplaced(template: Fields): Fields {
  const { labels: _l, annotations: _a, ...metadata } = fieldsAt(template, "metadata");
  const { nodeSelector: _n, tolerations: _t, schedulingGates: _g, affinity, ...spec } = fieldsAt(template, "spec");
  const { nodeAffinity: _f, ...otherAffinity } = isObject(affinity) ? affinity : {};
  const withoutResources = (list: string) => objectsAt(spec, list).map(({ resources: _, ...container }) => container);
  return {
    metadata,
    spec: {
      ...spec,
      ...(Object.keys(otherAffinity).length > 0 && { affinity: otherAffinity }),
      containers: withoutResources("containers"),
      initContainers: withoutResources("initContainers"),
    },
  };
}
