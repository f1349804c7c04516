import { describe, expect, it } from "vitest";
import type { Deployment, DeploymentStatus } from "#api/apps";
import { isAvailable, isUnseen } from "./readiness.ts";

const available = [{ type: "Available" as const, status: "True" as const, reason: "", message: "" }];

function deployment(status: Partial<DeploymentStatus>, replicas?: number): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", generation: 2 },
    spec: {
      ...(replicas !== undefined && { replicas }),
      selector: {},
      template: { spec: { containers: [] } },
    },
    status: { conditions: available, ...status } as DeploymentStatus,
  };
}

const rolledOut = { observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };

describe("a Deployment", () => {
  it.each<[string, Deployment, boolean]>([
    ["works when it is rolled out and available", deployment(rolledOut), true],
    ["works without Pods if none are wished for", deployment({ observedGeneration: 2 }, 0), true],
    ["does not before anybody has seen its new wish", deployment({ ...rolledOut, observedGeneration: 1 }), false],
    ["does not while Pods are missing", deployment(rolledOut, 2), false],
    ["does not while Pods of the former version are there", deployment({ ...rolledOut, replicas: 2 }), false],
    ["does not while its new Pods are not available", deployment({ ...rolledOut, availableReplicas: 0 }), false],
    ["does not if it says so itself", deployment({ ...rolledOut, conditions: [] }), false],
  ])("%s", (_, object, expected) => {
    expect(isAvailable(object)).toBe(expected);
  });
});

describe("a Deployment whose newest wish nobody has seen", () => {
  it.each<[string, Deployment, boolean]>([
    ["worked a moment ago", deployment({ ...rolledOut, observedGeneration: 1 }), true],
    ["did not work before either", deployment({ ...rolledOut, observedGeneration: 1, conditions: [] }), false],
    ["is none once it is seen", deployment({ ...rolledOut, availableReplicas: 0 }), false],
  ])("%s", (_, object, expected) => {
    expect(isUnseen(object)).toBe(expected);
  });
});
