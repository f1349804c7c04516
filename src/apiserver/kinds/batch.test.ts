import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { created, edited, find, shown, updated } from "./testing/drafts.ts";

const podSpec = { restartPolicy: "Never", containers: [{ name: "main", image: "x" }] };
const template = { spec: podSpec };
const exit = (rule: object) => ({ rules: [{ action: "FailJob", onExitCodes: rule }] });
const indexed = { completionMode: "Indexed", completions: 3, parallelism: 3 };

describe("Jobs", () => {
  const jobs = find("Job");

  it("choose their Pods by uid", () => {
    const { object, errors } = created(jobs, { spec: { template } });
    expect(errors).toEqual([]);
    const labels = {
      "batch.kubernetes.io/controller-uid": "uid-1",
      "batch.kubernetes.io/job-name": "x",
      "controller-uid": "uid-1",
      "job-name": "x",
    };
    expect(object).toMatchObject({
      metadata: { labels },
      spec: {
        selector: { matchLabels: { "batch.kubernetes.io/controller-uid": "uid-1" } },
        template: { metadata: { labels } },
      },
    });
  });

  it("count failures by index only, where each index has a limit", () => {
    const { object } = created(jobs, { spec: { ...indexed, backoffLimitPerIndex: 1, template } });
    expect(object.spec).toMatchObject({ backoffLimit: 2147483647 });
  });

  it("look for conditions that are true", () => {
    const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }];
    const { object, errors } = created(jobs, { spec: { template, podFailurePolicy: { rules } } });
    expect(errors).toEqual([]);
    expect(object.spec).toMatchObject({
      podFailurePolicy: { rules: [{ onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }] },
      podReplacementPolicy: "Failed",
    });
  });

  const rows: [why: string, spec: Record<string, unknown>, errors: string[]][] = [
    [
      "they come to an end",
      { template: { spec: { ...podSpec, restartPolicy: "Always" } } },
      ["spec.template.spec.restartPolicy: Required"],
    ],
    ["counts are not negative", { template, backoffLimit: -1 }, ["spec.backoffLimit: Invalid"]],
    ["modes are known", { template, completionMode: "Odd" }, ["spec.completionMode: NotSupported"]],
    ["indexes need a number", { template, completionMode: "Indexed", parallelism: 1 }, ["spec.completions: Required"]],
    [
      "only indexes have limits of their own",
      { template, backoffLimitPerIndex: 1 },
      ["spec.backoffLimitPerIndex: Invalid"],
    ],
    [
      "too many indexes cannot fail",
      { template, ...indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 4 },
      ["spec.maxFailedIndexes: Invalid"],
    ],
    [
      "failed indexes need a limit",
      { template, ...indexed, maxFailedIndexes: 1 },
      ["spec.backoffLimitPerIndex: Required"],
    ],
    ["a manager has a domain", { template, managedBy: "queue" }, ["spec.managedBy: Invalid"]],
    [
      "exit codes are told",
      { template, podFailurePolicy: exit({ operator: "In", values: [] }) },
      ["spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid"],
    ],
    [
      "zero is no failure",
      { template, podFailurePolicy: exit({ operator: "In", values: [0] }) },
      ["spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid"],
    ],
    [
      "exit codes are in order",
      { template, podFailurePolicy: exit({ operator: "In", values: [2, 1] }) },
      ["spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid"],
    ],
    [
      "containers exist",
      { template, podFailurePolicy: exit({ containerName: "a", operator: "In", values: [1] }) },
      ["spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid"],
    ],
    [
      "a rule asks for something",
      { template, podFailurePolicy: { rules: [{ action: "Ignore" }] } },
      ["spec.podFailurePolicy.rules[0]: Invalid"],
    ],
    [
      "judged failures are waited for",
      {
        template,
        podReplacementPolicy: "TerminatingOrFailed",
        podFailurePolicy: exit({ operator: "In", values: [1] }),
      },
      ["spec.podReplacementPolicy: NotSupported"],
    ],
    [
      "judged Pods are not started again",
      {
        template: { spec: { ...podSpec, restartPolicy: "OnFailure" } },
        podFailurePolicy: exit({ operator: "In", values: [1] }),
      },
      ["spec.template.spec.restartPolicy: Invalid"],
    ],
    [
      "success by index needs indexes",
      { template, successPolicy: { rules: [{ succeededCount: 1 }] } },
      ["spec.successPolicy: Invalid"],
    ],
    [
      "success is defined",
      { template, ...indexed, successPolicy: { rules: [{}] } },
      ["spec.successPolicy.rules[0]: Required"],
    ],
    [
      "success can be reached",
      { template, ...indexed, successPolicy: { rules: [{ succeededIndexes: "3" }] } },
      ["spec.successPolicy.rules[0].succeededIndexes: Invalid"],
    ],
    [
      "a selector is not made up",
      { template, selector: { matchLabels: { a: "b" } } },
      ["spec.template.metadata.labels: Invalid", "spec.selector: Invalid"],
    ],
    ["a selector by hand is there", { template, manualSelector: true }, ["spec.selector: Required"]],
    [
      "labels are not forged",
      { template: { ...template, metadata: { labels: { "job-name": "y" } } } },
      ["spec.template.metadata.labels[job-name]: Invalid"],
    ],
  ];
  it.each(rows)("%s", (_, spec, errors) => {
    expect(shown(created(jobs, { spec }).errors)).toEqual(errors);
  });

  it("have names that fit into those of their Pods", () => {
    const name = "a".repeat(62);
    expect(shown(created(jobs, { metadata: { name }, spec: { template, ...indexed } }).errors)).toEqual([
      "metadata.name: Invalid",
    ]);
  });

  const changes: [why: string, status: object, from: object, to: object, errors: string[]][] = [
    ["parallelism may change", {}, {}, { parallelism: 5 }, []],
    ["completions stay", {}, {}, { completions: 5 }, ["spec.completions: Invalid"]],
    ["an indexed Job may grow", {}, indexed, { completions: 5, parallelism: 5 }, []],
    ["an indexed Job grows as a whole", {}, indexed, { completions: 5 }, ["spec.completions: Invalid"]],
    ["policies stay", {}, {}, { managedBy: "a.b/c" }, ["spec.managedBy: Invalid"]],
    [
      "the template stays",
      {},
      {},
      { template: { spec: { ...podSpec, nodeSelector: { a: "b" } } } },
      ["spec.template: Invalid"],
    ],
    [
      "a suspended Job may go elsewhere",
      {},
      { suspend: true },
      {
        template: { spec: { ...podSpec, nodeSelector: { a: "b" }, tolerations: [{ operator: "Exists" }] } },
      },
      [],
    ],
    [
      "a suspended Job may need more",
      {},
      { suspend: true },
      {
        template: {
          spec: { ...podSpec, containers: [{ name: "main", image: "x", resources: { limits: { cpu: "1" } } }] },
        },
      },
      [],
    ],
    [
      "a suspended Job does not run something else",
      {},
      { suspend: true },
      {
        template: { spec: { ...podSpec, containers: [{ name: "main", image: "y" }] } },
      },
      ["spec.template: Invalid"],
    ],
    [
      "Pods that still run keep their place",
      { startTime: "2026-01-01T00:00:00Z", active: 1 },
      { suspend: true },
      {
        template: { spec: { ...podSpec, nodeSelector: { a: "b" } } },
      },
      ["spec.template: Invalid"],
    ],
  ];
  it.each(changes)("%s", (_, status, from, to, errors) => {
    const { object } = created(jobs, { spec: { template, ...from } });
    const current = { ...object, status };
    const next = updated(jobs, current, (draft) => {
      const { metadata } = (draft.spec as { template: { metadata: object } }).template;
      const spec = { ...(draft.spec as object), ...clone(to) } as { template: { metadata?: object } };
      spec.template.metadata = metadata;
      draft.spec = spec;
    });
    expect(shown(next.errors)).toEqual(errors);
  });
});

describe("the status of a Job", () => {
  const jobs = find("Job");
  const time = "2026-01-01T00:00:00Z";
  const later = "2026-01-01T00:01:00Z";
  const is = (...types: string[]) => ({ conditions: types.map((type) => ({ type, status: "True" })) });
  const done = { startTime: time, completionTime: later, ...is("SuccessCriteriaMet", "Complete") };

  const rows: [why: string, spec: object, before: object, after: object, errors: string[]][] = [
    ["a Job completes", {}, { startTime: time }, done, []],
    [
      "nothing is complete without a reason",
      {},
      { startTime: time },
      { ...done, ...is("Complete") },
      ["status.conditions: Invalid"],
    ],
    [
      "nothing fails without a reason",
      {},
      { startTime: time },
      { startTime: time, ...is("Failed") },
      ["status.conditions: Invalid"],
    ],
    ["a finished Job was started", {}, {}, { ...is("FailureTarget", "Failed") }, ["status.startTime: Required"]],
    ["a finished Job runs nothing", {}, { startTime: time }, { ...done, active: 1 }, ["status.active: Invalid"]],
    [
      "a finished Job has counted all",
      {},
      {},
      { ...done, uncountedTerminatedPods: { failed: ["a"] } },
      ["status.uncountedTerminatedPods: Invalid"],
    ],
    [
      "a complete Job has an end",
      {},
      { startTime: time },
      { startTime: time, ...is("SuccessCriteriaMet", "Complete") },
      ["status.completionTime: Required"],
    ],
    [
      "an end comes after the start",
      {},
      {},
      { ...done, completionTime: "2025-01-01T00:00:00Z" },
      ["status.completionTime: Invalid"],
    ],
    [
      "what is complete stays so",
      {},
      done,
      { startTime: time },
      ["status.conditions: Invalid", "status.conditions: Invalid"],
    ],
    ["nobody is uncounted", {}, { failed: 2 }, { failed: 1 }, ["status.failed: Invalid"]],
    [
      "nobody is written down twice",
      {},
      {},
      { uncountedTerminatedPods: { succeeded: ["a"], failed: ["a"] } },
      ["status.uncountedTerminatedPods.failed[0]: Duplicate"],
    ],
    ["what is ready is active", {}, {}, { active: 1, ready: 2 }, ["status.ready: Invalid"]],
    ["only indexed Jobs have indexes", {}, {}, { completedIndexes: "0" }, ["status.completedIndexes: Invalid"]],
    ["indexes exist", indexed, {}, { completedIndexes: "0-3" }, ["status.completedIndexes: Invalid"]],
    [
      "no index succeeds and fails",
      { ...indexed, backoffLimitPerIndex: 1 },
      {},
      {
        completedIndexes: "0,1",
        failedIndexes: "1",
      },
      ["status.failedIndexes: Invalid"],
    ],
    ["a Job starts once", {}, { startTime: time }, { startTime: later }, ["status.startTime: Invalid"]],
    [
      "a Job that goes on starts anew",
      {},
      { startTime: time, ...is("Suspended") },
      {
        startTime: later,
        conditions: [{ type: "Suspended", status: "False" }],
      },
      [],
    ],
    [
      "old faults do not keep the rest from being told",
      {},
      { active: 1, ready: 2 },
      { active: 1, ready: 2, failed: 1 },
      [],
    ],
  ];
  it.each(rows)("%s", (_, spec, before, after, errors) => {
    const { object } = created(jobs, { spec: { template, ...spec } });
    const current: DynamicObject = { ...object, status: before };
    const next = edited(jobs, "status", current, (draft) => {
      draft.status = clone(after);
    });
    expect(shown(next.errors)).toEqual(errors);
  });
});

describe("CronJobs", () => {
  const cronJobs = find("CronJob");
  const jobTemplate = { spec: { template } };

  const rows: [why: string, spec: Record<string, unknown>, errors: string[]][] = [
    ["five fields are fine", { schedule: "*/5 * * * MON-FRI", jobTemplate }, []],
    ["names are fine", { schedule: "@hourly", jobTemplate, timeZone: "Europe/Berlin" }, []],
    ["a schedule is needed", { jobTemplate }, ["spec.schedule: Required"]],
    ["a schedule can be read", { schedule: "61 * * * *", jobTemplate }, ["spec.schedule: Invalid"]],
    ["zones have a field of their own", { schedule: "TZ=UTC 0 * * * *", jobTemplate }, ["spec.schedule: Invalid"]],
    ["zones are known", { schedule: "@daily", jobTemplate, timeZone: "Mars/Base" }, ["spec.timeZone: Invalid"]],
    [
      "zones are the same everywhere",
      { schedule: "@daily", jobTemplate, timeZone: "Local" },
      ["spec.timeZone: Invalid"],
    ],
    ["zones have names", { schedule: "@daily", jobTemplate, timeZone: "" }, ["spec.timeZone: Invalid"]],
    [
      "policies are known",
      { schedule: "@daily", jobTemplate, concurrencyPolicy: "Maybe" },
      ["spec.concurrencyPolicy: NotSupported"],
    ],
    [
      "Jobs choose their own Pods",
      { schedule: "@daily", jobTemplate: { spec: { template, selector: {} } } },
      ["spec.jobTemplate.spec.selector: Invalid"],
    ],
    [
      "Jobs are looked at",
      { schedule: "@daily", jobTemplate: { spec: { template, backoffLimit: -1 } } },
      ["spec.jobTemplate.spec.backoffLimit: Invalid"],
    ],
  ];
  it.each(rows)("%s", (_, spec, errors) => {
    expect(shown(created(cronJobs, { spec }).errors)).toEqual(errors);
  });

  it("have names with room for a time", () => {
    const { errors } = created(cronJobs, {
      metadata: { name: "a".repeat(53) },
      spec: { schedule: "@daily", jobTemplate },
    });
    expect(shown(errors)).toEqual(["metadata.name: Invalid"]);
  });
});
