/** What a Job asks of its Pods, and how it makes one. */
import { JOB_CONTROLLER, JOB_TRACKING_FINALIZER, type Job, JobAnnotation, JobConditionType } from "#api/batch";
import { type Container, type ContainerStatus, type Pod, PodConditionType, type PodSpec } from "#api/core";
import { findCondition, isTrue } from "#lib/conditions";
import { hasFinalizer } from "#lib/meta";
import type { NamelessObject } from "../../system.ts";
import { podFrom } from "../pods.ts";
import type { Stored } from "../stored.ts";

export const JOBS = "batch/jobs";

export type RunningJob = Stored<Job>;
export type JobPod = Stored<Pod>;

export function isFinished({ status }: Job): boolean {
  const { conditions } = status ?? {};
  return isTrue(conditions, JobConditionType.complete) || isTrue(conditions, JobConditionType.failed);
}

/** Whether somebody else said that the Job is theirs to run. */
export function isManagedElsewhere({ spec: { managedBy } }: Job): boolean {
  return managedBy !== undefined && managedBy !== JOB_CONTROLLER;
}

export function isSuspended({ spec }: Job): boolean {
  return spec.suspend === true;
}

export function isIndexed({ spec }: Job): boolean {
  return spec.completionMode === "Indexed";
}

export function completionsOf({ spec }: Job): number {
  return spec.completions ?? 0;
}

/** Whether a Pod is replaced only after it has ended, and not already when it is on its way out. */
export function replacesOnlyFailed({ spec }: Job): boolean {
  return spec.podReplacementPolicy === "Failed" || spec.podFailurePolicy !== undefined;
}

/** Whether the Pod is in no counter yet. */
export function isTracked(pod: Pod): boolean {
  return hasFinalizer(pod, JOB_TRACKING_FINALIZER);
}

export function hasSucceeded({ status }: Pod): boolean {
  return status?.phase === "Succeeded";
}

/** A Pod that is deleted counts as failed, unless one has to see first how it ends: it may never say. */
export function hasFailed({ metadata, status }: Pod, job: Job): boolean {
  if (status?.phase === "Failed") return true;
  return !replacesOnlyFailed(job) && metadata.deletionTimestamp !== undefined && status?.phase !== "Succeeded";
}

/** The index that a Pod works on; undefined when it has none that the Job knows. */
export function indexOf({ metadata }: Pick<Pod, "metadata">, job: Job): number | undefined {
  const told = metadata.annotations?.[JobAnnotation.completionIndex] ?? "";
  const index = /^\d{1,10}$/.test(told) ? Number(told) : undefined;
  return index !== undefined && index < completionsOf(job) ? index : undefined;
}

/** How often its index had failed before this Pod, and how often that was overlooked. */
export function failuresBefore({ metadata: { annotations = {} } }: Pick<Pod, "metadata">): {
  counted: number;
  ignored: number;
} {
  const read = (key: string) => (/^\d{1,9}$/.test(annotations[key] ?? "") ? Number(annotations[key]) : 0);
  return { counted: read(JobAnnotation.indexFailureCount), ignored: read(JobAnnotation.indexIgnoredFailureCount) };
}

/** When a Pod ended, as well as one can tell. */
export function finishedAt(pod: Pod): number {
  const { metadata, status } = pod;
  const ended = endOf(pod);
  if (ended !== undefined) return ended;
  const ready = findCondition(status?.conditions, PodConditionType.ready);
  if (ready?.status === "False" && ready.lastTransitionTime) return Date.parse(ready.lastTransitionTime);
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp = "" } = metadata;
  if (deletionTimestamp) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return Date.parse(creationTimestamp);
}

/** When the last container ended; undefined while one of them has not said. */
function endOf({ spec, status }: Pod): number | undefined {
  const beside = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const sidecars = (status?.initContainerStatuses ?? []).filter(({ name }) => beside.has(name));
  const ends = [...(status?.containerStatuses ?? []), ...sidecars].map(({ state }: ContainerStatus) =>
    Date.parse(state?.terminated?.finishedAt ?? ""),
  );
  return ends.length > 0 && ends.every((end) => !Number.isNaN(end)) ? Math.max(...ends) : undefined;
}

function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === "Always";
}

/** What a Pod of an indexed Job gets. */
export interface IndexedPod {
  readonly index: number;
  /** How often the index has failed; only where failures are counted by index. */
  readonly failures?: { readonly counted: number; readonly ignored: number };
}

export function podFor(job: RunningJob, indexed: IndexedPod | undefined): NamelessObject {
  const finalizers = [JOB_TRACKING_FINALIZER];
  const { template } = job.spec;
  if (!indexed) return podFrom(job, template, { finalizers });
  const { index, failures } = indexed;
  const { name } = job.metadata;
  const spec = { ...withIndexVariable(template.spec), hostname: `${name}-${index}` };
  return podFrom(
    job,
    { ...template, spec },
    {
      finalizers,
      generateName: indexedPrefix(name, index),
      labels: { [JobAnnotation.completionIndex]: String(index) },
      annotations: {
        [JobAnnotation.completionIndex]: String(index),
        ...(failures && { [JobAnnotation.indexFailureCount]: String(failures.counted) }),
        ...(failures?.ignored && { [JobAnnotation.indexIgnoredFailureCount]: String(failures.ignored) }),
      },
    },
  );
}

/** The longest prefix that a name can be made from without losing its end. */
const LONGEST_PREFIX = 58;

function indexedPrefix(job: string, index: number): string {
  const end = `-${index}-`;
  return `${job.slice(0, LONGEST_PREFIX - end.length)}${end}`;
}

const INDEX_VARIABLE = "JOB_COMPLETION_INDEX";

function withIndexVariable(spec: PodSpec): PodSpec {
  const fieldPath = `metadata.labels['${JobAnnotation.completionIndex}']`;
  const told = (container: Container): Container => {
    const { env = [] } = container;
    if (env.some(({ name }) => name === INDEX_VARIABLE)) return container;
    return { ...container, env: [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef: { fieldPath } } }] };
  };
  return {
    ...spec,
    containers: spec.containers.map(told),
    ...(spec.initContainers && { initContainers: spec.initContainers.map(told) }),
  };
}
