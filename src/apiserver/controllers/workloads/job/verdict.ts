/** Whether a Job is decided, and how. */
import { type JobCondition, JobConditionType } from "#api/batch";
import { findCondition } from "#lib/conditions";
import { hasFailed, type JobPod, type RunningJob } from "./job-pods.ts";
import { rulingOn, successOf } from "./policies.ts";
import type { Survey } from "./survey.ts";

export interface Verdict {
  readonly type: typeof JobConditionType.successCriteriaMet | typeof JobConditionType.failureTarget;
  readonly reason: string;
  readonly message: string;
}

/** What was decided stays so; then failures are looked for, then success by policy. */
export function verdictOn(survey: Survey, startTime: string | undefined, now: Date): Verdict | undefined {
  const { job, indexes } = survey;
  const earlier = decided(job, JobConditionType.successCriteriaMet) ?? decided(job, JobConditionType.failureTarget);
  const failure = earlier ?? failureOf(survey, startTime, now);
  if (failure || !indexes) return failure;
  const success = successOf(job, indexes.succeeded);
  return success === undefined ? undefined : succeeded("SuccessPolicy", success);
}

/** All that was asked for has been done. */
export const COMPLETED: Verdict = succeeded("CompletionsReached", "Reached expected number of succeeded pods");

/** Whether enough Pods have succeeded and none runs any more. */
export function isComplete({ job, succeeded: count }: Survey, active: number): boolean {
  // Without a number the Pods tell among themselves: when one succeeds, the others are left to finish.
  return active === 0 && count >= (job.spec.completions ?? 1);
}

function decided(job: RunningJob, type: Verdict["type"]): Verdict | undefined {
  const condition: JobCondition | undefined = findCondition(job.status?.conditions, type);
  if (condition?.status !== "True") return undefined;
  return { type, reason: condition.reason ?? "", message: condition.message ?? "" };
}

function failureOf(survey: Survey, startTime: string | undefined, now: Date): Verdict | undefined {
  const { job, pods, indexes } = survey;
  const { backoffLimit = 0, maxFailedIndexes, completions = 0 } = job.spec;
  const byPolicy = pods.flatMap((pod) => (hasFailed(pod, job) ? (rulingOn(job, pod).message ?? []) : []));
  if (byPolicy[0] !== undefined) return failed("PodFailurePolicy", byPolicy[0]);
  if (survey.failed > backoffLimit || restartsTooOften(job, pods)) {
    return failed("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  if (deadlineIn(job, startTime, now) === 0) {
    return failed("DeadlineExceeded", "Job was active longer than specified deadline");
  }
  const failedIndexes = indexes?.failed?.size ?? 0;
  if (maxFailedIndexes !== undefined && failedIndexes > maxFailedIndexes) {
    return failed("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes");
  }
  if (failedIndexes > 0 && failedIndexes + (indexes?.succeeded.size ?? 0) >= completions) {
    return failed("FailedIndexes", "Job has failed indexes");
  }
  return undefined;
}

/** Milliseconds until a Job has run for too long; 0 when it has, undefined when it may run for ever. */
export function deadlineIn({ spec }: RunningJob, startTime: string | undefined, now: Date): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || startTime === undefined || spec.suspend) return undefined;
  return Math.max(0, Date.parse(startTime) + spec.activeDeadlineSeconds * 1000 - now.getTime());
}

/** Pods whose containers are started again count these starts as the Job counts failed Pods. */
function restartsTooOften(job: RunningJob, pods: readonly JobPod[]): boolean {
  if (job.spec.template.spec.restartPolicy !== "OnFailure") return false;
  const restarts = pods
    .filter(({ status }) => status?.phase === "Running" || status?.phase === "Pending")
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return restarts > 0 && restarts >= (job.spec.backoffLimit ?? 0);
}

function failed(reason: string, message: string): Verdict {
  return { type: JobConditionType.failureTarget, reason, message };
}

function succeeded(reason: string, message: string): Verdict {
  return { type: JobConditionType.successCriteriaMet, reason, message };
}
