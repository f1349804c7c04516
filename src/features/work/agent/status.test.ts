import { describe, expect, it } from "vitest";
import { type Condition, type DynamicObject, kind } from "#api/meta";
import type { ManifestWork } from "#api/work";
import { type Finding, workStatus } from "./status.ts";

const ConfigMap = kind({ group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const EARLIER = "2026-01-01T00:00:00Z";
const NOW = "2026-02-02T00:00:00Z";
const now = new Date(NOW);

const object = (data: Record<string, string> = {}): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "default" },
  data,
});
const finding = (more: Partial<Finding> = {}, ordinal = 0): Finding => ({
  meta: {
    ordinal,
    version: "v1",
    kind: "ConfigMap",
    resource: "configmaps",
    name: `m${ordinal}`,
    namespace: "default",
  },
  kind: ConfigMap,
  config: { feedbackRules: [], conditionRules: [] },
  applied: { status: "True", reason: "AppliedManifestComplete", message: "Apply manifest complete" },
  live: object(),
  isFrozen: false,
  ...more,
});
const work = (status?: ManifestWork["status"], generation = 1): ManifestWork => ({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  metadata: { name: "w", namespace: "cluster1", generation },
  ...(status && { status }),
});
const failed = { status: "False", reason: "AppliedManifestFailed", message: "Failed to apply manifest: x" } as const;
const of = (conditions: readonly Condition[] | undefined, type: string) =>
  conditions?.find((each) => each.type === type);

describe("a status", () => {
  it("says nothing new of what has not changed, so that nothing is written", () => {
    const first = workStatus(work(), [finding()], { now: new Date(EARLIER) });
    expect(workStatus(work(first), [finding()], { now })).toEqual(first);
  });

  it("moves the time of what it says of a manifest with every generation, but not of the work as a whole", () => {
    const first = workStatus(work(), [finding()], { now: new Date(EARLIER) });
    const next = workStatus(work(first, 2), [finding()], { now });
    expect(of(next.conditions, "Applied")).toMatchObject({ lastTransitionTime: EARLIER, observedGeneration: 2 });
    const [manifest] = next.resourceStatus?.manifests ?? [];
    expect(of(manifest?.conditions, "Applied")).toMatchObject({ lastTransitionTime: NOW, observedGeneration: 2 });
    expect(of(manifest?.conditions, "Available")).toMatchObject({ lastTransitionTime: EARLIER });
  });

  it("remembers a manifest that has moved to another place, and forgets those that are gone", () => {
    const first = workStatus(work(), [finding({}, 0), finding({}, 1)], { now: new Date(EARLIER) });
    const moved = { ...finding({}, 1), meta: { ...finding({}, 1).meta, ordinal: 0 } };
    const { resourceStatus } = workStatus(work(first), [moved], { now });
    expect(resourceStatus?.manifests).toHaveLength(1);
    expect(of(resourceStatus?.manifests?.[0]?.conditions, "Applied")?.lastTransitionTime).toBe(EARLIER);
  });

  it.each<[string, Finding[], object, object]>([
    [
      "all is well",
      [finding(), finding({}, 1)],
      { status: "True", reason: "AppliedManifestWorkComplete" },
      { status: "True", message: "All resources are available" },
    ],
    [
      "one fails",
      [finding(), finding({ applied: failed }, 1)],
      { status: "False", message: "Failed to apply manifest work" },
      { status: "True" },
    ],
    [
      "one is absent",
      [finding(), finding({ live: "absent" }, 1)],
      { status: "True" },
      { status: "False", reason: "ResourcesNotAvailable", message: "1 of 2 resources are not available" },
    ],
    [
      "one cannot be read",
      [finding({ live: { unreadable: "x" } })],
      { status: "True" },
      { status: "Unknown", reason: "ResourcesStatusUnknown", message: "1 of 1 resources have unknown status" },
    ],
  ])("says of the whole when %s", (_, findings, applied, available) => {
    const { conditions } = workStatus(work(), findings, { now });
    expect(of(conditions, "Applied")).toMatchObject(applied);
    expect(of(conditions, "Available")).toMatchObject(available);
    expect(conditions?.map(({ type }) => type)).toEqual(["Applied", "Available"]);
  });

  it("says nothing of the whole of a work without manifests", () => {
    expect(workStatus(work(), [], { now }).conditions).toEqual([]);
  });
});

describe("feedback", () => {
  const rules = {
    feedbackRules: [{ type: "JSONPaths" as const, jsonPaths: [{ name: "k", path: ".data.k" }] }],
    conditionRules: [],
  };

  it("moves the time of its condition when a value changes, and stays when the object is away", () => {
    const first = workStatus(work(), [finding({ config: rules, live: object({ k: "1" }) })], {
      now: new Date(EARLIER),
    });
    const next = workStatus(work(first), [finding({ config: rules, live: object({ k: "2" }) })], { now });
    const [manifest] = next.resourceStatus?.manifests ?? [];
    expect(of(manifest?.conditions, "StatusFeedbackSynced")?.lastTransitionTime).toBe(NOW);
    const gone = workStatus(work(next), [finding({ config: rules, live: "absent" })], { now });
    expect(gone.resourceStatus?.manifests?.[0]?.statusFeedback?.values).toEqual([
      { name: "k", fieldValue: { type: "String", string: "2" } },
    ]);
  });
});

describe("conditions of one's own", () => {
  const rule = (condition: string) => ({
    feedbackRules: [],
    conditionRules: [{ condition, type: "CEL" as const, celExpressions: ["object.data.on == 'yes'"] }],
  });
  const both = (type: string, ...states: readonly string[]) =>
    states.map((on, ordinal) => finding({ config: rule(type), live: object({ on }) }, ordinal));

  it.each([
    ["Complete", ["yes", "yes"], "True"],
    ["Complete", ["yes", "no"], "False"],
    ["Progressing", ["yes", "no"], "True"],
    ["Progressing", ["no", "no"], "False"],
  ])("%s of %j is %s", (type, states, status) => {
    const { conditions } = workStatus(work(), both(type, ...states), { now });
    expect(of(conditions, type)).toMatchObject({ status, message: "Aggregated from 2 manifest conditions" });
  });

  it("go with their rule, unless the manifest is finished", () => {
    const first = workStatus(work(), both("Complete", "yes"), { now });
    const plain = finding();
    expect(of(workStatus(work(first, 2), [plain], { now }).conditions, "Complete")).toBeUndefined();
    const frozen = { ...plain, isFrozen: true, applied: undefined };
    expect(of(workStatus(work(first, 2), [frozen], { now }).conditions, "Complete")?.status).toBe("True");
  });
});
