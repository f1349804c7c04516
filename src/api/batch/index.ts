/** The group `batch/v1`: work that runs to an end, once or on a schedule. */
import type { ObjectReference, PodTemplateSpec } from "#api/core";
import { type ConditionStatus, type KubeObject, kind, type LabelSelector, type ObjectMeta } from "#api/meta";

export interface Job extends KubeObject {
  spec: JobSpec;
  status?: JobStatus;
}
export const Job = kind<Job>({ group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true });

export interface JobSpec {
  parallelism?: number;
  completions?: number;
  completionMode?: "NonIndexed" | "Indexed";
  activeDeadlineSeconds?: number;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  podFailurePolicy?: { rules: PodFailureRule[] };
  successPolicy?: { rules: SuccessRule[] };
  podReplacementPolicy?: "TerminatingOrFailed" | "Failed";
  selector?: LabelSelector;
  manualSelector?: boolean;
  template: PodTemplateSpec;
  ttlSecondsAfterFinished?: number;
  suspend?: boolean;
  managedBy?: string;
}

/** What the failure of a Pod means; the first rule that fits decides. */
export interface PodFailureRule {
  action: "FailJob" | "FailIndex" | "Ignore" | "Count";
  onExitCodes?: { containerName?: string; operator: "In" | "NotIn"; values: number[] };
  onPodConditions?: { type: string; status: ConditionStatus }[];
}

/** When an indexed Job has succeeded though not all of its indexes have. */
export interface SuccessRule {
  succeededIndexes?: string;
  succeededCount?: number;
}

export interface JobStatus {
  conditions?: JobCondition[];
  startTime?: string;
  completionTime?: string;
  active?: number;
  ready?: number;
  terminating?: number;
  succeeded?: number;
  failed?: number;
  completedIndexes?: string;
  failedIndexes?: string;
  uncountedTerminatedPods?: UncountedTerminatedPods;
}

/** Pods by uid that have ended and are in no counter yet. */
export interface UncountedTerminatedPods {
  succeeded?: string[];
  failed?: string[];
}

export interface JobCondition {
  type: string;
  status: ConditionStatus;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export const JobConditionType = {
  suspended: "Suspended",
  /** It is decided that the Job has succeeded; what still runs is being ended. */
  successCriteriaMet: "SuccessCriteriaMet",
  complete: "Complete",
  /** It is decided that the Job has failed; what still runs is being ended. */
  failureTarget: "FailureTarget",
  failed: "Failed",
} as const;

/** Keeps a Pod from vanishing until its Job has counted it. */
export const JOB_TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";

/** The value of `spec.managedBy` that means the cluster's own controller, as no value does. */
export const JOB_CONTROLLER = "kubernetes.io/job-controller";

export const JobLabel = {
  controllerUid: "batch.kubernetes.io/controller-uid",
  jobName: "batch.kubernetes.io/job-name",
  legacyControllerUid: "controller-uid",
  legacyJobName: "job-name",
} as const;

export const JobAnnotation = {
  /** Which index a Pod works on; as a label too. */
  completionIndex: "batch.kubernetes.io/job-completion-index",
  /** How often the index has failed before this Pod. */
  indexFailureCount: "batch.kubernetes.io/job-index-failure-count",
  indexIgnoredFailureCount: "batch.kubernetes.io/job-index-ignored-failure-count",
  /** When the CronJob meant its Job to start. */
  scheduledTimestamp: "batch.kubernetes.io/cronjob-scheduled-timestamp",
} as const;

export interface CronJob extends KubeObject {
  spec: CronJobSpec;
  status?: CronJobStatus;
}
export const CronJob = kind<CronJob>({
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  namespaced: true,
});

export interface CronJobSpec {
  schedule: string;
  timeZone?: string;
  startingDeadlineSeconds?: number;
  concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
  suspend?: boolean;
  jobTemplate: { metadata?: Partial<ObjectMeta>; spec: JobSpec };
  successfulJobsHistoryLimit?: number;
  failedJobsHistoryLimit?: number;
}

export interface CronJobStatus {
  active?: ObjectReference[];
  lastScheduleTime?: string;
  lastSuccessfulTime?: string;
}
