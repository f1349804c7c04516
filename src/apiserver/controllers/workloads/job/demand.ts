/** How many Pods of an undecided Job should run now, and which of those that do are too many. */
import { IntervalSet } from "#lib/intervals";
import { isTerminating } from "../pods.ts";
import { deletionOrder } from "../replicas/deletion-order.ts";
import { type FailureRecord, waitAfter } from "./backoff.ts";
import {
  completionsOf,
  failuresBefore,
  finishedAt,
  type IndexedPod,
  indexOf,
  isSuspended,
  type JobPod,
  type RunningJob,
  replacesOnlyFailed,
} from "./job-pods.ts";
import { rulingOn } from "./policies.ts";
import type { Indexes, Survey } from "./survey.ts";

export interface Demand {
  readonly remove: readonly JobPod[];
  /** One entry for each Pod; of an indexed Job with what the Pod gets, else undefined. */
  readonly create: readonly (IndexedPod | undefined)[];
  /** Milliseconds after which more may be created. */
  readonly again?: number;
}

/** So many Pods are created or deleted in one go; then others get their turn. */
const BURST = 500;
const NOTHING: Demand = { remove: [], create: [] };

export function demandOf(survey: Survey, record: FailureRecord, now: Date): Demand {
  const { job, active, terminating } = survey;
  const wanted = isSuspended(job) ? 0 : wantedOf(survey);
  const remove = tooMany(job, active, Math.max(0, active.length - wanted), now);
  if (remove.length > 0) return { ...NOTHING, remove: remove.slice(0, BURST) };

  const leaving = replacesOnlyFailed(job) ? terminating : 0;
  const missing = Math.min(wanted - leaving - active.length, BURST);
  if (missing <= 0) return NOTHING;
  if (survey.indexes?.failed) return demandByIndex(survey, survey.indexes, missing, now);
  const wait = waitAfter(record, now);
  if (wait > 0) return { ...NOTHING, again: wait };
  if (!survey.indexes) return { ...NOTHING, create: Array.from({ length: missing }, () => undefined) };
  return { ...NOTHING, create: pendingIndexes(survey, survey.indexes, missing).map((index) => ({ index })) };
}

function wantedOf({ job, active, succeeded }: Survey): number {
  const { parallelism = 1, completions } = job.spec;
  // Without a number of completions nothing is added once a Pod has succeeded; what runs may finish.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

/** Each index waits for itself, and its next Pod is told how often it has failed. */
function demandByIndex(survey: Survey, indexes: Indexes, missing: number, now: Date): Demand {
  const pending = pendingIndexes(survey, indexes, missing).map((index) => {
    const before = indexes.toReplace.get(index);
    return { index, failures: failuresWith(survey.job, before), wait: waitFor(before, now) };
  });
  const create = pending.filter(({ wait }) => wait === 0);
  if (create.length > 0) return { ...NOTHING, create };
  return pending.length > 0 ? { ...NOTHING, again: Math.min(...pending.map(({ wait }) => wait)) } : NOTHING;
}

function waitFor(before: JobPod | undefined, now: Date): number {
  if (!before) return 0;
  const { counted, ignored } = failuresBefore(before);
  return waitAfter({ failures: counted + ignored + 1, lastFailure: finishedAt(before) }, now);
}

function failuresWith(job: RunningJob, pod: JobPod | undefined): { counted: number; ignored: number } {
  if (!pod) return { counted: 0, ignored: 0 };
  const { counted, ignored } = failuresBefore(pod);
  return rulingOn(job, pod).isCounted ? { counted: counted + 1, ignored } : { counted, ignored: ignored + 1 };
}

/** The first indexes that nobody works on and that are not settled. */
function pendingIndexes({ job, pods, active }: Survey, { succeeded, failed }: Indexes, count: number): number[] {
  const indexesIn = (these: readonly JobPod[]) => IntervalSet.of(these.flatMap((pod) => indexOf(pod, job) ?? []));
  const leaving = replacesOnlyFailed(job) ? pods.filter(isTerminating) : [];
  const taken = succeeded
    .union(failed ?? IntervalSet.empty)
    .union(indexesIn(active))
    .union(indexesIn(leaving));
  return taken.missing(count, completionsOf(job));
}

/** At least so many Pods; of an indexed Job also those without an index and those that double one. */
function tooMany(job: RunningJob, active: readonly JobPod[], atLeast: number, now: Date): JobPod[] {
  const ordered = deletionOrder(active, [], now);
  const misplaced = job.spec.completionMode === "Indexed" ? doubles(job, ordered) : [];
  const others = ordered.filter((pod) => !misplaced.includes(pod));
  return [...misplaced, ...others.slice(0, Math.max(0, atLeast - misplaced.length))];
}

/** All but the last Pod of each index. */
function doubles(job: RunningJob, ordered: readonly JobPod[]): JobPod[] {
  const keeper = new Map<number, JobPod>();
  for (const pod of ordered) {
    const index = indexOf(pod, job);
    if (index !== undefined) keeper.set(index, pod);
  }
  const kept = new Set(keeper.values());
  return ordered.filter((pod) => !kept.has(pod));
}
