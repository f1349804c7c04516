/** Jobs: Pods that run to an end, counted once each, and when a Job is done. */
import { beforeAll, describe, expect, it } from "vitest";
import type { Job, JobStatus } from "#api/batch";
import type { Pod } from "#api/core";
import { timestamp } from "#lib/clock";
import { eventually } from "../support/eventually.ts";
import { inGroup, refusal, refused, type Staged } from "./stage.ts";
import { known, Yard } from "./workloads.ts";

const FINALIZER = "batch.kubernetes.io/job-tracking";
const INDEX = "batch.kubernetes.io/job-completion-index";

const RETRY_AFTER_MS = 10_000;
const RETRY_PATIENCE_MS = 70_000;

const podSpec = { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] };

export function jobsSuite(stage: Staged): void {
  let yard: Yard;
  beforeAll(async () => {
    yard = new Yard(stage(), await stage().namespace());
  });

  const jobs = (name?: string) => inGroup("batch", "v1", "jobs", yard.space, name);
  const wish = (name: string, spec: object = {}) => ({
    metadata: { name },
    spec: { template: { metadata: { labels: { app: name } }, spec: podSpec }, ...spec },
  });
  const created = async (name: string, spec: object = {}) => {
    const { code, body } = await yard.admin.post(jobs(), wish(name, spec));
    expect(code).toBe(201);
    return known<Job>(body);
  };
  const change = async (name: string, spec: object) =>
    expect((await yard.admin.patch(jobs(name), { spec })).code).toBe(200);
  const read = async (name: string) => known<Job>((await yard.admin.get(jobs(name))).body);
  const statusOf = async (name: string): Promise<JobStatus> => (await read(name)).status ?? {};
  const conditionsOf = async (name: string) =>
    ((await statusOf(name)).conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
  const activePods = async (name: string) =>
    (await yard.podsOf(name)).filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  const hasActive = (name: string, count: number, patience?: number) =>
    eventually(async () => {
      const pods = await activePods(name);
      expect(pods).toHaveLength(count);
      expect((await statusOf(name)).active ?? 0).toBe(count);
      return pods;
    }, patience);
  const ofIndex = (pods: readonly Pod[], index: number) =>
    pods.find(({ metadata }) => metadata.annotations?.[INDEX] === String(index));
  const end = async (pod: Pod | undefined, exitCode: number, conditions: object[] = []) => {
    const terminated = { exitCode, finishedAt: timestamp(new Date()) };
    const state = { name: "main", image: "", imageID: "", ready: false, restartCount: 0, state: { terminated } };
    const status = { phase: exitCode === 0 ? "Succeeded" : "Failed", containerStatuses: [state], conditions };
    const { code } = await yard.admin.patch(`${yard.pods(pod?.metadata.name)}/status`, { status });
    expect(code).toBe(200);
  };
  const hasStatus = (name: string, expected: object) =>
    eventually(async () => expect(await statusOf(name)).toMatchObject(expected));
  const hasConditions = (name: string, ...expected: string[]) =>
    eventually(async () => expect(await conditionsOf(name)).toEqual(expected));

  describe("a Job", () => {
    it("jobs.pods: makes Pods that carry its name and wait to be counted", async () => {
      const { metadata } = await created("born");
      const [pod] = await hasActive("born", 1);
      expect(pod?.metadata).toMatchObject({
        generateName: "born-",
        finalizers: [FINALIZER],
        labels: {
          app: "born",
          "batch.kubernetes.io/controller-uid": metadata.uid,
          "batch.kubernetes.io/job-name": "born",
          "controller-uid": metadata.uid,
          "job-name": "born",
        },
        ownerReferences: [
          {
            apiVersion: "batch/v1",
            kind: "Job",
            name: "born",
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      });
      await eventually(async () =>
        expect(await yard.toldAbout("born")).toEqual([`SuccessfulCreate: Created pod: ${pod?.metadata.name}`]),
      );
      const { startTime, ...status } = await statusOf("born");
      expect(startTime).toBeTruthy();
      expect(status).toEqual({ active: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {} });
    });

    it("jobs.complete: is complete when its Pods have succeeded", async () => {
      await created("done");
      const [pod] = await hasActive("done", 1);
      await yard.setReady(pod ? [pod] : []);
      await hasStatus("done", { active: 1, ready: 1 });
      await end(pod, 0);
      await hasConditions("done", "SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached");
      const { startTime, completionTime, conditions, ...status } = await statusOf("done");
      expect([startTime, completionTime]).not.toContain(undefined);
      expect(conditions?.map(({ message }) => message)).toEqual([
        "Reached expected number of succeeded pods",
        "Reached expected number of succeeded pods",
      ]);
      expect(status).toEqual({ ready: 0, terminating: 0, succeeded: 1, uncountedTerminatedPods: {} });
      const { body } = await yard.admin.get(yard.pods(pod?.metadata.name));
      expect(body.metadata.finalizers).toBeUndefined();
      await eventually(async () => expect(await yard.toldAbout("done")).toContain("Completed: Job completed"));
    });

    it("jobs.parallel: runs so many at a time until so many have succeeded", async () => {
      await created("several", { parallelism: 2, completions: 3 });
      const [first, second] = await hasActive("several", 2);
      await end(first, 0);
      await hasStatus("several", { active: 2, succeeded: 1 });
      await end(second, 0);
      await hasStatus("several", { active: 1, succeeded: 2 });
      for (const pod of await activePods("several")) await end(pod, 0);
      await hasStatus("several", { succeeded: 3 });
      await eventually(async () => expect(await conditionsOf("several")).toContain("Complete=True CompletionsReached"));
    });

    it("jobs.work-queue: without a number is complete when one has succeeded and the others have ended", async () => {
      await created("queue", { parallelism: 2 });
      const [first, second] = await hasActive("queue", 2);
      await end(first, 0);
      await hasStatus("queue", { active: 1, succeeded: 1 });
      await end(second, 1);
      await hasStatus("queue", { succeeded: 1, failed: 1 });
      await eventually(async () => expect(await conditionsOf("queue")).toContain("Complete=True CompletionsReached"));
    });

    it("jobs.parallelism: runs fewer when told so, and does not count those that go", async () => {
      await created("fewer", { parallelism: 3, completions: 5 });
      await hasActive("fewer", 3);
      await change("fewer", { parallelism: 1 });
      await hasActive("fewer", 1);
      expect((await statusOf("fewer")).failed).toBeUndefined();
      await hasStatus("fewer", { terminating: 0 });
    });

    it("jobs.managed-by: is left alone when somebody else manages it", async () => {
      await created("foreign", { managedBy: "example.com/queue" });
      await created("after-foreign");
      await hasActive("after-foreign", 1);
      expect([await yard.podsOf("foreign"), await statusOf("foreign")]).toEqual([[], {}]);
    });

    it("jobs.adopt: takes Pods that fit its selector for its own", async () => {
      const labels = { app: "adopting", pick: "me" };
      await yard.admin.post(yard.pods(), { metadata: { name: "free", labels }, spec: podSpec });
      await created("adopting", {
        manualSelector: true,
        selector: { matchLabels: { pick: "me" } },
        template: { metadata: { labels }, spec: podSpec },
      });
      await eventually(async () => {
        const { body } = await yard.admin.get(yard.pods("free"));
        expect(body.metadata.ownerReferences?.[0]?.name).toBe("adopting");
        expect(body.metadata.finalizers).toEqual([FINALIZER]);
      });
      const [pod] = await hasActive("adopting", 1);
      await end(pod, 0);
      await hasStatus("adopting", { succeeded: 1 });
    });
  });

  describe("failures", () => {
    it(
      "jobs.retry: are tried again after a while",
      async () => {
        await created("retried");
        const [pod] = await hasActive("retried", 1);
        await end(pod, 1);
        const failed = Date.now();
        await hasStatus("retried", { failed: 1 });
        const [next] = await hasActive("retried", 1, RETRY_PATIENCE_MS);
        // Times are kept in whole seconds, on both ends.
        expect(Date.parse(next?.metadata.creationTimestamp ?? "") - failed).toBeGreaterThan(RETRY_AFTER_MS - 2_000);
      },
      RETRY_PATIENCE_MS + 30_000,
    );

    it("jobs.backoff-limit: beyond the limit end the Job and what still runs of it", async () => {
      await created("limited", { backoffLimit: 0, parallelism: 2, completions: 2 });
      const [pod] = await hasActive("limited", 2);
      await end(pod, 1);
      await hasConditions("limited", "FailureTarget=True BackoffLimitExceeded", "Failed=True BackoffLimitExceeded");
      const { startTime, conditions, ...status } = await statusOf("limited");
      expect(startTime).toBeTruthy();
      expect(conditions?.[1]?.message).toBe("Job has reached the specified backoff limit");
      expect(status).toEqual({ ready: 0, terminating: 0, failed: 2, uncountedTerminatedPods: {} });
      expect((await yard.podsOf("limited")).map(({ metadata }) => metadata.finalizers)).toEqual([undefined]);
      await eventually(async () =>
        expect(await yard.toldAbout("limited")).toContain(
          "BackoffLimitExceeded: Job has reached the specified backoff limit",
        ),
      );
    });

    it("jobs.deleted-pod: include a Pod that somebody deletes", async () => {
      await created("robbed");
      const [pod] = await hasActive("robbed", 1);
      await yard.admin.delete(yard.pods(pod?.metadata.name));
      await hasStatus("robbed", { failed: 1 });
      expect((await yard.admin.get(yard.pods(pod?.metadata.name))).code).toBe(404);
    });

    it("jobs.deadline: include a Job that runs for too long", async () => {
      await created("late", { activeDeadlineSeconds: 1 });
      await hasConditions("late", "FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded");
      expect((await statusOf("late")).conditions?.[1]?.message).toBe("Job was active longer than specified deadline");
      expect(await yard.podsOf("late")).toEqual([]);
    });

    const rules = [
      { action: "FailJob", onExitCodes: { operator: "In", values: [42] } },
      { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] },
    ];

    it("jobs.failure-policy: end the Job at once where a rule says so", async () => {
      await created("judged", { podFailurePolicy: { rules } });
      const [pod] = await hasActive("judged", 1);
      await end(pod, 42);
      await hasConditions("judged", "FailureTarget=True PodFailurePolicy", "Failed=True PodFailurePolicy");
      expect((await statusOf("judged")).conditions?.[1]?.message).toBe(
        `Container main for pod ${yard.space}/${pod?.metadata.name} failed with exit code 42 matching FailJob rule at index 0`,
      );
    });

    it("jobs.failure-ignored: are overlooked where a rule says so", async () => {
      await created("spared", { backoffLimit: 0, podFailurePolicy: { rules } });
      const [pod] = await hasActive("spared", 1);
      await end(pod, 1, [{ type: "DisruptionTarget", status: "True" }]);
      await eventually(async () => {
        const { body } = await yard.admin.get(yard.pods(pod?.metadata.name));
        expect(body.metadata.finalizers).toBeUndefined();
      });
      expect(await conditionsOf("spared")).toEqual([]);
      expect((await statusOf("spared")).failed).toBeUndefined();
    });
  });

  describe("a suspended Job", () => {
    it("jobs.suspend: has no Pods until it goes on, and its time begins then", async () => {
      await created("waiting", { suspend: true });
      await hasConditions("waiting", "Suspended=True JobSuspended");
      const { conditions, ...status } = await statusOf("waiting");
      expect(conditions?.[0]?.message).toBe("Job suspended");
      expect(status).toEqual({ ready: 0, terminating: 0, uncountedTerminatedPods: {} });
      await change("waiting", { suspend: false });
      await hasActive("waiting", 1);
      await hasConditions("waiting", "Suspended=False JobResumed");
      expect((await statusOf("waiting")).startTime).toBeTruthy();
      await eventually(async () =>
        expect(await yard.toldAbout("waiting")).toEqual(
          expect.arrayContaining(["Suspended: Job suspended", "Resumed: Job resumed"]),
        ),
      );
    });

    it("jobs.suspend-running: gives up the Pods that it had, which count for nothing", async () => {
      await created("paused", { parallelism: 2, completions: 2 });
      await hasActive("paused", 2);
      await change("paused", { suspend: true });
      await hasActive("paused", 0);
      await hasConditions("paused", "Suspended=True JobSuspended");
      await hasStatus("paused", { ready: 0, terminating: 0, uncountedTerminatedPods: {} });
      const status = await statusOf("paused");
      expect([status.failed, status.startTime]).toEqual([undefined, undefined]);
    });
  });

  describe("an indexed Job", () => {
    const indexed = { completionMode: "Indexed", parallelism: 3, completions: 3 };

    it("jobs.indexed: gives each Pod an index, and knows which have succeeded", async () => {
      await created("indexed", indexed);
      const pods = await hasActive("indexed", 3);
      const pod = ofIndex(pods, 1);
      expect(pod?.metadata).toMatchObject({ generateName: "indexed-1-", labels: { [INDEX]: "1" } });
      expect(pod?.spec).toMatchObject({
        hostname: "indexed-1",
        containers: [
          {
            env: [
              {
                name: "JOB_COMPLETION_INDEX",
                valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${INDEX}']` } },
              },
            ],
          },
        ],
      });
      await end(ofIndex(pods, 0), 0);
      await end(ofIndex(pods, 2), 0);
      await hasStatus("indexed", { completedIndexes: "0,2", succeeded: 2 });
      await end(pod, 0);
      await hasStatus("indexed", { completedIndexes: "0-2", succeeded: 3 });
      await eventually(async () => expect(await conditionsOf("indexed")).toContain("Complete=True CompletionsReached"));
    });

    it("jobs.per-index: may fail by index, and has failed when the last is settled", async () => {
      const { spec } = await created("by-index", { ...indexed, backoffLimitPerIndex: 0 });
      expect(spec.backoffLimit).toBe(2147483647);
      const pods = await hasActive("by-index", 3);
      expect(pods[0]?.metadata.annotations?.["batch.kubernetes.io/job-index-failure-count"]).toBe("0");
      await end(ofIndex(pods, 1), 1);
      await hasStatus("by-index", { failedIndexes: "1", failed: 1 });
      expect(await conditionsOf("by-index")).toEqual([]);
      await end(ofIndex(pods, 0), 0);
      await end(ofIndex(pods, 2), 0);
      await hasConditions("by-index", "FailureTarget=True FailedIndexes", "Failed=True FailedIndexes");
      expect(await statusOf("by-index")).toMatchObject({ completedIndexes: "0,2", failedIndexes: "1", succeeded: 2 });
    });

    it("jobs.max-failed-indexes: ends when too many indexes have failed", async () => {
      await created("too-many", { ...indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 1 });
      const pods = await hasActive("too-many", 3);
      await end(ofIndex(pods, 0), 1);
      await end(ofIndex(pods, 1), 1);
      await hasConditions(
        "too-many",
        "FailureTarget=True MaxFailedIndexesExceeded",
        "Failed=True MaxFailedIndexesExceeded",
      );
    });

    it("jobs.success-policy: has succeeded when the indexes that matter have", async () => {
      const rules = [{ succeededIndexes: "1-2", succeededCount: 1 }];
      await created("enough", { ...indexed, successPolicy: { rules } });
      const pods = await hasActive("enough", 3);
      await end(ofIndex(pods, 2), 0);
      await hasConditions("enough", "SuccessCriteriaMet=True SuccessPolicy", "Complete=True SuccessPolicy");
      const { conditions, startTime, completionTime, ...status } = await statusOf("enough");
      expect(conditions?.[1]?.message).toBe("Matched rules at index 0");
      expect([startTime, completionTime]).not.toContain(undefined);
      expect(status).toEqual({
        completedIndexes: "2",
        succeeded: 1,
        ready: 0,
        terminating: 0,
        uncountedTerminatedPods: {},
      });
    });

    it("jobs.elastic: may grow and shrink as a whole", async () => {
      await created("elastic", indexed);
      await hasActive("elastic", 3);
      await change("elastic", { parallelism: 1, completions: 1 });
      const [left] = await hasActive("elastic", 1);
      expect(left?.metadata.annotations?.[INDEX]).toBe("0");
      const reply = await yard.admin.patch(jobs("elastic"), { spec: { completions: 5 } });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "spec.completions FieldValueInvalid"));
    });
  });

  it("jobs.deletion: leaves no Pod behind that waits to be counted", async () => {
    await created("gone");
    const [pod] = await hasActive("gone", 1);
    await yard.admin.delete(jobs("gone"), { propagationPolicy: "Background" });
    await eventually(async () => expect((await yard.admin.get(yard.pods(pod?.metadata.name))).code).toBe(404));
  });

  it("jobs.orphans: lets Pods go that lost their Job", async () => {
    await created("parent");
    const [pod] = await hasActive("parent", 1);
    await yard.admin.delete(jobs("parent"), { propagationPolicy: "Orphan" });
    await eventually(async () => {
      const { code, body } = await yard.admin.get(yard.pods(pod?.metadata.name));
      expect(code).toBe(200);
      expect([body.metadata.finalizers, body.metadata.ownerReferences]).toEqual([undefined, undefined]);
    });
  });

  const rows: [why: string, spec: object, ...causes: string[]][] = [
    [
      "no end",
      { template: { spec: { ...podSpec, restartPolicy: "Always" } } },
      "spec.template.spec.restartPolicy FieldValueRequired",
    ],
    ["a mode nobody knows", { completionMode: "Odd" }, "spec.completionMode FieldValueNotSupported"],
    ["indexes without a number", { completionMode: "Indexed", parallelism: 1 }, "spec.completions FieldValueRequired"],
    ["limits by index without indexes", { backoffLimitPerIndex: 1 }, "spec.backoffLimitPerIndex FieldValueInvalid"],
    ["a manager without a domain", { managedBy: "queue" }, "spec.managedBy FieldValueInvalid"],
    [
      "a rule that asks for nothing",
      { podFailurePolicy: { rules: [{ action: "Ignore" }] } },
      "spec.podFailurePolicy.rules[0] FieldValueInvalid",
    ],
    [
      "exit codes out of order",
      { podFailurePolicy: { rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [2, 1] } }] } },
      "spec.podFailurePolicy.rules[0].onExitCodes.values FieldValueInvalid",
    ],
    [
      "success that cannot be reached",
      {
        completionMode: "Indexed",
        completions: 2,
        parallelism: 2,
        successPolicy: { rules: [{ succeededIndexes: "5" }] },
      },
      "spec.successPolicy.rules[0].succeededIndexes FieldValueInvalid",
    ],
    [
      "a selector that is not its own",
      { selector: { matchLabels: { a: "b" } } },
      "spec.selector FieldValueInvalid",
      "spec.template.metadata.labels FieldValueInvalid",
    ],
    ["no selector where it is chosen by hand", { manualSelector: true }, "spec.selector FieldValueRequired"],
  ];
  it.each(rows)("jobs.refusals: refuses %s", async (_, spec, ...causes) => {
    const reply = await yard.admin.post(jobs(), wish("refused", spec));
    const { causes: told = [], ...rest } = refusal(reply);
    expect(rest).toEqual({ code: 422, reason: "Invalid" });
    expect(told).toEqual(expect.arrayContaining(causes));
  });

  it("jobs.immutable: refuses another template, but for where a suspended Job goes", async () => {
    await created("fixed", { suspend: true });
    await hasConditions("fixed", "Suspended=True JobSuspended");
    const moved = { template: { spec: { nodeSelector: { disk: "ssd" }, tolerations: [{ operator: "Exists" }] } } };
    expect((await yard.admin.patch(jobs("fixed"), { spec: moved })).code).toBe(200);
    const other = { template: { spec: { containers: [{ name: "main", image: "other" }] } } };
    const causes = (await yard.admin.patch(jobs("fixed"), { spec: other })).body.details?.causes ?? [];
    expect(causes.map(({ field }) => field)).toContainEqual(expect.stringMatching(/^spec\.template/));
    await change("fixed", { suspend: false });
    await hasActive("fixed", 1);
    const late = await yard.admin.patch(jobs("fixed"), { spec: { template: { spec: { nodeSelector: null } } } });
    expect(refusal(late)).toEqual(refused(422, "Invalid", "spec.template FieldValueInvalid"));
  });

  const now = timestamp(new Date());
  const is = (...types: string[]) => types.map((type) => ({ type, status: "True" }));
  it.each([
    ["completion without a reason", { startTime: now, completionTime: now, conditions: is("Complete") }],
    ["failure without a reason", { startTime: now, conditions: is("Failed") }],
    [
      "completion of what runs",
      { startTime: now, completionTime: now, active: 1, conditions: is("SuccessCriteriaMet", "Complete") },
    ],
    ["the end of what never began", { conditions: is("FailureTarget", "Failed") }],
    ["indexes of what has none", { completedIndexes: "0" }],
    ["more that is ready than runs", { active: 1, ready: 2 }],
  ])("jobs.status-refusals: refuses %s", async (why, status) => {
    const name = why.replaceAll(" ", "-");
    await created(name, { managedBy: "example.com/queue" });
    const reply = await yard.admin.patch(`${jobs(name)}/status`, { status });
    expect([reply.code, reply.body.reason]).toEqual([422, "Invalid"]);
  });
}
