import { describe, expect, it } from "vitest";
import type { ManagedCluster } from "#api/cluster";
import type { Condition } from "#api/meta";
import { cleanedKinds, isCleanedKind } from "./cleaned-kinds.ts";
import { lostSince, planFor, priorityOf, remainingCondition } from "./plan.ts";
import type { Remaining } from "./remains.ts";

const [addons, works] = cleanedKinds();
if (!addons || !works) throw new Error("there are two kinds");
const now = new Date("2026-01-01T00:00:00Z");
const PRIORITY = "open-cluster-management.io/cleanup-priority";

function left(kind: typeof addons, name: string, more: Partial<Remaining["metadata"]> = {}): Remaining {
  if (!kind) throw new Error("no kind");
  return { kind, metadata: { name, namespace: "c1", ...more } };
}
const going = { deletionTimestamp: "2025-12-31T23:59:30Z", finalizers: ["f"] };
const names = (objects: readonly Remaining[]) => objects.map(({ metadata }) => metadata.name);

describe("the priority of what is removed", () => {
  it.each([
    [undefined, 0],
    ["", 0],
    ["0", 0],
    ["7", 7],
    ["100", 100],
    ["101", 0],
    ["-1", 0],
    ["1.5", 0],
    ["1e1", 0],
    [" 5", 0],
    ["high", 0],
  ])("%j counts as %d", (text, value) => {
    const annotations = text === undefined ? {} : { [PRIORITY]: text };
    expect(priorityOf(left(works, "w", { annotations }))).toBe(value);
  });
});

describe("what is done about what is left", () => {
  const plan = (remaining: Remaining[], givenUp?: number, mayRemove = true) =>
    planFor({ remaining, mayRemove, givenUpAt: () => givenUp, now });

  it("is nothing where nothing is left", () => {
    expect(plan([])).toEqual({ remove: [], release: [] });
  });

  it("is to delete add-ons before works, because add-ons may need works to take themselves down", () => {
    expect(names(plan([left(addons, "a"), left(works, "w")]).remove)).toEqual(["a"]);
    expect(names(plan([left(addons, "a", going), left(works, "w")]).remove)).toEqual([]);
    expect(names(plan([left(works, "w")]).remove)).toEqual(["w"]);
  });

  it("is to delete those of the lowest priority, and the next when they are gone", () => {
    const at = (name: string, priority: string, more = {}) =>
      left(works, name, { annotations: { [PRIORITY]: priority }, ...more });
    expect(names(plan([at("last", "100"), at("b", "5"), at("a", "5"), left(works, "first")]).remove)).toEqual([
      "first",
    ]);
    expect(names(plan([at("last", "100"), at("b", "5"), at("a", "5")]).remove)).toEqual(["b", "a"]);
    expect(names(plan([at("last", "100"), at("a", "5", going)]).remove)).toEqual([]);
  });

  it("is to give up everything at once when the time is over, in whatever order it lies", () => {
    const remaining = [left(addons, "a", going), left(works, "w", { finalizers: ["f"] }), left(works, "bare")];
    const { remove, release, next } = plan(remaining, now.getTime());
    expect(names(remove)).toEqual(["w", "bare"]);
    expect(names(release)).toEqual(["a", "w"]);
    expect(next).toBeUndefined();
  });

  it("is to look again when the time is over, and not a millisecond earlier", () => {
    const { remove, release, next } = plan([left(works, "w", going)], now.getTime() + 1);
    expect([remove, release, next]).toEqual([[], [], now.getTime() + 1]);
  });

  it("is only to give up what somebody else deleted where nothing may be deleted", () => {
    const { remove, release } = plan([left(works, "w", going), left(works, "kept", { finalizers: ["f"] })], 0, false);
    expect([names(remove), names(release)]).toEqual([[], ["w"]]);
  });
});

describe("a cluster is lost", () => {
  const at = "2025-12-31T00:00:00Z";
  const condition = (type: string, status: Condition["status"]): Condition => ({
    type,
    status,
    reason: "r",
    message: "",
    lastTransitionTime: at,
  });
  const joined = condition("ManagedClusterJoined", "True");
  const available = (status: Condition["status"]) => condition("ManagedClusterConditionAvailable", status);
  const cluster = (hubAcceptsClient: boolean, ...conditions: Condition[]): ManagedCluster => ({
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "c1", deletionTimestamp: "2026-01-01T00:00:00Z" },
    spec: { hubAcceptsClient },
    status: { conditions },
  });

  it.each<[string, ManagedCluster, number | undefined]>([
    ["not while it answers", cluster(true, joined, available("True")), undefined],
    ["not while only its API server is away", cluster(true, joined, available("False")), undefined],
    ["since it is unknown", cluster(true, joined, available("Unknown")), Date.parse(at)],
    ["since it was deleted if it never said anything", cluster(true, joined), Date.parse("2026-01-01T00:00:00Z")],
    ["always if it never joined", cluster(true), Number.NEGATIVE_INFINITY],
    [
      "always if it was denied, because its agent may not clean",
      cluster(false, joined, available("True")),
      Number.NEGATIVE_INFINITY,
    ],
  ])("%s", (_, given, since) => {
    expect(lostSince(given)).toBe(since);
  });
});

describe("the condition", () => {
  it("names the kind, how many remain and how many wait for finalizers", () => {
    const remaining = [left(addons, "a", going), left(addons, "b"), left(works, "w")];
    expect(remainingCondition(remaining, undefined)).toEqual({
      type: "Deleting",
      status: "False",
      reason: "ResourceRemaining",
      message:
        "Waiting for managedclusteraddons: 2 remain, 1 of them pending on finalizers (f). Then manifestworks. Its agent removes what was applied for them.",
    });
  });

  it("says when a lost cluster is given up", () => {
    const { message } = remainingCondition([left(works, "w", going)], now.getTime());
    expect(message).toContain("given up at 2026-01-01T00:00:00.000Z");
  });

  it("is true when nothing is left", () => {
    expect(remainingCondition([], undefined)).toMatchObject({ status: "True", reason: "NoResource" });
  });
});

describe("a kind in the list", () => {
  it.each([
    ["work.open-cluster-management.io/v1/manifestworks", true],
    ["apps/v1/deployments", true],
    ["manifestworks", false],
    ["work.open-cluster-management.io/manifestworks", false],
    ["a/v1/b/c", false],
    ["", false],
  ])("%j is understood: %j", (word, isUnderstood) => {
    expect(isCleanedKind(word)).toBe(isUnderstood);
  });
});
