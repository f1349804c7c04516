import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { missingIn } from "./readiness.ts";

const object = (
  apiVersion: string,
  kind: string,
  spec: object,
  status: object,
  metadata: object = {},
): DynamicObject => ({
  apiVersion,
  kind,
  metadata: { name: "x", generation: 2, ...metadata },
  spec,
  status,
});
const condition = (type: string, status: string, more: object = {}) => ({ conditions: [{ type, status, ...more }] });
const rolledOut = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 };

describe("an object works", () => {
  it.each([
    ["Deployment", object("apps/v1", "Deployment", { replicas: 2 }, rolledOut)],
    ["Deployment without replicas", object("apps/v1", "Deployment", { replicas: 0 }, { observedGeneration: 2 })],
    [
      "StatefulSet",
      object(
        "apps/v1",
        "StatefulSet",
        { replicas: 1 },
        { observedGeneration: 2, readyReplicas: 1, currentRevision: "a", updateRevision: "a" },
      ),
    ],
    [
      "DaemonSet without nodes",
      object("apps/v1", "DaemonSet", {}, { observedGeneration: 2, desiredNumberScheduled: 0 }),
    ],
    ["Job", object("batch/v1", "Job", {}, condition("Complete", "True"))],
    ["Pod that has ended well", object("v1", "Pod", {}, { phase: "Succeeded" })],
    ["ConfigMap, by being there", object("v1", "ConfigMap", {}, {})],
    ["custom resource without conditions", object("example.com/v1", "Widget", {}, {})],
    ["custom resource that is ready", object("example.com/v1", "Widget", {}, condition("Ready", "True"))],
    ["definition", object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, condition("Established", "True"))],
  ])("%s", (_, live) => {
    expect(missingIn(live)).toBeUndefined();
  });
});

describe("an object does not work", () => {
  it.each([
    [
      "1 of 2 replicas are available",
      object("apps/v1", "Deployment", { replicas: 2 }, { ...rolledOut, availableReplicas: 1 }),
    ],
    [
      "0 of 2 replicas are updated",
      object("apps/v1", "Deployment", { replicas: 2 }, { observedGeneration: 2, replicas: 2 }),
    ],
    ["old replicas are still there", object("apps/v1", "Deployment", { replicas: 2 }, { ...rolledOut, replicas: 3 })],
    [
      "its controller has not seen the change yet",
      object("apps/v1", "Deployment", { replicas: 2 }, { ...rolledOut, observedGeneration: 1 }),
    ],
    [
      "its rollout does not go on (ProgressDeadlineExceeded: too slow)",
      object(
        "apps/v1",
        "Deployment",
        {},
        condition("Progressing", "False", { reason: "ProgressDeadlineExceeded", message: "too slow" }),
      ),
    ],
    ["its controller has not seen it yet", object("apps/v1", "StatefulSet", {}, {})],
    [
      "it has failed (BackoffLimitExceeded)",
      object("batch/v1", "Job", {}, condition("Failed", "True", { reason: "BackoffLimitExceeded" })),
    ],
    ["it is not complete", object("batch/v1", "Job", {}, {})],
    ["it is not ready", object("v1", "Pod", {}, { phase: "Running" })],
    [
      "it is not ready (Waiting: for rain)",
      object("example.com/v1", "W", {}, condition("Ready", "Unknown", { reason: "Waiting", message: "for rain" })),
    ],
    ["it is being deleted", object("v1", "ConfigMap", {}, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" })],
    ["it is not established", object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, {})],
  ])("%s", (missing, live) => {
    expect(missingIn(live)).toBe(missing);
  });
});
