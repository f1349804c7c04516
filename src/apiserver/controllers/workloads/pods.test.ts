import { describe, expect, it } from "vitest";
import type { Pod } from "#api/core";
import { availableIn, isActive, isTerminating, podFrom, templateHash } from "./pods.ts";
import { template } from "./testing/pods.ts";

const NOW = new Date("2026-01-01T00:01:00Z");

function pod(status: Pod["status"] = {}, metadata: object = {}): Pod {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", ...metadata }, spec: { containers: [] }, status };
}

function ready(lastTransitionTime?: string): Pod {
  const since = lastTransitionTime && { lastTransitionTime };
  return pod({ conditions: [{ type: "Ready", status: "True", ...since }] });
}

describe("a Pod", () => {
  const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  it.each([
    ["is active while it waits", pod({ phase: "Pending" }), true, false],
    ["is active while it runs", pod({ phase: "Running" }), true, false],
    ["has ended well", pod({ phase: "Succeeded" }), false, false],
    ["has ended badly", pod({ phase: "Failed" }), false, false],
    ["is on its way out", pod({ phase: "Running" }, leaving), false, true],
    ["has ended on its way out", pod({ phase: "Failed" }, leaving), false, false],
  ])("%s", (_, each, active, terminating) => {
    expect([isActive(each), isTerminating(each)]).toEqual([active, terminating]);
  });

  it.each([
    ["never, while it is not ready", pod(), 0, undefined],
    ["at once, when nothing more is asked", ready(), 0, 0],
    ["when it has been ready for long enough", ready("2026-01-01T00:00:55Z"), 10, 5_000],
    ["now, when it has", ready("2026-01-01T00:00:50Z"), 10, 0],
    ["never, when nobody says since when it is ready", ready(), 10, undefined],
  ])("is available %s", (_, each, minReadySeconds, ms) => {
    expect(availableIn(each, minReadySeconds, NOW)).toBe(ms);
  });
});

describe("a Pod from a template", () => {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "web", namespace: "ns", uid: "u" } };

  it("belongs to its owner and gets a name from the server", () => {
    const { metadata, spec } = podFrom(owner, template(), {});
    expect(metadata).toEqual({
      generateName: "web-",
      namespace: "ns",
      labels: { app: "web" },
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          name: "web",
          uid: "u",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
    expect(spec).toEqual(template().spec);
  });

  it("gets what its owner adds, each finalizer once", () => {
    const { metadata } = podFrom(
      owner,
      { ...template(), metadata: { labels: { a: "1" }, finalizers: ["x/y"] } },
      { name: "web-0", labels: { b: "2" }, annotations: { c: "3" }, finalizers: ["x/y", "x/z"] },
    );
    expect(metadata).toMatchObject({
      name: "web-0",
      labels: { a: "1", b: "2" },
      annotations: { c: "3" },
      finalizers: ["x/y", "x/z"],
    });
  });
});

describe("the hash of a template", () => {
  it("is a label value, and the same however the fields are ordered", () => {
    expect(templateHash({ a: 1, b: { c: 2, d: [3] } })).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{10}$/);
    expect(templateHash({ a: 1, b: { c: 2, d: [3] } })).toBe(templateHash({ b: { d: [3], c: 2 }, a: 1 }));
  });

  it("differs with the template and with every collision", () => {
    const hashes = [
      templateHash({ a: 1 }),
      templateHash({ a: 2 }),
      templateHash({ a: 1 }, 1),
      templateHash({ a: 1 }, 2),
    ];
    expect(new Set(hashes).size).toBe(4);
  });

  it("takes numbers of 64 bits", () => {
    expect(templateHash({ a: 2n ** 60n })).not.toBe(templateHash({ a: 2n ** 60n + 1n }));
  });
});
