/** Where a Job stands: which of its Pods run, which have ended and are in no counter yet, and what that adds up to. */
import { IntervalSet } from "#lib/intervals";
import { isActive, isReady, isTerminating } from "../pods.ts";
import {
  completionsOf,
  failuresBefore,
  finishedAt,
  hasFailed,
  hasSucceeded,
  indexOf,
  isIndexed,
  isTracked,
  type JobPod,
  type RunningJob,
} from "./job-pods.ts";
import { rulingOn } from "./policies.ts";

export interface Survey {
  readonly job: RunningJob;
  readonly pods: readonly JobPod[];
  readonly active: readonly JobPod[];
  readonly ready: number;
  readonly terminating: number;
  /** Those that have ended and are neither counted nor written down to be counted. */
  readonly newlySucceeded: readonly JobPod[];
  readonly newlyFailed: readonly JobPod[];
  /** All that ever did, the new ones included; of an indexed Job, indexes. */
  readonly succeeded: number;
  readonly failed: number;
  readonly indexes?: Indexes;
}

export interface Indexes {
  readonly succeeded: IntervalSet;
  /** Those that have succeeded according to the status. */
  readonly known: IntervalSet;
  /** Only where failures are counted by index. */
  readonly failed?: IntervalSet;
  /** By index the Pod that failed last and has to be replaced: it must stay until its successor knows the count. */
  readonly toReplace: ReadonlyMap<number, JobPod>;
}

export function surveyOf(job: RunningJob, pods: readonly JobPod[]): Survey {
  const { succeeded = 0, failed = 0, uncountedTerminatedPods } = job.status ?? {};
  const awaiting = {
    succeeded: uncountedTerminatedPods?.succeeded ?? [],
    failed: uncountedTerminatedPods?.failed ?? [],
  };
  const uncounted = pods.filter((pod) => isTracked(pod) && (!isIndexed(job) || indexOf(pod, job) !== undefined));
  const isNoted = (list: readonly string[], { metadata }: JobPod) => list.includes(metadata.uid ?? "");

  const active = pods.filter(isActive);
  const newlySucceeded = uncounted.filter((pod) => hasSucceeded(pod) && !isNoted(awaiting.succeeded, pod));
  const newlyFailed = uncounted.filter((pod) => hasFailed(pod, job) && !isNoted(awaiting.failed, pod));
  const newFailures = newlyFailed.filter((pod) => rulingOn(job, pod).isCounted).length;
  const indexes = isIndexed(job) ? indexesOf(job, pods, active) : undefined;
  return {
    job,
    pods,
    active,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating).length,
    newlySucceeded,
    newlyFailed,
    succeeded: indexes?.succeeded.size ?? succeeded + newlySucceeded.length + awaiting.succeeded.length,
    failed: failed + newFailures + awaiting.failed.length,
    ...(indexes && { indexes }),
  };
}

function indexesOf(job: RunningJob, pods: readonly JobPod[], active: readonly JobPod[]): Indexes {
  const { completedIndexes = "", failedIndexes = "" } = job.status ?? {};
  const tracked = pods.filter(isTracked);
  const indexesIn = (these: readonly JobPod[]) => IntervalSet.of(these.flatMap((pod) => indexOf(pod, job) ?? []));
  const known = IntervalSet.parse(completedIndexes, completionsOf(job));
  const succeeded = known.union(indexesIn(tracked.filter(hasSucceeded)));
  if (job.spec.backoffLimitPerIndex === undefined) return { succeeded, known, toReplace: new Map() };
  const failed = IntervalSet.parse(failedIndexes, completionsOf(job)).union(
    indexesIn(tracked.filter((pod) => hasFailedIndex(job, pod))),
  );
  const settled = succeeded.union(failed).union(indexesIn(active));
  return { succeeded, known, failed, toReplace: lastFailures(job, tracked, settled) };
}

/** Whether the failure of this Pod is the last that its index may have. */
function hasFailedIndex(job: RunningJob, pod: JobPod): boolean {
  if (!hasFailed(pod, job)) return false;
  const { action, isCounted } = rulingOn(job, pod);
  if (action === "FailIndex") return true;
  return isCounted && failuresBefore(pod).counted >= (job.spec.backoffLimitPerIndex ?? 0);
}

function lastFailures(job: RunningJob, tracked: readonly JobPod[], settled: IntervalSet): Map<number, JobPod> {
  const last = new Map<number, JobPod>();
  for (const pod of tracked.filter((each) => hasFailed(each, job))) {
    const index = indexOf(pod, job);
    if (index === undefined || settled.has(index)) continue;
    const known = last.get(index);
    if (!known || isLater(pod, known)) last.set(index, pod);
  }
  return last;
}

function isLater(pod: JobPod, than: JobPod): boolean {
  const total = (each: JobPod) => failuresBefore(each).counted + failuresBefore(each).ignored;
  return total(pod) >= total(than) && finishedAt(pod) >= finishedAt(than);
}
