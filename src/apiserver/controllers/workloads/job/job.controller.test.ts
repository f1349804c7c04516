import { describe, expect, it } from "vitest";
import { JOB_TRACKING_FINALIZER, type Job, type JobSpec } from "#api/batch";
import type { Pod, PodCondition } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import { hasFinalizer } from "#lib/meta";
import { type Bed, bed as makeBed } from "../../testing/bed.ts";
import { isActive, PODS } from "../pods.ts";
import type { Stored } from "../stored.ts";
import { podsIn, setReady } from "../testing/pods.ts";
import { jobController } from "./job.controller.ts";
import { trackingFinalizerController } from "./tracking-finalizer.controller.ts";

const JOBS = "batch/jobs";
const INDEX = "batch.kubernetes.io/job-completion-index";

const bed = () => makeBed((parts) => [jobController(parts), trackingFinalizerController(parts)]);

const podSpec = { restartPolicy: "Never" as const, containers: [{ name: "main", image: "work:1" }] };

async function started(cluster: Bed, spec: Partial<JobSpec> = {}): Promise<void> {
  await cluster.create(JOBS, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "work", namespace: "default" },
    spec: { template: { spec: podSpec }, ...spec },
  });
  await cluster.settle();
}

async function edit(cluster: Bed, spec: Partial<JobSpec>): Promise<void> {
  await cluster.change(JOBS, "default/work", (draft) => ({ ...draft, spec: { ...(draft.spec as object), ...spec } }));
  await cluster.settle();
}

/** What a node reports of a Pod that has ended. */
async function end(cluster: Bed, pod: Pod | undefined, exitCode: number, conditions: PodCondition[] = []) {
  const finishedAt = timestamp(cluster.clock.now());
  const containerStatuses = [
    {
      name: "main",
      image: "",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { terminated: { exitCode, finishedAt } },
    },
  ];
  const phase = exitCode === 0 ? "Succeeded" : "Failed";
  await cluster.change(
    PODS,
    `default/${pod?.metadata.name}`,
    (draft) => ({ ...draft, status: { ...(draft.status as object), phase, containerStatuses, conditions } }),
    "status",
  );
  await cluster.settle();
}

async function endAll(cluster: Bed, exitCode: number): Promise<void> {
  for (const pod of active(cluster)) await end(cluster, pod, exitCode);
}

const jobIn = (cluster: Bed) => cluster.get(JOBS, "default/work") as Stored<Job>;
const statusIn = (cluster: Bed) => jobIn(cluster).status ?? {};
const active = (cluster: Bed) => podsIn(cluster).filter(isActive);
const indexes = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.annotations?.[INDEX]);
const podOf = (cluster: Bed, index: number) =>
  active(cluster).find(({ metadata }) => metadata.annotations?.[INDEX] === String(index));
const conditions = (cluster: Bed) =>
  (statusIn(cluster).conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
const tracked = (cluster: Bed) => podsIn(cluster).filter((pod) => hasFinalizer(pod, JOB_TRACKING_FINALIZER));
const told = (cluster: Bed, reason: string) =>
  cluster.list("core/events").flatMap((event) => (event.reason === reason ? [event.message] : []));

describe("a Job", () => {
  it("starts a Pod, counts it and is complete", async () => {
    const cluster = await bed();
    await started(cluster);
    const [pod] = podsIn(cluster);
    const { uid } = jobIn(cluster).metadata;
    expect(pod?.metadata).toMatchObject({
      generateName: "work-",
      finalizers: [JOB_TRACKING_FINALIZER],
      labels: { "batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "work", "job-name": "work" },
      ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "work", controller: true }],
    });
    expect(statusIn(cluster)).toEqual({
      active: 1,
      ready: 0,
      terminating: 0,
      startTime: "2026-01-01T00:00:00Z",
      uncountedTerminatedPods: {},
    });
    expect(told(cluster, "SuccessfulCreate")).toEqual([`Created pod: ${pod?.metadata.name}`]);

    await setReady(cluster, podsIn(cluster));
    expect(statusIn(cluster)).toMatchObject({ active: 1, ready: 1 });
    await cluster.pass(5000);
    await end(cluster, pod, 0);
    const time = { lastProbeTime: "2026-01-01T00:00:05Z", lastTransitionTime: "2026-01-01T00:00:05Z" };
    const because = { reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
    expect(statusIn(cluster)).toEqual({
      conditions: [
        { type: "SuccessCriteriaMet", status: "True", ...time, ...because },
        { type: "Complete", status: "True", ...time, ...because },
      ],
      startTime: "2026-01-01T00:00:00Z",
      completionTime: "2026-01-01T00:00:05Z",
      ready: 0,
      terminating: 0,
      succeeded: 1,
      uncountedTerminatedPods: {},
    });
    expect([podsIn(cluster).length, tracked(cluster).length]).toEqual([1, 0]);
    expect(told(cluster, "Completed")).toEqual(["Job completed"]);
  });

  it("writes nothing the second time", async () => {
    const cluster = await bed();
    await started(cluster, { parallelism: 2, completions: 2 });
    const { revision } = cluster.store;
    await jobController(cluster).reconcile("default/work");
    await cluster.settle();
    expect(cluster.store.revision).toBe(revision);
  });

  it("runs so many Pods at a time until so many have succeeded", async () => {
    const cluster = await bed();
    await started(cluster, { parallelism: 2, completions: 3 });
    expect(active(cluster)).toHaveLength(2);
    await end(cluster, active(cluster)[0], 0);
    expect(active(cluster)).toHaveLength(2);
    await end(cluster, active(cluster)[0], 0);
    expect([active(cluster).length, statusIn(cluster).succeeded]).toEqual([1, 2]);
    await endAll(cluster, 0);
    expect(conditions(cluster)).toContain("Complete=True CompletionsReached");
  });

  it("without a number is complete when one has succeeded and the others have ended", async () => {
    const cluster = await bed();
    await started(cluster, { parallelism: 3 });
    await end(cluster, active(cluster)[0], 0);
    expect([active(cluster).length, conditions(cluster)]).toEqual([2, []]);
    await endAll(cluster, 1);
    expect([statusIn(cluster).succeeded, statusIn(cluster).failed]).toEqual([1, 2]);
    expect(conditions(cluster)).toContain("Complete=True CompletionsReached");
  });

  it("is complete at once when nothing is asked for", async () => {
    const cluster = await bed();
    await started(cluster, { completions: 0 });
    expect([podsIn(cluster), conditions(cluster)]).toEqual([
      [],
      ["SuccessCriteriaMet=True CompletionsReached", "Complete=True CompletionsReached"],
    ]);
  });

  it("runs fewer when told so, without counting those that go", async () => {
    const cluster = await bed();
    await started(cluster, { parallelism: 3, completions: 5 });
    await edit(cluster, { parallelism: 1 });
    expect(podsIn(cluster)).toHaveLength(1);
    expect(statusIn(cluster)).toMatchObject({ active: 1, terminating: 0 });
    expect(statusIn(cluster).failed).toBeUndefined();
    expect(told(cluster, "SuccessfulDelete")).toHaveLength(2);
  });

  it("leaves alone what somebody else manages", async () => {
    const cluster = await bed();
    await started(cluster, { managedBy: "example.com/queue" });
    expect([podsIn(cluster), statusIn(cluster)]).toEqual([[], {}]);
  });

  it("adopts Pods that fit, and counts them", async () => {
    const cluster = await bed();
    const labels = { pick: "me" };
    await cluster.create(PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "free", namespace: "default", labels },
      spec: podSpec,
    });
    await started(cluster, {
      manualSelector: true,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podSpec },
    });
    expect(podsIn(cluster).map(({ metadata }) => [metadata.name, metadata.finalizers])).toEqual([
      ["free", [JOB_TRACKING_FINALIZER]],
    ]);
    await end(cluster, podsIn(cluster)[0], 0);
    expect(statusIn(cluster).succeeded).toBe(1);
  });
});

describe("failures", () => {
  it("are tried again, after ten seconds, then twenty", async () => {
    const cluster = await bed();
    await started(cluster);
    await endAll(cluster, 1);
    expect([active(cluster).length, statusIn(cluster).failed]).toEqual([0, 1]);
    await cluster.pass(9_000);
    expect(active(cluster)).toHaveLength(0);
    await cluster.pass(1_000);
    expect(active(cluster)).toHaveLength(1);
    await endAll(cluster, 1);
    await cluster.pass(19_000);
    expect(active(cluster)).toHaveLength(0);
    await cluster.pass(1_000);
    expect([active(cluster).length, statusIn(cluster).failed]).toEqual([1, 2]);
  });

  it("beyond the limit end the Job", async () => {
    const cluster = await bed();
    await started(cluster, { backoffLimit: 0, parallelism: 2, completions: 2 });
    await end(cluster, active(cluster)[0], 1);
    expect(conditions(cluster)).toEqual([
      "FailureTarget=True BackoffLimitExceeded",
      "Failed=True BackoffLimitExceeded",
    ]);
    expect(statusIn(cluster)).toMatchObject({ failed: 2, ready: 0, terminating: 0 });
    expect(statusIn(cluster)).not.toHaveProperty("completionTime");
    expect(tracked(cluster)).toEqual([]);
    expect(told(cluster, "BackoffLimitExceeded")).toEqual(["Job has reached the specified backoff limit"]);
  });

  it("wait with the end until everything has stopped", async () => {
    const cluster = await bed();
    const spec = { ...podSpec, nodeName: "n" };
    await started(cluster, { backoffLimit: 0, parallelism: 2, completions: 2, template: { spec } });
    await end(cluster, active(cluster)[0], 1);
    expect(conditions(cluster)).toEqual(["FailureTarget=True BackoffLimitExceeded"]);
    expect(statusIn(cluster)).toMatchObject({ terminating: 1, failed: 2 });
    const going = podsIn(cluster).find(({ metadata }) => metadata.deletionTimestamp);
    await cluster.writer.remove(PODS, going as DynamicObject, { gracePeriodSeconds: 0 });
    await cluster.settle();
    expect(conditions(cluster)).toContain("Failed=True BackoffLimitExceeded");
    expect(statusIn(cluster)).toMatchObject({ terminating: 0, failed: 2 });
  });

  it("of containers that are started again count too", async () => {
    const cluster = await bed();
    await started(cluster, { backoffLimit: 2, template: { spec: { ...podSpec, restartPolicy: "OnFailure" } } });
    const restarted = (restartCount: number) => (draft: DynamicObject) => ({
      ...draft,
      status: {
        ...(draft.status as object),
        phase: "Running",
        containerStatuses: [{ name: "main", image: "", imageID: "", ready: true, restartCount }],
      },
    });
    const key = `default/${podsIn(cluster)[0]?.metadata.name}`;
    await cluster.change(PODS, key, restarted(1), "status");
    await cluster.settle();
    expect(conditions(cluster)).toEqual([]);
    await cluster.change(PODS, key, restarted(2), "status");
    await cluster.settle();
    expect(conditions(cluster)).toContain("Failed=True BackoffLimitExceeded");
  });

  it("include a Pod that somebody deletes", async () => {
    const cluster = await bed();
    await started(cluster);
    await cluster.writer.remove(PODS, podsIn(cluster)[0] as DynamicObject);
    await cluster.settle();
    expect([podsIn(cluster).length, statusIn(cluster).failed]).toEqual([0, 1]);
    await cluster.pass(10_000);
    expect(active(cluster)).toHaveLength(1);
  });

  it("include a deleted Pod only when it has ended, where only failed Pods are replaced", async () => {
    const cluster = await bed();
    const spec = { ...podSpec, nodeName: "n" };
    await started(cluster, { podReplacementPolicy: "Failed", template: { spec } });
    const [pod] = podsIn(cluster);
    await cluster.writer.remove(PODS, pod as DynamicObject);
    await cluster.pass(60_000);
    expect(statusIn(cluster)).toMatchObject({ terminating: 1 });
    expect([active(cluster).length, statusIn(cluster).failed]).toEqual([0, undefined]);
    await end(cluster, pod, 1);
    await cluster.pass(10_000);
    expect([active(cluster).length, statusIn(cluster).failed]).toEqual([1, 1]);
  });

  it("do not matter after a success, which makes the wait short again", async () => {
    const cluster = await bed();
    await started(cluster, { completions: 2 });
    await endAll(cluster, 1);
    await cluster.pass(10_000);
    await endAll(cluster, 0);
    expect([active(cluster).length, statusIn(cluster).succeeded, statusIn(cluster).failed]).toEqual([1, 1, 1]);
  });
});

describe("a policy for failures", () => {
  const rules = [
    { action: "FailJob" as const, onExitCodes: { operator: "In" as const, values: [42] } },
    { action: "Ignore" as const, onPodConditions: [{ type: "DisruptionTarget", status: "True" as const }] },
  ];

  it("ends the Job for some exit codes", async () => {
    const cluster = await bed();
    await started(cluster, { podFailurePolicy: { rules } });
    const [pod] = podsIn(cluster);
    await end(cluster, pod, 42);
    const message = `Container main for pod default/${pod?.metadata.name} failed with exit code 42 matching FailJob rule at index 0`;
    expect(statusIn(cluster).conditions).toMatchObject([
      { type: "FailureTarget", reason: "PodFailurePolicy", message },
      { type: "Failed", reason: "PodFailurePolicy", message },
    ]);
  });

  it("overlooks disruptions", async () => {
    const cluster = await bed();
    await started(cluster, { backoffLimit: 0, podFailurePolicy: { rules } });
    await end(cluster, podsIn(cluster)[0], 1, [{ type: "DisruptionTarget", status: "True" }]);
    expect([conditions(cluster), statusIn(cluster).failed]).toEqual([[], undefined]);
    await cluster.pass(10_000);
    expect(active(cluster)).toHaveLength(1);
  });
});

describe("a deadline", () => {
  it("ends the Job", async () => {
    const cluster = await bed();
    await started(cluster, { activeDeadlineSeconds: 30 });
    await cluster.pass(29_000);
    expect(conditions(cluster)).toEqual([]);
    await cluster.pass(1_000);
    expect(conditions(cluster)).toEqual(["FailureTarget=True DeadlineExceeded", "Failed=True DeadlineExceeded"]);
    expect(podsIn(cluster)).toEqual([]);
  });

  it("is counted anew when the Job goes on after a suspension", async () => {
    const cluster = await bed();
    await started(cluster, { activeDeadlineSeconds: 30 });
    await cluster.pass(20_000);
    await edit(cluster, { suspend: true });
    await cluster.pass(60_000);
    await edit(cluster, { suspend: false });
    await cluster.pass(29_000);
    expect(conditions(cluster)).toEqual(["Suspended=False JobResumed"]);
    await cluster.pass(1_000);
    expect(conditions(cluster)).toContain("Failed=True DeadlineExceeded");
  });
});

describe("a suspended Job", () => {
  it("has no Pods, and starts them when it goes on", async () => {
    const cluster = await bed();
    await started(cluster, { suspend: true });
    expect([podsIn(cluster), conditions(cluster)]).toEqual([[], ["Suspended=True JobSuspended"]]);
    expect(statusIn(cluster)).not.toHaveProperty("startTime");
    expect(told(cluster, "Suspended")).toEqual(["Job suspended"]);
    await cluster.pass(3_000);
    await edit(cluster, { suspend: false });
    expect([active(cluster).length, conditions(cluster)]).toEqual([1, ["Suspended=False JobResumed"]]);
    expect(statusIn(cluster).startTime).toBe("2026-01-01T00:00:03Z");
    expect(told(cluster, "Resumed")).toEqual(["Job resumed"]);
  });

  it("gives up the Pods that it had, which count for nothing", async () => {
    const cluster = await bed();
    await started(cluster, { parallelism: 2, completions: 2 });
    await edit(cluster, { suspend: true });
    expect([podsIn(cluster), conditions(cluster)]).toEqual([[], ["Suspended=True JobSuspended"]]);
    expect(statusIn(cluster)).toMatchObject({ ready: 0, terminating: 0, uncountedTerminatedPods: {} });
    expect(statusIn(cluster)).not.toHaveProperty("startTime");
    expect(statusIn(cluster)).not.toHaveProperty("failed");
  });
});

describe("an indexed Job", () => {
  const indexed = (spec: Partial<JobSpec>): Partial<JobSpec> => ({ completionMode: "Indexed", ...spec });

  it("gives each Pod an index", async () => {
    const cluster = await bed();
    await started(cluster, indexed({ parallelism: 2, completions: 3 }));
    expect(indexes(active(cluster)).sort()).toEqual(["0", "1"]);
    const pod = podOf(cluster, 1);
    expect(pod?.metadata.name).toMatch(/^work-1-[a-z0-9]{5}$/);
    expect(pod?.metadata.labels?.[INDEX]).toBe("1");
    expect(pod?.spec.hostname).toBe("work-1");
    expect(pod?.spec.containers[0]?.env).toEqual([
      {
        name: "JOB_COMPLETION_INDEX",
        valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: `metadata.labels['${INDEX}']` } },
      },
    ]);
  });

  it("is complete when every index has succeeded once", async () => {
    const cluster = await bed();
    await started(cluster, indexed({ parallelism: 3, completions: 4 }));
    await end(cluster, podOf(cluster, 2), 0);
    expect(statusIn(cluster)).toMatchObject({ completedIndexes: "2", succeeded: 1 });
    await end(cluster, podOf(cluster, 0), 0);
    await end(cluster, podOf(cluster, 1), 0);
    expect(statusIn(cluster)).toMatchObject({ completedIndexes: "0-2", succeeded: 3 });
    await end(cluster, podOf(cluster, 3), 0);
    expect(statusIn(cluster)).toMatchObject({ completedIndexes: "0-3", succeeded: 4 });
    expect(conditions(cluster)).toContain("Complete=True CompletionsReached");
  });

  it("tries an index again that has failed", async () => {
    const cluster = await bed();
    await started(cluster, indexed({ parallelism: 2, completions: 2 }));
    await end(cluster, podOf(cluster, 1), 1);
    await cluster.pass(10_000);
    expect(indexes(active(cluster)).sort()).toEqual(["0", "1"]);
  });

  it("may grow and shrink", async () => {
    const cluster = await bed();
    await started(cluster, indexed({ parallelism: 3, completions: 3 }));
    await end(cluster, podOf(cluster, 2), 0);
    await edit(cluster, { parallelism: 2, completions: 2 });
    expect(indexes(active(cluster)).sort()).toEqual(["0", "1"]);
    expect(statusIn(cluster)).not.toHaveProperty("completedIndexes");
    await edit(cluster, { parallelism: 4, completions: 4 });
    expect(indexes(active(cluster)).sort()).toEqual(["0", "1", "2", "3"]);
  });

  it("may fail by index, each with its own count and wait", async () => {
    const cluster = await bed();
    await started(cluster, indexed({ parallelism: 2, completions: 2, backoffLimitPerIndex: 1 }));
    const count = (index: number) =>
      podOf(cluster, index)?.metadata.annotations?.["batch.kubernetes.io/job-index-failure-count"];
    expect(jobIn(cluster).spec.backoffLimit).toBe(2 ** 31 - 1);
    expect(count(0)).toBe("0");
    await end(cluster, podOf(cluster, 0), 1);
    // The Pod stays until its successor knows how often the index has failed.
    expect(tracked(cluster)).toHaveLength(2);
    await cluster.pass(10_000);
    expect(count(0)).toBe("1");
    expect(statusIn(cluster)).toMatchObject({ failed: 1, failedIndexes: "" });
    await end(cluster, podOf(cluster, 0), 1);
    expect(statusIn(cluster)).toMatchObject({ failed: 2, failedIndexes: "0" });
    expect(conditions(cluster)).toEqual([]);
    await end(cluster, podOf(cluster, 1), 0);
    expect(conditions(cluster)).toEqual(["FailureTarget=True FailedIndexes", "Failed=True FailedIndexes"]);
    expect(statusIn(cluster)).toMatchObject({ completedIndexes: "1", succeeded: 1 });
  });

  it("ends when too many indexes have failed", async () => {
    const cluster = await bed();
    await started(cluster, indexed({ parallelism: 3, completions: 3, backoffLimitPerIndex: 0, maxFailedIndexes: 1 }));
    await end(cluster, podOf(cluster, 0), 1);
    expect(conditions(cluster)).toEqual([]);
    await end(cluster, podOf(cluster, 1), 1);
    expect(conditions(cluster)).toContain("Failed=True MaxFailedIndexesExceeded");
    expect(statusIn(cluster).failedIndexes).toBe("0,1");
  });

  it("fails an index at once where a rule says so", async () => {
    const cluster = await bed();
    const onExitCodes = { operator: "In" as const, values: [42] };
    await started(
      cluster,
      indexed({
        parallelism: 2,
        completions: 2,
        backoffLimitPerIndex: 5,
        podFailurePolicy: { rules: [{ action: "FailIndex", onExitCodes }] },
      }),
    );
    await end(cluster, podOf(cluster, 1), 42);
    expect(statusIn(cluster)).toMatchObject({ failedIndexes: "1", failed: 1 });
  });

  it("may have succeeded before every index has", async () => {
    const cluster = await bed();
    await started(
      cluster,
      indexed({
        parallelism: 3,
        completions: 3,
        successPolicy: { rules: [{ succeededCount: 3 }, { succeededIndexes: "1,2", succeededCount: 1 }] },
      }),
    );
    await end(cluster, podOf(cluster, 0), 0);
    expect(conditions(cluster)).toEqual([]);
    await end(cluster, podOf(cluster, 2), 0);
    expect(statusIn(cluster).conditions).toMatchObject([
      { type: "SuccessCriteriaMet", reason: "SuccessPolicy", message: "Matched rules at index 1" },
      { type: "Complete", reason: "SuccessPolicy", message: "Matched rules at index 1" },
    ]);
    expect(statusIn(cluster)).toMatchObject({ completedIndexes: "0,2", succeeded: 2 });
    expect(statusIn(cluster)).not.toHaveProperty("failed");
  });
});

describe("Pods that no Job counts any more", () => {
  it("lose their finalizer when the Job is gone", async () => {
    const cluster = await bed();
    await started(cluster);
    await cluster.writer.remove(JOBS, jobIn(cluster), { propagationPolicy: "Background" });
    await cluster.settle();
    expect(tracked(cluster)).toEqual([]);
  });

  it("lose it when they have no owner", async () => {
    const cluster = await bed();
    await started(cluster);
    const [pod] = podsIn(cluster);
    await cluster.change(JOBS, "default/work", (draft) => ({
      ...draft,
      metadata: { ...draft.metadata, finalizers: ["example.com/stay"] },
    }));
    await cluster.writer.remove(JOBS, jobIn(cluster), { propagationPolicy: "Background" });
    await cluster.change(PODS, `default/${pod?.metadata.name}`, (draft) => {
      const { ownerReferences: _, ...metadata } = draft.metadata;
      return { ...draft, metadata };
    });
    await cluster.settle();
    expect([podsIn(cluster).length, tracked(cluster).length]).toEqual([1, 0]);
  });
});
