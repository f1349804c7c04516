import { describe, expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import type { ClusterManager } from "#api/operator";
import type { ApplyReport, ObjectReport } from "#kube";
import { findCondition } from "#lib/conditions";
import { gateCondition } from "../kit/index.ts";
import { statusAfter, unsupportedIn } from "./verdict.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const GATES = gateCondition({});

const manager: ClusterManager = {
  apiVersion: "operator.open-cluster-management.io/v1",
  kind: "ClusterManager",
  metadata: { name: "cm", generation: 4 },
  status: { relatedResources: [{ group: "", version: "v1", resource: "namespaces", name: "old" }] },
};

const registration = (status: object, program = "controller"): Deployment =>
  ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: `cm-registration-${program}`, namespace: "open-cluster-management-hub", generation: 1 },
    spec: { replicas: 1 },
    status,
  }) as unknown as Deployment;
const WORKS = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 };
const BOTH = [registration(WORKS), registration(WORKS, "webhook")];

const wish = { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } };
const report = (...objects: Partial<ObjectReport>[]): ApplyReport => ({
  objects: objects as ObjectReport[],
  complete: objects.length === 0,
});
const refused = (kind: string): Partial<ObjectReport> => ({
  id: { group: "", version: "v1", kind, name: "x" },
  action: "refused",
  reason: "Forbidden",
  message: "not allowed",
});

function said(type: string, { given = report(), deployments = BOTH, unsupported = [] as string[] } = {}) {
  const status = statusAfter(manager, { report: given, wishes: [wish], deployments, unsupported }, GATES, NOW);
  return findCondition(status.conditions, type);
}

describe("what is said of a ClusterManager", () => {
  it("when all is well, about the generation that was looked at", () => {
    const seen = { report: report(), wishes: [wish], deployments: BOTH, unsupported: [] };
    const status = statusAfter(manager, seen, GATES, NOW);
    expect(status.observedGeneration).toBe(4);
    expect(status.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`)).toEqual([
      "Applied=True ClusterManagerApplied",
      "Progressing=False ClusterManagerUpToDate",
      "ValidFeatureGates=True FeatureGatesAllValid",
      "HubRegistrationDegraded=False RegistrationFunctional",
    ]);
    expect(status.relatedResources).toEqual([{ group: "", version: "v1", resource: "namespaces", name: "new" }]);
    expect(status.generations).toHaveLength(2);
  });

  it.each([
    [["CustomResourceDefinition", "Deployment"], "CRDApplyFailed"],
    [["ClusterRole", "Deployment"], "HubResourceApplyFailed"],
    [["Deployment"], "RuntimeResourceApplyFailed"],
    [["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"], "WebhookApplyFailed"],
    [["ValidatingWebhookConfiguration", "Service"], "HubResourceApplyFailed"],
  ])("when %j could not be written: %s", (kinds, reason) => {
    const given = report(...kinds.map(refused));
    expect(said("Applied", { given })).toMatchObject({ status: "False", reason });
    expect(said("Applied", { given })?.message).toContain("not allowed");
  });

  it("keeps what was told of objects while they cannot be written", () => {
    const seen = { report: report(refused("Role")), wishes: [wish], deployments: [], unsupported: [] };
    expect(statusAfter(manager, seen, GATES, NOW).relatedResources).toEqual(manager.status?.relatedResources);
  });

  it("does not call a definition that stays behind a failure", () => {
    const kept = { ...refused("CustomResourceDefinition"), action: "held back", reason: "Container" } as const;
    expect(said("Applied", { given: report(kept) })).toMatchObject({ status: "True" });
  });

  it.each([["controller"], ["webhook"]])("when Pods of the %s are missing, or its Deployment is", (program) => {
    const others = BOTH.filter(({ metadata }) => !metadata.name.endsWith(program));
    const deployments = [...others, registration({ ...WORKS, readyReplicas: 0, availableReplicas: 0 }, program)];
    expect(said("Progressing", { deployments })).toMatchObject({ status: "True" });
    expect(said("HubRegistrationDegraded", { deployments })).toMatchObject({
      status: "True",
      reason: "UnavailableRegistrationPod",
      message: expect.stringContaining(`cm-registration-${program}`),
    });
    expect(said("HubRegistrationDegraded", { deployments: others })).toMatchObject({
      status: "True",
      reason: "GetRegistrationDeploymentFailed",
      message: expect.stringContaining(`cm-registration-${program}`),
    });
  });

  it("when the spec asks for what is not to be had", () => {
    const unsupported = unsupportedIn({
      registrationConfiguration: { registrationDrivers: [{ authType: "csr" }, { authType: "grpc" }] },
      workConfiguration: { workDriver: "mqtt" },
    });
    expect(said("Applied", { unsupported })).toMatchObject({ status: "False", reason: "UnsupportedConfiguration" });
    expect(said("Applied", { unsupported })?.message).toContain("registration driver grpc");
    expect(said("Applied", { unsupported })?.message).toContain("work driver mqtt");
    expect(unsupportedIn(undefined)).toEqual([]);
  });
});
