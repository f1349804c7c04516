import { describe, expect, it } from "vitest";
import type { KubeObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { Ahead } from "./ahead.ts";

function at(resourceVersion: string): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", resourceVersion } };
}

describe("what our writes have left", () => {
  it("stands for the copy while that still shows what they have replaced", () => {
    const ahead = new Ahead(new ManualClock());
    const last = at("3");
    ahead.wrote(at("1"), at("2"));
    ahead.wrote(at("2"), last);
    expect(ahead.latest(at("1"))).toBe(last);
    expect(ahead.latest(at("2"))).toBe(last);
  });

  it("gives way to what somebody else has written since, and is not believed again", () => {
    const ahead = new Ahead(new ManualClock());
    ahead.wrote(at("1"), at("2"));
    const theirs = at("3");
    expect(ahead.latest(theirs)).toBe(theirs);
    const old = at("1");
    expect(ahead.latest(old)).toBe(old);
  });

  it("stands for what the copy does not have yet, until the copy had it: what is gone then is gone", () => {
    const ahead = new Ahead(new ManualClock());
    const made = at("1");
    ahead.wrote(undefined, made);
    expect(ahead.latest(undefined)).toBe(made);
    expect(ahead.latest(at("1"))?.metadata.resourceVersion).toBe("1");
    expect(ahead.latest(undefined)).toBeUndefined();
  });

  it("is given up after a while, because a copy that lags so long shows something else", () => {
    const clock = new ManualClock();
    const ahead = new Ahead(clock);
    ahead.wrote(undefined, at("1"));
    clock.advance(5_000);
    expect(ahead.latest(undefined)).toBeUndefined();
  });

  it("is nothing where nothing was written", () => {
    const ahead = new Ahead(new ManualClock());
    const same = at("1");
    ahead.wrote(same, same);
    const cached = at("1");
    expect(ahead.latest(cached)).toBe(cached);
  });
});
