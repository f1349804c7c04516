import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { Memory } from "./memory.ts";

const state = (version: string, content: object = {}): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "x", uid: "u", resourceVersion: version },
  ...content,
});

describe("what was left", () => {
  it("is still so while only status and versions change", () => {
    const memory = new Memory(new ManualClock());
    memory.record("x", "hash", undefined, state("1", { spec: { a: 1 } }));
    expect(memory.isAsLeft("x", "hash", state("2", { spec: { a: 1 }, status: { phase: "Active" } }))).toBe(true);
    expect(memory.isAsLeft("x", "hash", state("3", { spec: { a: 2 } }))).toBe(false);
  });

  it("is something else for another manifest, another object of the name, and one that was forgotten", () => {
    const memory = new Memory(new ManualClock());
    memory.record("x", "hash", undefined, state("1"));
    expect(memory.isAsLeft("x", "other", state("1"))).toBe(false);
    expect(memory.isAsLeft("x", "hash", { ...state("1"), metadata: { name: "x", uid: "anew" } })).toBe(false);
    memory.forget("x");
    expect(memory.isAsLeft("x", "hash", state("1"))).toBe(false);
  });
});

describe("a cache that lags", () => {
  it("is known to show what our write replaced", () => {
    const memory = new Memory(new ManualClock());
    const written = state("2");
    memory.record("x", "hash", state("1"), written);
    expect(memory.ahead("x", state("1"))).toBe(written);
    expect(memory.ahead("x", state("3")).metadata.resourceVersion).toBe("3");
  });

  it("cannot be believed when it lacks what was created a moment ago, and can a while later", () => {
    const clock = new ManualClock();
    const memory = new Memory(clock);
    memory.record("x", "hash", undefined, state("2"));
    expect(memory.isYoung("x")).toBe(true);
    clock.advance(10_000);
    expect([memory.isYoung("x"), memory.isYoung("other")]).toEqual([false, false]);
  });
});
