/** The Jobs of a CronJob: how one is made, which of them run, and which are kept when they have ended. */
import { type CronJob, type CronJobStatus, Job, JobAnnotation, JobConditionType } from "#api/batch";
import type { ObjectReference } from "#api/core";
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { isTrue } from "#lib/conditions";
import { timestampIn, type Zone } from "#lib/cron";
import { ownerReference } from "#lib/meta";
import { isFinished, type RunningJob } from "../job/job-pods.ts";
import type { Stored } from "../stored.ts";

export type Cron = Stored<CronJob>;

const MINUTE_MS = 60_000;

/** The same for the same start, so that it cannot be made twice. */
export function jobName({ metadata }: CronJob, start: Date): string {
  return `${metadata.name}-${Math.floor(start.getTime() / MINUTE_MS)}`;
}

export function jobFrom(cronJob: Cron, start: Date, zone: Zone): DynamicObject {
  const { namespace } = cronJob.metadata;
  const { metadata, spec } = cronJob.spec.jobTemplate;
  return {
    apiVersion: apiVersionOf(Job),
    kind: Job.kind,
    metadata: {
      name: jobName(cronJob, start),
      ...(namespace !== undefined && { namespace }),
      ...(metadata?.labels && { labels: metadata.labels }),
      annotations: { ...metadata?.annotations, [JobAnnotation.scheduledTimestamp]: timestampIn(zone, start) },
      ownerReferences: [ownerReference(cronJob)],
    },
    spec,
  };
}

export function referenceTo({ apiVersion, kind, metadata }: DynamicObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    ...(uid !== undefined && { uid }),
    apiVersion,
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
}

export function hasSucceeded({ status }: Job): boolean {
  return isTrue(status?.conditions, JobConditionType.complete);
}

/** What became of the Jobs that were running when one last looked. */
export interface Activity {
  readonly active: readonly ObjectReference[];
  readonly lastSuccessfulTime?: string;
  readonly ended: readonly RunningJob[];
  readonly vanished: readonly ObjectReference[];
  /** Jobs that run in the CronJob's name and that it knows nothing of. */
  readonly unexpected: readonly RunningJob[];
}

export function activityOf(status: CronJobStatus | undefined, jobs: readonly RunningJob[]): Activity {
  const { active = [], lastSuccessfulTime } = status ?? {};
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]));
  const known = new Set(active.map(({ uid }) => uid));
  const successes = jobs.flatMap((job) => (hasSucceeded(job) ? (job.status?.completionTime ?? []) : []));
  const latest = [lastSuccessfulTime ?? [], ...successes].flat().sort().at(-1);
  return {
    active: active.filter(({ uid }) => {
      const job = byUid.get(uid);
      return job && !isFinished(job);
    }),
    ...(latest !== undefined && { lastSuccessfulTime: latest }),
    ended: jobs.filter((job) => known.has(job.metadata.uid) && isFinished(job)),
    vanished: active.filter(({ uid }) => !byUid.has(uid)),
    unexpected: jobs.filter((job) => !known.has(job.metadata.uid) && !isFinished(job)),
  };
}

/** The finished Jobs that are too many, the oldest first; those that went well are counted apart from those that did not. */
export function surplusJobs({ spec }: CronJob, jobs: readonly RunningJob[]): RunningJob[] {
  const finished = inOrder(jobs.filter(isFinished));
  const beyond = (these: RunningJob[], limit: number | undefined) =>
    limit === undefined ? [] : these.slice(0, Math.max(0, these.length - limit));
  return [
    ...beyond(finished.filter(hasSucceeded), spec.successfulJobsHistoryLimit),
    ...beyond(
      finished.filter((job) => !hasSucceeded(job)),
      spec.failedJobsHistoryLimit,
    ),
  ];
}

/** By when they started; those that never did come last. */
function inOrder(jobs: readonly RunningJob[]): RunningJob[] {
  const rank = ({ metadata, status }: RunningJob) => `${status?.startTime ?? "~"} ${metadata.name}`;
  return jobs.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
