/** CronJobs: Jobs that start on a schedule, few at a time, few kept. */
import { beforeAll, describe, expect, it } from "vitest";
import type { CronJob, Job } from "#api/batch";
import { timestamp } from "#lib/clock";
import { eventually } from "../support/eventually.ts";
import { inGroup, refusal, refused, type Staged } from "./stage.ts";
import { known, Yard } from "./workloads.ts";

const MINUTE_MS = 60_000;
const podSpec = { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] };
/** Once an hour, and a moment ago for the last time: so that no case sees a second start, whenever it runs. */
const recently = (shift = 0) => `${(new Date(Date.now() - 2 * MINUTE_MS).getUTCMinutes() + shift) % 60} * * * *`;
const hoursAgo = (hours: number) => timestamp(new Date(Date.now() - hours * 60 * MINUTE_MS));

export function cronJobsSuite(stage: Staged): void {
  let yard: Yard;
  beforeAll(async () => {
    yard = new Yard(stage(), await stage().namespace());
  });

  const cronJobs = (name?: string) => inGroup("batch", "v1", "cronjobs", yard.space, name);
  const jobs = (name?: string) => inGroup("batch", "v1", "jobs", yard.space, name);
  const wish = (name: string, spec: object = {}) => ({
    metadata: { name },
    spec: {
      schedule: recently(),
      jobTemplate: {
        metadata: { labels: { app: name }, annotations: { note: "x" } },
        spec: { template: { metadata: { labels: { app: name } }, spec: podSpec } },
      },
      ...spec,
    },
  });
  const created = async (name: string, spec: object = {}) => {
    const { code, body } = await yard.admin.post(cronJobs(), wish(name, spec));
    expect(code).toBe(201);
    return known<CronJob>(body);
  };
  const read = async (name: string) => known<CronJob>((await yard.admin.get(cronJobs(name))).body);
  const statusOf = async (name: string) => (await read(name)).status ?? {};
  const jobsOf = async (name: string) =>
    known<Job[]>((await yard.admin.get(`${jobs()}?labelSelector=app%3D${name}`)).body.items);
  const jobNames = async (name: string) => (await jobsOf(name)).map(({ metadata }) => metadata.name);
  const tells = (name: string, text: string | RegExp) =>
    eventually(async () => expect(await yard.toldAbout(name)).toContainEqual(expect.stringMatching(text)));
  /** A Job that somebody made from the CronJob by hand, as `kubectl create job --from` does. */
  const madeByHand = async (owner: CronJob, name: string) => {
    const { metadata, spec } = owner;
    const { code, body } = await yard.admin.post(jobs(), {
      metadata: {
        name,
        labels: { app: metadata.name },
        annotations: { "cronjob.kubernetes.io/instantiate": "manual" },
        ownerReferences: [
          { apiVersion: "batch/v1", kind: "CronJob", name: metadata.name, uid: metadata.uid, controller: true },
        ],
      },
      spec: spec.jobTemplate.spec,
    });
    expect(code).toBe(201);
    return known<Job>(body);
  };
  /** Lets a CronJob that waits see that it has missed its time, so that no case has to wait for it. */
  const due = async (name: string, status: object = {}) => {
    const patched = await yard.admin.patch(`${cronJobs(name)}/status`, {
      status: { lastScheduleTime: hoursAgo(2), ...status },
    });
    expect(patched.code).toBe(200);
    expect((await yard.admin.patch(cronJobs(name), { spec: { suspend: false } })).code).toBe(200);
  };
  const referenceTo = ({ metadata }: Job) => ({
    apiVersion: "batch/v1",
    kind: "Job",
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
  });
  const succeed = async (app: string) => {
    for (const { metadata } of await yard.podsOf(app)) {
      await yard.admin.patch(`${yard.pods(metadata.name)}/status`, { status: { phase: "Succeeded" } });
    }
  };

  describe("a CronJob whose time has come", () => {
    it("cronjobs.start: starts one Job, for the latest time that was missed", async () => {
      const { metadata } = await created("due", { suspend: true });
      await due("due");
      const [job] = await eventually(async () => {
        const found = await jobsOf("due");
        expect(found).toHaveLength(1);
        return found;
      });
      const status = await eventually(async () => {
        const now = await statusOf("due");
        expect(now.active).toHaveLength(1);
        return now;
      });
      const time = Date.parse(status.lastScheduleTime ?? "");
      expect([time % MINUTE_MS, Date.now() - time < 5 * MINUTE_MS]).toEqual([0, true]);
      expect(job?.metadata).toMatchObject({
        name: `due-${time / MINUTE_MS}`,
        labels: { app: "due" },
        annotations: { note: "x" },
        ownerReferences: [
          {
            apiVersion: "batch/v1",
            kind: "CronJob",
            name: "due",
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      });
      const told = job?.metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"] ?? "";
      expect(Date.parse(told)).toBe(time);
      expect(status.active?.[0]).toMatchObject({
        apiVersion: "batch/v1",
        kind: "Job",
        namespace: yard.space,
        name: job?.metadata.name,
        uid: job?.metadata.uid,
      });
      await tells("due", `SuccessfulCreate: Created job ${job?.metadata.name}`);
    });

    it("cronjobs.every: starts after an interval too", async () => {
      await created("often", { schedule: "@every 1s" });
      await eventually(async () => expect((await statusOf("often")).active).not.toHaveLength(0));
    });

    it("cronjobs.many-missed: says so when it has missed very many times", async () => {
      await created("sleepy", { suspend: true });
      await due("sleepy", { lastScheduleTime: hoursAgo(200) });
      await eventually(async () => expect(await jobNames("sleepy")).toHaveLength(1));
      await tells("sleepy", /^TooManyMissedTimes: too many missed start times/);
    });

    it("cronjobs.time-zone: means its times in a time zone", async () => {
      await created("elsewhere", { suspend: true, schedule: recently(30), timeZone: "Asia/Kolkata" });
      await due("elsewhere");
      const [job] = await eventually(async () => {
        const found = await jobsOf("elsewhere");
        expect(found).toHaveLength(1);
        return found;
      });
      expect(job?.metadata.annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"]).toMatch(
        /T\d\d:\d\d:00\+05:30$/,
      );
    });

    it("cronjobs.forbid: waits for the Job before where they must not run side by side", async () => {
      const owner = await created("alone", { suspend: true, concurrencyPolicy: "Forbid" });
      const running = await madeByHand(owner, "alone-before");
      await due("alone", { active: [referenceTo(running)] });
      await tells("alone", /^JobAlreadyActive: Not starting job because prior execution is running/);
      expect(await jobNames("alone")).toEqual(["alone-before"]);
    });

    it("cronjobs.replace: puts a Job in the place of the one before where that is wished", async () => {
      const owner = await created("replacing", { suspend: true, concurrencyPolicy: "Replace" });
      const running = await madeByHand(owner, "replacing-before");
      await due("replacing", { active: [referenceTo(running)] });
      await eventually(async () => {
        const names = await jobNames("replacing");
        expect(names).toEqual([expect.stringMatching(/^replacing-\d+$/)]);
        expect((await statusOf("replacing")).active?.map(({ name }) => name)).toEqual(names);
      });
      await tells("replacing", "SuccessfulDelete: Deleted job replacing-before");
    });

    it("cronjobs.suspend: starts nothing while it is suspended", async () => {
      await created("asleep", { suspend: true, schedule: "@every 1s" });
      await created("awake", { schedule: "@every 1s" });
      await eventually(async () => expect(await jobNames("awake")).not.toEqual([]));
      expect([await jobNames("asleep"), await statusOf("asleep")]).toEqual([[], {}]);
    });
  });

  describe("the Jobs of a CronJob", () => {
    it("cronjobs.completed: are noticed when they succeed", async () => {
      await created("finishing", { suspend: true });
      await due("finishing");
      await eventually(async () => expect(await yard.podsOf("finishing")).toHaveLength(1));
      const [name] = await jobNames("finishing");
      await succeed("finishing");
      await eventually(async () => {
        const { active, lastSuccessfulTime } = await statusOf("finishing");
        expect(active).toBeUndefined();
        expect(lastSuccessfulTime).toBeTruthy();
      });
      await tells("finishing", `SawCompletedJob: Saw completed job: ${name}, condition: Complete`);
    });

    it("cronjobs.missing: are noticed when somebody deletes them", async () => {
      await created("losing", { suspend: true });
      await due("losing");
      await eventually(async () => expect((await statusOf("losing")).active).toHaveLength(1));
      const [name] = await jobNames("losing");
      await yard.admin.delete(jobs(name), { propagationPolicy: "Background" });
      await eventually(async () => expect((await statusOf("losing")).active).toBeUndefined());
      await tells("losing", `MissingJob: Active job went missing: ${name}`);
    });

    it("cronjobs.by-hand: may be made by hand, and count as its own", async () => {
      const owner = await created("handy", { suspend: true });
      await madeByHand(owner, "handy-now");
      await tells("handy", "UnexpectedJob: Saw a job that the controller did not create or forgot: handy-now");
      await eventually(async () => expect(await yard.podsOf("handy")).toHaveLength(1));
      await succeed("handy");
      await eventually(async () => expect((await statusOf("handy")).lastSuccessfulTime).toBeTruthy());
    });

    it("cronjobs.history: are kept up to a limit when they have ended", async () => {
      const owner = await created("tidy", { suspend: true, successfulJobsHistoryLimit: 1 });
      for (const name of ["tidy-1", "tidy-2", "tidy-3"]) await madeByHand(owner, name);
      await eventually(async () => expect(await yard.podsOf("tidy")).toHaveLength(3));
      await succeed("tidy");
      await eventually(async () => expect(await jobNames("tidy")).toHaveLength(1));
    });

    it("cronjobs.deletion: go with it", async () => {
      const owner = await created("leaving", { suspend: true });
      await madeByHand(owner, "leaving-1");
      await yard.admin.delete(cronJobs("leaving"));
      await eventually(async () => expect(await jobNames("leaving")).toEqual([]));
    });
  });

  const rows: [why: string, spec: object, cause: string][] = [
    ["no schedule", { schedule: "" }, "spec.schedule FieldValueRequired"],
    ["a schedule of four fields", { schedule: "* * * *" }, "spec.schedule FieldValueInvalid"],
    ["a minute that does not exist", { schedule: "60 * * * *" }, "spec.schedule FieldValueInvalid"],
    ["a word nobody knows", { schedule: "@often" }, "spec.schedule FieldValueInvalid"],
    ["a zone in the schedule", { schedule: "TZ=UTC * * * * *" }, "spec.schedule FieldValueInvalid"],
    ["a zone nobody knows", { timeZone: "Mars/Base" }, "spec.timeZone FieldValueInvalid"],
    ["a zone that depends on the place", { timeZone: "Local" }, "spec.timeZone FieldValueInvalid"],
    ["a policy nobody knows", { concurrencyPolicy: "Odd" }, "spec.concurrencyPolicy FieldValueNotSupported"],
    ["a limit below nothing", { failedJobsHistoryLimit: -1 }, "spec.failedJobsHistoryLimit FieldValueInvalid"],
  ];
  it.each(rows)("cronjobs.refusals: refuses %s", async (_, spec, cause) => {
    const reply = await yard.admin.post(cronJobs(), wish("refused", spec));
    expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
  });

  it.each(["* * * * ?", "0 0 1 JAN-DEC/2 *", "*/5 0-23 1,15 * mon", "@hourly", "@every 1h30m"])(
    "cronjobs.schedules: takes %s",
    async (schedule) => {
      const reply = await yard.admin.post(`${cronJobs()}?dryRun=All`, wish("dry", { schedule }));
      expect(reply.code).toBe(201);
    },
  );

  it("cronjobs.name: needs room for a time in its name", async () => {
    const reply = await yard.admin.post(cronJobs(), wish("n".repeat(53)));
    expect(refusal(reply)).toEqual(refused(422, "Invalid", "metadata.name FieldValueInvalid"));
  });
}
