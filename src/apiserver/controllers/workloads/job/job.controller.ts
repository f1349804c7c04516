/**
 * Runs Jobs: starts their Pods, counts how they end, and decides when a Job is done.
 *
 * Key     Job namespace/name
 * Reads   Job, Pod
 * Writes  Pod: creates, deletes, adopts, releases, the finalizer batch.kubernetes.io/job-tracking; Job status
 * Twin    kube-controller-manager: job-controller
 */
import { JOB_TRACKING_FINALIZER, Job, JobConditionType, type JobStatus } from "#api/batch";
import { keyOf, type LabelSelector } from "#api/meta";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { isDeleting, withoutFinalizer } from "#lib/meta";
import { labelSelector } from "#lib/selectors";
import type { ControllerParts } from "../../manager.ts";
import type { ServerController } from "../../runner.ts";
import { claim } from "../claims.ts";
import { type Claimants, concerned } from "../concern.ts";
import { podChanges } from "../pod-changes.ts";
import { isActive, isReady, isTerminating, PODS } from "../pods.ts";
import { report, soonest } from "../reports.ts";
import { podsOf } from "../stored.ts";
import { conditionOf, finished, heldIn, type Tally, tallyOf, withCounted } from "./accounting.ts";
import { type FailureRecord, NO_FAILURES, recordWith } from "./backoff.ts";
import { type Demand, demandOf } from "./demand.ts";
import { isFinished, isManagedElsewhere, isSuspended, JOBS, type JobPod, podFor, type RunningJob } from "./job-pods.ts";
import { type Survey, surveyOf } from "./survey.ts";
import { COMPLETED, deadlineIn, isComplete, type Verdict, verdictOn } from "./verdict.ts";

/** Enough that the writes of many Jobs share a commit of the log. */
const WORKERS = 16;

export type JobParts = Pick<ControllerParts, "store" | "writer" | "ownership" | "clock" | "teller">;

export function jobController(parts: JobParts): ServerController {
  const { store, writer, ownership, clock } = parts;
  const teller = parts.teller("job-controller");
  const changes = podChanges({ writer, teller });
  const records = new Map<string, FailureRecord>();
  const claimants: Claimants = {
    kind: Job,
    storage: JOBS,
    store,
    selectorOf: (job) => labelSelector((job.spec as { selector?: LabelSelector }).selector),
  };

  return {
    name: "job",
    watches: [JOBS, PODS],
    workers: WORKERS,
    keysOf: (event) => (event.resource === JOBS ? [event.key] : concerned(event, claimants)),

    async reconcile(key) {
      const job = store.get(JOBS, key) as RunningJob | undefined;
      if (!job || isFinished(job) || isManagedElsewhere(job)) {
        records.delete(key);
        return undefined;
      }
      const survey = surveyOf(job, await podsClaimedBy(job));
      const record = recordWith(records.get(key) ?? NO_FAILURES, survey.newlySucceeded, survey.newlyFailed);
      const now = clock.now();
      const startTime = job.status?.startTime ?? (isSuspended(job) ? undefined : timestamp(now));

      const decided = verdictOn(survey, startTime, now);
      const demand = decided || isDeleting(job) ? undefined : demandOf(survey, record, now);
      const error = decided ? await endAll(survey) : demand && (await meet(job, demand));
      const counts = countsOf(podsOf(ownership, job));
      const verdict = decided ?? (isComplete(survey, counts.active ?? 0) ? COMPLETED : undefined);
      const status = { ...job.status, ...(startTime && { startTime }), ...counts };
      // While Pods could not be deleted nothing is decided, because they may still have to be counted.
      const settled = decided && error ? undefined : verdict;
      const told = demand && !verdict ? withSuspension(job, status, now) : status;
      const tally = tallyOf(survey, settled, told, now);
      await report(writer, { storage: JOBS, object: job, status: tally.status });
      records.set(key, record);
      await count(survey, tally, settled, now);
      if (error) throw error;
      return soonest(demand?.again, verdict ? undefined : deadlineIn(job, startTime, now));
    },
  };

  async function podsClaimedBy(job: RunningJob): Promise<JobPod[]> {
    const selector = labelSelector(job.spec.selector);
    await claim({ owner: job, selector, storage: PODS, ownership, writer, finalizer: JOB_TRACKING_FINALIZER });
    return podsOf(ownership, job).filter(({ metadata }) => selector.matches(metadata.labels));
  }

  /** Deletes what still runs. The finalizers stay: these Pods have to be counted. */
  async function endAll({ job, active }: Survey): Promise<Error | undefined> {
    return (await changes.remove(job, active)).error;
  }

  /** Pods that are too many have neither succeeded nor failed: they go without being counted. */
  async function meet(job: RunningJob, { remove, create }: Demand): Promise<Error | undefined> {
    await Promise.all(remove.map(letGo));
    const removed = await changes.remove(job, remove);
    const made = create.map((indexed) => podFor(job, indexed));
    const created = await changes.create(job, made);
    return removed.error ?? created.error;
  }

  async function letGo(pod: JobPod): Promise<void> {
    await writer.change(PODS, keyOf(pod), (draft) =>
      draft.metadata.uid === pod.metadata.uid ? withoutFinalizer(draft, JOB_TRACKING_FINALIZER) : draft,
    );
  }

  /** Takes the finalizers off Pods that are written down, counts them, and ends a Job that is decided. */
  async function count({ job, pods }: Survey, tally: Tally, verdict: Verdict | undefined, now: Date): Promise<void> {
    const outcomes = await Promise.allSettled(tally.release.map(letGo));
    const held = heldIn(pods);
    for (const [index, { metadata }] of tally.release.entries()) {
      if (outcomes[index]?.status === "fulfilled") held.delete(metadata.uid ?? "");
    }
    const counted = withCounted(tally.status, held);
    const end = verdict && !tally.isPartial ? finished(counted, verdict, now) : undefined;
    await report(writer, { storage: JOBS, object: job, status: end ?? counted, before: tally.status });
    if (end && verdict) tellEnd(job, end, verdict);
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure) throw failure.reason;
  }

  function tellEnd(job: RunningJob, { succeeded = 0 }: JobStatus, { type, reason, message }: Verdict): void {
    if (type === JobConditionType.failureTarget) {
      teller.tell(job, { type: "Warning", reason, message });
      return;
    }
    if (job.spec.completions !== undefined && succeeded > job.spec.completions) {
      const tooMany = "Too many succeeded pods running after completion count reached";
      teller.tell(job, { type: "Warning", reason: "TooManySucceededPods", message: tooMany });
    }
    teller.tell(job, { reason: "Completed", message: "Job completed" });
  }

  /** Says that a Job is suspended, or is so no more; its time begins anew when it goes on. */
  function withSuspension(job: RunningJob, status: JobStatus, now: Date): JobStatus {
    const type = JobConditionType.suspended;
    const known = findCondition(status.conditions, type);
    const wanted = isSuspended(job) ? "True" : "False";
    // A Job that never was suspended does not say so.
    if (known?.status === wanted || (!known && wanted === "False")) return status;
    const [reason, message] = isSuspended(job) ? ["JobSuspended", "Job suspended"] : ["JobResumed", "Job resumed"];
    teller.tell(job, { reason: isSuspended(job) ? "Suspended" : "Resumed", message });
    const { startTime: _, ...rest } = status;
    const condition = conditionOf({ type, reason, message }, now, wanted);
    const others = status.conditions ?? [];
    const conditions = known ? others.map((each) => (each === known ? condition : each)) : [...others, condition];
    return { ...rest, conditions, ...(!isSuspended(job) && { startTime: timestamp(now) }) };
  }
}

function countsOf(pods: readonly JobPod[]): JobStatus {
  const active = pods.filter(isActive);
  return {
    active: active.length,
    ready: active.filter(isReady).length,
    terminating: pods.filter(isTerminating).length,
  };
}
