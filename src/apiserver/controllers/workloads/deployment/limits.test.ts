import { describe, expect, it } from "vitest";
import type { Deployment, IntOrPercent } from "#api/apps";
import { deployment } from "../testing/deployments.ts";
import { limitsOf } from "./limits.ts";

describe("the limits of a rollout", () => {
  const rows: [why: string, replicas: number, surge: IntOrPercent, unavailable: IntOrPercent, is: [number, number]][] =
    [
      ["numbers are taken as they are", 10, 3, 2, [3, 2]],
      ["a surge is rounded up", 3, "25%", 0, [1, 0]],
      ["what may be missing is rounded down", 3, 1, "25%", [1, 0]],
      ["whole percentages come out whole", 10, "30%", "20%", [3, 2]],
      ["no room to move means that one may be missing", 1, "0%", "25%", [0, 1]],
      ["no more can be missing than there are", 2, 0, 5, [0, 2]],
      ["of nothing nothing can be missing", 0, "25%", "25%", [0, 0]],
    ];
  it.each(rows)("%s", (_, replicas, maxSurge, maxUnavailable, [surge, unavailable]) => {
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } };
    expect(limitsOf(deployment({ replicas, strategy }) as Deployment)).toEqual({
      replicas,
      maxSurge: surge,
      maxUnavailable: unavailable,
    });
  });

  it("are none where everything is replaced at once", () => {
    const limits = limitsOf(deployment({ replicas: 4, strategy: { type: "Recreate" } }) as Deployment);
    expect(limits).toEqual({ replicas: 4, maxSurge: 0, maxUnavailable: 0 });
  });
});
