import { describe, expect, it } from "vitest";
import type { CronJob, CronJobSpec, Job } from "#api/batch";
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import { type Bed, bed as makeBed } from "../../testing/bed.ts";
import type { Stored } from "../stored.ts";
import { cronJobController } from "./cron-job.controller.ts";

const CRON_JOBS = "batch/cronjobs";
const JOBS = "batch/jobs";
const MINUTE = 60_000;

const bed = () => makeBed((parts) => [cronJobController(parts)]);

async function started(cluster: Bed, spec: Partial<CronJobSpec> = {}): Promise<void> {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] } };
  await cluster.create(CRON_JOBS, {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "tick", namespace: "default" },
    spec: {
      schedule: "* * * * *",
      jobTemplate: { metadata: { labels: { app: "tick" }, annotations: { note: "x" } }, spec: { template } },
      ...spec,
    },
  });
  await cluster.settle();
}

/** Lets minutes pass one by one, as they do. */
async function minutes(cluster: Bed, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) await cluster.pass(MINUTE);
}

async function finish(cluster: Bed, name: string, type: "Complete" | "Failed"): Promise<void> {
  const now = timestamp(cluster.clock.now());
  const before = type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  const conditions = [before, type].map((each) => ({ type: each, status: "True", lastTransitionTime: now }));
  const status = { startTime: now, ...(type === "Complete" && { completionTime: now }), conditions };
  await cluster.change(JOBS, `default/${name}`, (draft) => ({ ...draft, status }), "status");
  await cluster.settle();
}

async function edit(cluster: Bed, spec: Partial<CronJobSpec>): Promise<void> {
  await cluster.change(CRON_JOBS, "default/tick", (draft) => ({
    ...draft,
    spec: { ...(draft.spec as object), ...spec },
  }));
  await cluster.settle();
}

const cronIn = (cluster: Bed) => cluster.get(CRON_JOBS, "default/tick") as Stored<CronJob>;
const statusIn = (cluster: Bed) => cronIn(cluster).status ?? {};
const jobs = (cluster: Bed) => cluster.list(JOBS) as Stored<Job>[];
const names = (cluster: Bed) => jobs(cluster).map(({ metadata }) => metadata.name);
const activeNames = (cluster: Bed) => statusIn(cluster).active?.map(({ name }) => name);
const told = (cluster: Bed, reason: string) =>
  cluster.list("core/events").flatMap((event) => (event.reason === reason ? [event.message] : []));
/** The name of the Job of a minute after the start of the clock. */
const nameAt = (minute: number) => `tick-${Date.parse("2026-01-01T00:00:00Z") / MINUTE + minute}`;

describe("a CronJob", () => {
  it("starts a Job when it is time", async () => {
    const cluster = await bed();
    await started(cluster);
    expect([names(cluster), statusIn(cluster)]).toEqual([[], {}]);
    await minutes(cluster, 1);
    const [job] = jobs(cluster);
    const { uid } = cronIn(cluster).metadata;
    expect(job?.metadata).toMatchObject({
      name: nameAt(1),
      labels: { app: "tick" },
      annotations: { note: "x", "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:01:00Z" },
      ownerReferences: [
        { apiVersion: "batch/v1", kind: "CronJob", name: "tick", uid, controller: true, blockOwnerDeletion: true },
      ],
    });
    expect(statusIn(cluster)).toEqual({
      active: [
        {
          kind: "Job",
          namespace: "default",
          name: nameAt(1),
          uid: job?.metadata.uid,
          apiVersion: "batch/v1",
          resourceVersion: job?.metadata.resourceVersion,
        },
      ],
      lastScheduleTime: "2026-01-01T00:01:00Z",
    });
    expect(told(cluster, "SuccessfulCreate")).toEqual([`Created job ${nameAt(1)}`]);
  });

  it("writes nothing the second time", async () => {
    const cluster = await bed();
    await started(cluster, { concurrencyPolicy: "Forbid" });
    await minutes(cluster, 3);
    const { revision } = cluster.store;
    await cluster.pass(1000);
    await cluster.pass(1000);
    expect(cluster.store.revision).toBe(revision);
  });

  it("runs Jobs side by side, unless told otherwise", async () => {
    const cluster = await bed();
    await started(cluster);
    await minutes(cluster, 3);
    expect(activeNames(cluster)).toEqual([nameAt(1), nameAt(2), nameAt(3)]);
  });

  it("waits for the Job before where they must not run side by side, and then makes up for one start", async () => {
    const cluster = await bed();
    await started(cluster, { concurrencyPolicy: "Forbid" });
    await minutes(cluster, 3);
    expect(names(cluster)).toEqual([nameAt(1)]);
    expect(told(cluster, "JobAlreadyActive")[0]).toBe(
      "Not starting job because prior execution is running and concurrency policy is Forbid",
    );
    await finish(cluster, nameAt(1), "Complete");
    expect(activeNames(cluster)).toEqual([nameAt(3)]);
  });

  it("puts the next Job in the place of the one before where that is wished", async () => {
    const cluster = await bed();
    await started(cluster, { concurrencyPolicy: "Replace" });
    await minutes(cluster, 2);
    expect([names(cluster), activeNames(cluster)]).toEqual([[nameAt(2)], [nameAt(2)]]);
    expect(told(cluster, "SuccessfulDelete")).toEqual([`Deleted job ${nameAt(1)}`]);
  });

  it("notices how its Jobs end", async () => {
    const cluster = await bed();
    await started(cluster);
    await minutes(cluster, 2);
    await finish(cluster, nameAt(1), "Complete");
    await finish(cluster, nameAt(2), "Failed");
    expect(statusIn(cluster)).toEqual({
      lastScheduleTime: "2026-01-01T00:02:00Z",
      lastSuccessfulTime: "2026-01-01T00:02:00Z",
    });
    expect(told(cluster, "SawCompletedJob").sort()).toEqual([
      `Saw completed job: ${nameAt(1)}, condition: Complete`,
      `Saw completed job: ${nameAt(2)}, condition: Failed`,
    ]);
  });

  it("notices when one of its Jobs is gone", async () => {
    const cluster = await bed();
    await started(cluster);
    await minutes(cluster, 1);
    await cluster.writer.remove(JOBS, jobs(cluster)[0] as DynamicObject, { propagationPolicy: "Background" });
    await cluster.settle();
    expect(statusIn(cluster)).toEqual({ lastScheduleTime: "2026-01-01T00:01:00Z" });
    expect(told(cluster, "MissingJob")).toEqual([`Active job went missing: ${nameAt(1)}`]);
    expect(names(cluster)).toEqual([]);
  });

  it("keeps a few Jobs that have ended", async () => {
    const cluster = await bed();
    await started(cluster, { successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 });
    for (let minute = 1; minute <= 6; minute++) {
      await minutes(cluster, 1);
      await finish(cluster, nameAt(minute), minute % 2 === 0 ? "Complete" : "Failed");
    }
    expect(names(cluster)).toEqual([4, 5, 6].map(nameAt));
  });

  it("counts Jobs that somebody made from it by hand", async () => {
    const cluster = await bed();
    await started(cluster, { suspend: true });
    const { uid = "" } = cronIn(cluster).metadata;
    await cluster.create(JOBS, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: {
        name: "by-hand",
        namespace: "default",
        annotations: { "cronjob.kubernetes.io/instantiate": "manual" },
        ownerReferences: [{ apiVersion: "batch/v1", kind: "CronJob", name: "tick", uid, controller: true }],
      },
      spec: cronIn(cluster).spec.jobTemplate.spec,
    });
    await cluster.settle();
    expect(told(cluster, "UnexpectedJob")).toEqual(["Saw a job that the controller did not create or forgot: by-hand"]);
    await finish(cluster, "by-hand", "Complete");
    expect(statusIn(cluster)).toEqual({ lastSuccessfulTime: "2026-01-01T00:00:00Z" });
  });

  it("starts nothing while it is suspended, and one Job when it goes on", async () => {
    const cluster = await bed();
    await started(cluster, { suspend: true });
    await minutes(cluster, 3);
    expect(names(cluster)).toEqual([]);
    await edit(cluster, { suspend: false });
    expect(names(cluster)).toEqual([nameAt(3)]);
  });

  it("starts at most one Job after a long sleep, and says so when it was very long", async () => {
    const cluster = await bed();
    await started(cluster);
    await cluster.pass(30 * MINUTE);
    expect([names(cluster), told(cluster, "TooManyMissedTimes")]).toEqual([[nameAt(30)], []]);
    await cluster.pass(200 * MINUTE);
    expect(names(cluster)).toEqual([nameAt(30), nameAt(230)].sort());
    expect(told(cluster, "TooManyMissedTimes")).toHaveLength(1);
  });

  it("does not start a Job whose deadline is over", async () => {
    const cluster = await bed();
    await started(cluster, { schedule: "0 * * * *", startingDeadlineSeconds: 30 });
    await cluster.pass(61 * MINUTE);
    expect(names(cluster)).toEqual([]);
    expect(told(cluster, "MissSchedule")).toEqual([
      "Missed scheduled time to start a job: Thu, 01 Jan 2026 01:00:00 +0000",
    ]);
    await cluster.pass(59 * MINUTE);
    expect(names(cluster)).toEqual([nameAt(120)]);
  });

  it("means its times in a time zone", async () => {
    const cluster = await bed();
    await started(cluster, { schedule: "30 6 * * *", timeZone: "Asia/Kolkata" });
    await cluster.pass(59 * MINUTE);
    expect(names(cluster)).toEqual([]);
    await cluster.pass(MINUTE);
    expect(jobs(cluster)[0]?.metadata.annotations).toMatchObject({
      "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T06:30:00+05:30",
    });
  });

  it("follows a new schedule", async () => {
    const cluster = await bed();
    await started(cluster, { schedule: "0 0 1 1 *" });
    await edit(cluster, { schedule: "*/2 * * * *" });
    await minutes(cluster, 2);
    expect(names(cluster)).toEqual([nameAt(2)]);
  });

  it("does not start a Job again that was started before the server was killed", async () => {
    const cluster = await bed();
    await started(cluster);
    await minutes(cluster, 1);
    // As if the Job had been created and the status never written.
    await cluster.change(CRON_JOBS, "default/tick", (draft) => ({ ...draft, status: {} }), "status");
    await cluster.settle();
    expect(names(cluster)).toEqual([nameAt(1)]);
    expect(activeNames(cluster)).toEqual([nameAt(1)]);
    expect(statusIn(cluster).lastScheduleTime).toBe("2026-01-01T00:01:00Z");
  });

  it("says that a schedule names no day at all", async () => {
    const cluster = await bed();
    await started(cluster, { schedule: "0 0 31 2 *" });
    expect(told(cluster, "InvalidSchedule")).toHaveLength(1);
  });

  it("passes over a start whose name somebody else has taken", async () => {
    const cluster = await bed();
    await cluster.create(JOBS, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: nameAt(1), namespace: "default" },
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "x" }] } } },
    });
    await started(cluster);
    await minutes(cluster, 1);
    expect(statusIn(cluster)).toEqual({});
    await minutes(cluster, 1);
    expect(activeNames(cluster)).toEqual([nameAt(2)]);
  });
});
