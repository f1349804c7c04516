import { describe, expect, it } from "vitest";
import type { Condition } from "#api/meta";
import { findCondition, isTrue, removeCondition, setCondition } from "./index.ts";

const THEN = "2026-01-01T00:00:00Z";
const NOW = new Date("2026-02-02T02:02:02.222Z");

function ready(change: Partial<Condition> = {}): Condition {
  return { type: "Ready", status: "True", reason: "Fine", message: "all is well", lastTransitionTime: THEN, ...change };
}

describe("setCondition", () => {
  it("gives the same array back when nothing is new, so that nothing is written", () => {
    const conditions = [ready()];
    expect(
      setCondition(conditions, { type: "Ready", status: "True", reason: "Fine", message: "all is well" }, NOW),
    ).toBe(conditions);
  });

  it.each([
    ["a new reason keeps the time", { status: "True", reason: "Better" }, THEN],
    ["a new message keeps the time", { status: "True", reason: "Fine", message: "very well" }, THEN],
    ["a new observed generation keeps the time", { status: "True", reason: "Fine", observedGeneration: 2 }, THEN],
    ["a new status takes the time", { status: "False", reason: "Fine" }, "2026-02-02T02:02:02Z"],
  ] as const)("%s", (_, change, time) => {
    const before = [ready(), ready({ type: "Other" })];
    const after = setCondition(before, { type: "Ready", message: "all is well", ...change }, NOW);
    expect(after).toEqual([ready({ ...change, lastTransitionTime: time }), before[1]]);
    expect(before[0]).toEqual(ready());
  });

  it("adds what was not there", () => {
    const claim = { type: "Joined", status: "True", reason: "Joined", message: "" } as const;
    expect(setCondition(undefined, claim, NOW)).toEqual([{ ...claim, lastTransitionTime: "2026-02-02T02:02:02Z" }]);
    expect(setCondition([ready()], claim, NOW).map((c) => c.type)).toEqual(["Ready", "Joined"]);
  });

  it("gives a time to a condition that was written without one", () => {
    const [condition] = setCondition([ready({ lastTransitionTime: "" })], ready(), NOW);
    expect(condition?.lastTransitionTime).toBe("2026-02-02T02:02:02Z");
  });
});

describe("reading", () => {
  it("finds, asks and removes", () => {
    const conditions = [ready(), ready({ type: "Broken", status: "Unknown" })];
    expect(findCondition(conditions, "Broken")?.status).toBe("Unknown");
    expect([isTrue(conditions, "Ready"), isTrue(conditions, "Broken"), isTrue(undefined, "Ready")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(removeCondition(conditions, "Ready").map((c) => c.type)).toEqual(["Broken"]);
    expect(removeCondition(conditions, "Missing")).toBe(conditions);
  });
});
