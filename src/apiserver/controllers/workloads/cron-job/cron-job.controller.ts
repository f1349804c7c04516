/**
 * Starts Jobs at the times that a CronJob names.
 *
 * Key     CronJob namespace/name
 * Reads   CronJob, Job
 * Writes  Job: creates, deletes; CronJob status
 * Twin    kube-controller-manager: cronjob-controller
 */
import { CronJob, type CronJobStatus } from "#api/batch";
import { apiVersionOf, type DynamicObject, keyOf } from "#api/meta";
import { timestamp } from "#lib/clock";
import { CronError, parseSchedule, type Schedule, UTC, type Zone, zoneNamed } from "#lib/cron";
import { controllerOf, isDeleting, isOwnedBy } from "#lib/meta";
import type { Telling } from "../../events.ts";
import type { ControllerParts } from "../../manager.ts";
import type { ServerController } from "../../runner.ts";
import { isFinished, JOBS, type RunningJob } from "../job/job-pods.ts";
import { isTaken, unlessEnding } from "../refusals.ts";
import { report } from "../reports.ts";
import { dueOf, nextAfter } from "./due.ts";
import { activityOf, type Cron, hasSucceeded, jobFrom, jobName, referenceTo, surplusJobs } from "./jobs.ts";
import { Remarks } from "./remarks.ts";

const CRON_JOBS = "batch/cronjobs";
const WORKERS = 4;

/** Timers do not count the time that a machine sleeps, so the clock is looked at now and then. */
const LOOK_AT_LEAST_EVERY_MS = 60_000;

export type CronJobParts = Pick<ControllerParts, "store" | "writer" | "ownership" | "clock" | "teller">;

export function cronJobController(parts: CronJobParts): ServerController {
  const { store, writer, ownership, clock } = parts;
  const teller = parts.teller("cronjob-controller");
  const remarks = new Remarks();

  return {
    name: "cron-job",
    watches: [CRON_JOBS, JOBS],
    workers: WORKERS,
    keysOf({ resource, key, object, previous }) {
      if (resource === CRON_JOBS) return [key];
      return [...new Set([object, previous].flatMap((job) => (job ? ownerKeys(job) : [])))];
    },

    reconcile: (key) => unlessEnding(() => reconcile(key)),
  };

  async function reconcile(key: string): Promise<number | undefined> {
    const cronJob = store.get(CRON_JOBS, key) as Cron | undefined;
    if (!cronJob) {
      remarks.forget(key);
      return undefined;
    }
    await tidy(cronJob);
    const known = statusOf(cronJob);
    if (isDeleting(cronJob) || cronJob.spec.suspend) {
      await save(cronJob, known);
      return undefined;
    }
    const timing = timingOf(cronJob);
    const status = timing ? await start(cronJob, known, timing) : known;
    await save(cronJob, status);
    const next = timing && nextAfter({ ...cronJob, status }, timing.schedule, clock.now());
    return next && Math.min(next.getTime() - clock.now().getTime(), LOOK_AT_LEAST_EVERY_MS);
  }

  function jobsOf({ metadata: { uid = "" } }: Cron): RunningJob[] {
    return [...ownership.controlledBy(JOBS, uid)] as RunningJob[];
  }

  /** Deletes finished Jobs beyond the limits. */
  async function tidy(cronJob: Cron): Promise<void> {
    for (const job of surplusJobs(cronJob, jobsOf(cronJob))) await remove(cronJob, job);
  }

  async function remove(cronJob: Cron, job: DynamicObject): Promise<void> {
    await writer.remove(JOBS, job, { propagationPolicy: "Background" });
    teller.tell(cronJob, { reason: "SuccessfulDelete", message: `Deleted job ${job.metadata.name}` });
  }

  /** The status as the Jobs are now, with a word about what became of those that ran. */
  function statusOf(cronJob: Cron): CronJobStatus {
    const { active, lastSuccessfulTime, ended, vanished, unexpected } = activityOf(cronJob.status, jobsOf(cronJob));
    for (const job of ended) {
      const condition = hasSucceeded(job) ? "Complete" : "Failed";
      const message = `Saw completed job: ${job.metadata.name}, condition: ${condition}`;
      teller.tell(cronJob, { reason: "SawCompletedJob", message });
    }
    for (const { name } of vanished) {
      teller.tell(cronJob, { reason: "MissingJob", message: `Active job went missing: ${name}` });
    }
    for (const { metadata } of unexpected) {
      const message = `Saw a job that the controller did not create or forgot: ${metadata.name}`;
      remark(cronJob, { type: "Warning", reason: "UnexpectedJob", message });
    }
    const { lastScheduleTime } = cronJob.status ?? {};
    return {
      ...(active.length > 0 && { active: [...active] }),
      ...(lastScheduleTime !== undefined && { lastScheduleTime }),
      ...(lastSuccessfulTime !== undefined && { lastSuccessfulTime }),
    };
  }

  /** How the schedule is meant; undefined when it cannot be read, which is told. */
  function timingOf(cronJob: Cron): { schedule: Schedule; zone: Zone } | undefined {
    const { schedule: text, timeZone } = cronJob.spec;
    const zone = timeZone === undefined ? UTC : zoneNamed(timeZone);
    if (!zone) {
      const message = `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`;
      remark(cronJob, { type: "Warning", reason: "UnknownTimeZone", message });
      return undefined;
    }
    try {
      const schedule = parseSchedule(text, zone);
      if (schedule.next(clock.now())) return { schedule, zone };
      const message = `invalid schedule: ${text} : there is no such time in the years to come`;
      remark(cronJob, { type: "Warning", reason: "InvalidSchedule", message });
      return undefined;
    } catch (error) {
      if (!(error instanceof CronError)) throw error;
      const message = `unparseable schedule: ${JSON.stringify(text)} : ${error.message}`;
      remark(cronJob, { type: "Warning", reason: "UnparseableSchedule", message });
      return undefined;
    }
  }

  /** Starts the Job that is due, if one is and may be started; the answer is the status after that. */
  async function start(
    cronJob: Cron,
    status: CronJobStatus,
    { schedule, zone }: { schedule: Schedule; zone: Zone },
  ): Promise<CronJobStatus> {
    const due = dueOf(cronJob, schedule, clock.now());
    if (due.missed) {
      const message = `Missed scheduled time to start a job: ${due.missed.toUTCString().replace("GMT", "+0000")}`;
      remark(cronJob, { type: "Warning", reason: "MissSchedule", message });
    }
    const { time } = due;
    if (!time) return status;
    if (due.isMany) {
      const message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";
      remark(cronJob, { type: "Warning", reason: "TooManyMissedTimes", message }, time);
    }
    const { active = [] } = status;
    if (active.some(({ name }) => name === jobName(cronJob, time))) return status;
    if (cronJob.spec.concurrencyPolicy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      remark(cronJob, { reason: "JobAlreadyActive", message }, time);
      return status;
    }
    const others = cronJob.spec.concurrencyPolicy === "Replace" ? await stopAll(cronJob, active) : active;
    const job = await create(cronJob, jobFrom(cronJob, time, zone));
    if (!job) return { ...status, active: [...others] };
    return {
      ...status,
      active: isFinished(job) ? [...others] : [...others, referenceTo(job)],
      lastScheduleTime: timestamp(time),
    };
  }

  async function stopAll(cronJob: Cron, active: readonly { uid?: string }[]): Promise<never[]> {
    const running = new Set(active.map(({ uid }) => uid));
    for (const job of jobsOf(cronJob)) if (running.has(job.metadata.uid)) await remove(cronJob, job);
    return [];
  }

  /** The Job of a start, also when it was made before and the server stopped; undefined when another has its name. */
  async function create(cronJob: Cron, wanted: DynamicObject): Promise<RunningJob | undefined> {
    try {
      const job = await writer.create(JOBS, wanted);
      teller.tell(cronJob, { reason: "SuccessfulCreate", message: `Created job ${job.metadata.name}` });
      return job as RunningJob;
    } catch (error) {
      if (isTaken(error)) {
        const known = store.get(JOBS, keyOf(wanted)) as RunningJob | undefined;
        return known && isOwnedBy(known, cronJob) ? known : undefined;
      }
      const message = `Error creating job: ${error instanceof Error ? error.message : String(error)}`;
      teller.tell(cronJob, { type: "Warning", reason: "FailedCreate", message });
      throw error;
    }
  }

  async function save(cronJob: Cron, { active = [], ...rest }: CronJobStatus): Promise<void> {
    const status = { ...(active.length > 0 && { active }), ...rest };
    await report(writer, { storage: CRON_JOBS, object: cronJob, status });
  }

  /** Tells of what does not change by looking at it again only once for each start. */
  function remark(cronJob: Cron, telling: Telling, about?: Date): void {
    const occasion = `${telling.message} ${about?.getTime() ?? ""}`;
    if (remarks.isNew(keyOf(cronJob), telling.reason, occasion)) teller.tell(cronJob, telling);
  }
}

function ownerKeys(job: DynamicObject): string[] {
  const owner = controllerOf(job);
  if (owner?.kind !== CronJob.kind || owner.apiVersion !== apiVersionOf(CronJob)) return [];
  return [`${job.metadata.namespace}/${owner.name}`];
}
