import { describe, expect, it } from "vitest";
import type { Deployment, ReplicaSet } from "#api/apps";
import type { Stored } from "../stored.ts";
import { deployment } from "../testing/deployments.ts";
import { template } from "../testing/pods.ts";
import type { Generations } from "./replica-sets.ts";
import { isScaled, recreateSizes, rollingSizes, scaledSizes } from "./sizes.ts";

interface Traits {
  size: number;
  /** As many as its size unless told. */
  available?: number;
  /** As many as its size unless told. */
  pods?: number;
  desired?: number;
  max?: number;
}

let born = 0;
function set(name: string, { size, available = size, pods = size, desired, max }: Traits): Stored<ReplicaSet> {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name,
      creationTimestamp: new Date(++born * 1000).toISOString(),
      annotations: {
        ...(desired !== undefined && { "deployment.kubernetes.io/desired-replicas": String(desired) }),
        ...(max !== undefined && { "deployment.kubernetes.io/max-replicas": String(max) }),
      },
    },
    spec: { replicas: size, selector: {}, template: template() },
    status: { replicas: pods, availableReplicas: available },
  };
}

function generations(oldSets: Traits[], newSet?: Traits): Generations {
  const old = oldSets.map((traits, index) => set(`old${index + 1}`, traits));
  return { oldSets: old, newSet: newSet && set("new", newSet) };
}

describe("a step of a rolling update", () => {
  const ten = { replicas: 10, maxSurge: 3, maxUnavailable: 2 };
  const rows: [why: string, old: Traits[], fresh: Traits | undefined, ofNew: number, ofOld: Record<string, number>][] =
    [
      ["the first ReplicaSet gets everything", [], undefined, 10, {}],
      ["new ones take the surge, old ones give what may be missing", [{ size: 10 }], undefined, 3, { old1: 8 }],
      ["new ones follow the old ones out", [{ size: 8 }], { size: 3, available: 0 }, 5, { old1: 8 }],
      ["room is there only when Pods are gone", [{ size: 8, pods: 10 }], { size: 3, available: 0 }, 3, { old1: 8 }],
      ["old ones go as new ones become available", [{ size: 8 }], { size: 5, available: 4 }, 5, { old1: 4 }],
      ["old ones that do not work go first", [{ size: 8, available: 6 }], { size: 5, available: 2 }, 5, { old1: 6 }],
      [
        "a stale count of a shrinking ReplicaSet is no reason to shrink another",
        [{ size: 4, available: 8 }, { size: 4 }],
        { size: 5, available: 0 },
        5,
        { old1: 4, old2: 4 },
      ],
      [
        "the oldest goes first, however healthy",
        [{ size: 5 }, { size: 5 }],
        { size: 3, available: 3 },
        3,
        { old1: 0, old2: 5 },
      ],
      [
        "of two the one that does not work goes first",
        [{ size: 5 }, { size: 5, available: 0 }],
        { size: 3, available: 3 },
        3,
        { old1: 5, old2: 0 },
      ],
      ["a new one that is too large shrinks", [], { size: 12 }, 10, {}],
    ];
  it.each(rows)("%s", (_, oldSets, newSet, ofNew, ofOld) => {
    const sizes = rollingSizes(ten, generations(oldSets, newSet));
    expect([sizes.ofNew, Object.fromEntries(sizes.ofOld)]).toEqual([ofNew, ofOld]);
  });
});

describe("a replacement at once", () => {
  const limits = { replicas: 3, maxSurge: 0, maxUnavailable: 0 };

  it.each([
    ["stops the old", [{ size: 3 }], false, undefined, { old1: 0 }],
    ["waits for their Pods", [{ size: 0 }], true, undefined, {}],
    ["starts the new", [{ size: 0 }], false, 3, {}],
  ])("%s", (_, oldSets, oldPodsRun, ofNew, ofOld) => {
    const sizes = recreateSizes(limits, generations(oldSets), oldPodsRun);
    expect([sizes.ofNew, Object.fromEntries(sizes.ofOld)]).toEqual([ofNew, ofOld]);
  });
});

describe("a new size", () => {
  const rows: [why: string, replicas: number, old: Traits[], fresh: Traits | undefined, is: Record<string, number>][] =
    [
      ["goes to the only ReplicaSet in use", 5, [{ size: 3 }], { size: 0 }, { old1: 5 }],
      ["goes to the newest when none is in use", 5, [{ size: 0 }], { size: 0 }, { new: 5 }],
      ["goes to the latest when there is no new one", 5, [{ size: 0 }, { size: 0 }], undefined, { old2: 5 }],
      ["goes nowhere when there is none", 5, [], undefined, {}],
      [
        "grows all in proportion",
        30,
        [{ size: 8, max: 13 }],
        { size: 5, available: 0, max: 13 },
        { old1: 20, new: 13 },
      ],
      ["shrinks all in proportion", 5, [{ size: 8, max: 13 }], { size: 5, available: 0, max: 13 }, { old1: 5, new: 3 }],
      ["is nothing for all", 0, [{ size: 8, max: 13 }], { size: 5, max: 13 }, { old1: 0, new: 0 }],
      [
        "gives what is left to the newer of two that are equal",
        11,
        [{ size: 2, max: 7 }],
        { size: 2, max: 7 },
        { old1: 4, new: 10 },
      ],
      [
        "takes what is left from the older of two that are equal",
        2,
        [{ size: 4, max: 8 }],
        { size: 4, max: 8 },
        { old1: 2, new: 3 },
      ],
      [
        "leaves nothing to old ones when the new one does all the work",
        5,
        [{ size: 2 }],
        { size: 5, desired: 5 },
        { old1: 0 },
      ],
    ];
  it.each(rows)("%s", (_, replicas, oldSets, newSet, sizes) => {
    const wish = deployment({ replicas }) as Deployment;
    const limits = { replicas, maxSurge: replicas === 0 ? 0 : 3, maxUnavailable: 2 };
    expect(Object.fromEntries(scaledSizes(wish, limits, generations(oldSets, newSet)))).toEqual(sizes);
  });

  it("is told by what the ReplicaSets in use remember", () => {
    const limits = { replicas: 3, maxSurge: 1, maxUnavailable: 0 };
    expect(isScaled(limits, generations([{ size: 3, desired: 3 }]))).toBe(false);
    expect(isScaled(limits, generations([{ size: 3, desired: 2 }]))).toBe(true);
    expect(isScaled(limits, generations([{ size: 0, desired: 2 }], { size: 3, desired: 3 }))).toBe(false);
    expect(isScaled(limits, generations([{ size: 3 }]))).toBe(false);
  });
});
