/**
 * How Pods get into the counters of a Job, each once, whenever the server may be killed: a Pod that has ended is
 * first written down by its uid, then loses the finalizer that keeps it, and only then is counted. Who is written
 * down and has no finalizer any more, or is gone, has not been counted yet.
 */
import type { JobCondition, JobStatus } from "#api/batch";
import { JobConditionType } from "#api/batch";
import { timestamp } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { IntervalSet } from "#lib/intervals";
import { isDeleting } from "#lib/meta";
import { hasFailed, hasSucceeded, indexOf, isIndexed, isTracked, type JobPod, type RunningJob } from "./job-pods.ts";
import { rulingOn } from "./policies.ts";
import type { Survey } from "./survey.ts";
import type { Verdict } from "./verdict.ts";

/** More uids would make the status too large; the rest waits for the next round. */
const MOST_UNCOUNTED = 500;

export interface Tally {
  /** The status that writes down who has ended. */
  readonly status: JobStatus;
  /** Who loses the finalizer once that is stored. */
  readonly release: readonly JobPod[];
  /** Whether Pods are left for another round. */
  readonly isPartial: boolean;
}

/** Uids of Pods that still have the finalizer. */
export type Held = ReadonlySet<string>;

export function heldIn(pods: readonly JobPod[]): Set<string> {
  return new Set(pods.filter(isTracked).map(uidOf));
}

export function tallyOf(survey: Survey, verdict: Verdict | undefined, before: JobStatus, now: Date): Tally {
  const { job, indexes } = survey;
  const counted = withCounted(before, heldIn(survey.pods));
  const succeeded = [...(counted.uncountedTerminatedPods?.succeeded ?? [])];
  const failed = [...(counted.uncountedTerminatedPods?.failed ?? [])];
  const newIndexes: number[] = [];
  const release: JobPod[] = [];
  const candidates = survey.pods.filter(isTracked).filter((pod) => mayRelease(survey, verdict, pod));
  for (const pod of inIndexOrder(job, candidates)) {
    if (newIndexes.length + succeeded.length + failed.length >= MOST_UNCOUNTED) break;
    release.push(pod);
    const [uid, index] = [uidOf(pod), indexOf(pod, job)];
    if (hasSucceeded(pod) && !failed.includes(uid)) {
      if (!isIndexed(job) && !succeeded.includes(uid)) succeeded.push(uid);
      if (index !== undefined && !indexes?.known.has(index)) newIndexes.push(index);
    } else if (countsAsFailed(survey, verdict, pod) && !failed.includes(uid)) {
      failed.push(uid);
    }
  }
  const completed = indexes?.known.union(IntervalSet.of(newIndexes));
  return {
    status: shaped({
      ...counted,
      uncountedTerminatedPods: { succeeded, failed },
      ...(completed && { succeeded: completed.size, completedIndexes: String(completed) }),
      ...(indexes?.failed && { failedIndexes: String(indexes.failed) }),
      conditions: withVerdict(counted.conditions ?? [], verdict, now),
    }),
    release,
    isPartial: release.length < candidates.length,
  };
}

/** The status with everybody counted who is written down and not held any more. */
export function withCounted(status: JobStatus, held: Held): JobStatus {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  const isHeld = (uid: string) => held.has(uid);
  const left = { succeeded: succeeded.filter(isHeld), failed: failed.filter(isHeld) };
  return shaped({
    ...status,
    succeeded: (status.succeeded ?? 0) + succeeded.length - left.succeeded.length,
    failed: (status.failed ?? 0) + failed.length - left.failed.length,
    uncountedTerminatedPods: left,
  });
}

/** The status of a Job whose end is decided, once nobody is left to count and nothing runs any more. */
export function finished(status: JobStatus, verdict: Verdict, now: Date): JobStatus | undefined {
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  if (succeeded.length + failed.length > 0 || (status.terminating ?? 0) > 0) return undefined;
  const isSuccess = verdict.type === JobConditionType.successCriteriaMet;
  const type = isSuccess ? JobConditionType.complete : JobConditionType.failed;
  const conditions = [...(status.conditions ?? []), conditionOf({ ...verdict, type }, now)];
  return { ...status, conditions, ...(isSuccess && { completionTime: timestamp(now) }) };
}

export function conditionOf(
  { type, reason, message }: { type: string; reason: string; message: string },
  now: Date,
  status: JobCondition["status"] = "True",
): JobCondition {
  const time = timestamp(now);
  return { type, status, lastProbeTime: time, lastTransitionTime: time, reason, message };
}

/** A Pod that has ended, one whose Job is decided or going; but one that must be replaced first stays. */
function mayRelease({ job, indexes }: Survey, verdict: Verdict | undefined, pod: JobPod): boolean {
  if (isDeleting(job) || verdict || hasSucceeded(pod)) return true;
  return hasFailed(pod, job) && indexes?.toReplace.get(indexOf(pod, job) ?? -1) !== pod;
}

/** When a Job has failed, whatever still runs has failed with it. */
function countsAsFailed({ job }: Survey, verdict: Verdict | undefined, pod: JobPod): boolean {
  const fails = verdict?.type === JobConditionType.failureTarget;
  if (!hasFailed(pod, job) && !fails) return false;
  return (!isIndexed(job) || indexOf(pod, job) !== undefined) && rulingOn(job, pod).isCounted;
}

function inIndexOrder(job: RunningJob, pods: readonly JobPod[]): JobPod[] {
  return pods.toSorted((a, b) => (indexOf(a, job) ?? -1) - (indexOf(b, job) ?? -1));
}

function withVerdict(conditions: readonly JobCondition[], verdict: Verdict | undefined, now: Date): JobCondition[] {
  if (!verdict || isTrue(conditions, verdict.type)) return [...conditions];
  return [...conditions, conditionOf(verdict, now)];
}

/** As the API shows a status: counts of nothing and empty lists are left out. */
export function shaped(status: JobStatus): JobStatus {
  const { conditions = [], active, succeeded, failed, completedIndexes, uncountedTerminatedPods, ...rest } = status;
  const { succeeded: ended = [], failed: broken = [] } = uncountedTerminatedPods ?? {};
  return {
    ...rest,
    ...(conditions.length > 0 && { conditions }),
    ...(active && { active }),
    ...(succeeded && { succeeded }),
    ...(failed && { failed }),
    ...(completedIndexes && { completedIndexes }),
    uncountedTerminatedPods: {
      ...(ended.length > 0 && { succeeded: ended }),
      ...(broken.length > 0 && { failed: broken }),
    },
  };
}

function uidOf({ metadata }: JobPod): string {
  return metadata.uid ?? "";
}
