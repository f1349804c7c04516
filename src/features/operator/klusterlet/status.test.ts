import { describe, expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import type { Klusterlet, KlusterletSpec } from "#api/operator";
import type { ObjectReport } from "#kube";
import { agentClaims, appliedClaim, hasIdentity } from "./status.ts";
import { isRefused, type KlusterletWish, wishOf } from "./wish.ts";

function wished(spec: KlusterletSpec = {}): KlusterletWish {
  const wish = wishOf({ apiVersion: "", kind: "", metadata: { name: "k", uid: "u" }, spec });
  if (isRefused(wish)) throw new Error(wish.refusal);
  return wish;
}

function deployment(name: string, replicas: number, available: number, observedGeneration = 1): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "open-cluster-management-agent", generation: 1 },
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
    status: { availableReplicas: available, observedGeneration },
  };
}

const registration = (replicas: number, available: number) => deployment("k-registration-agent", replicas, available);
const work = (replicas: number, available: number, observed?: number) =>
  deployment("k-work-agent", replicas, available, observed);

describe("what the Deployments say", () => {
  const said = (deployments: Deployment[], spec?: KlusterletSpec) =>
    Object.fromEntries(
      agentClaims(wished(spec), deployments).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
    );

  it.each([
    [
      "all is well",
      [registration(1, 1), work(1, 1)],
      ["True KlusterletAvailable", "False DeploymentsFunctional", "False DeploymentsFunctional"],
    ],
    [
      "a work agent without Pods is as wished, and yet nobody works",
      [registration(1, 1), work(0, 0)],
      ["False NoAvailablePods", "False DeploymentsFunctional", "False DeploymentsFunctional"],
    ],
    [
      "some of several is available, and degraded",
      [registration(3, 1), work(1, 1)],
      ["True KlusterletAvailable", "True UnavailablePods", "False DeploymentsFunctional"],
    ],
    [
      "one is missing",
      [registration(1, 1)],
      ["False GetDeploymentFailed", "False DeploymentsFunctional", "True GetDeploymentFailed"],
    ],
    [
      "a Deployment that was just changed is not known to work",
      [registration(1, 1), work(1, 1, 0)],
      ["True KlusterletAvailable", "False DeploymentsFunctional", "True UnavailablePods"],
    ],
  ])("%s", (_, deployments, [available, registrationDegraded, workDegraded]) => {
    expect(said(deployments)).toEqual({
      Available: available,
      RegistrationDesiredDegraded: registrationDegraded,
      WorkDesiredDegraded: workDegraded,
    });
  });

  it("is one for both in a singleton", () => {
    expect(said([deployment("k-agent", 1, 1)], { deployOption: { mode: "Singleton" } })).toEqual({
      Available: "True KlusterletAvailable",
      RegistrationDesiredDegraded: "False DeploymentsFunctional",
      WorkDesiredDegraded: "False DeploymentsFunctional",
    });
  });
});

describe("an identity", () => {
  const klusterlet = (status?: "True" | "False", reason = ""): Klusterlet => ({
    apiVersion: "",
    kind: "",
    metadata: { name: "k" },
    ...(status && {
      status: {
        conditions: [{ type: "HubConnectionDegraded", status, reason, message: "", lastTransitionTime: "" }],
      },
    }),
  });

  it.each([
    [false, "nobody has looked yet", klusterlet()],
    [false, "there is no Secret", klusterlet("True", "BootstrapSecretFunctional,HubKubeConfigSecretMissing")],
    [false, "the Secret only keeps a name", klusterlet("True", "BootstrapSecretFunctional,HubKubeConfigMissing")],
    [true, "the hub lets it do nothing now", klusterlet("True", "BootstrapSecretFunctional,HubKubeConfigUnauthorized")],
    [true, "all is well", klusterlet("False", "HubConnectionFunctional")],
  ])("is there: %s, when %s", (expected, _, object) => {
    expect(hasIdentity(object)).toBe(expected);
  });
});

describe("what became of the objects", () => {
  const failed = (kind: string): ObjectReport => ({
    id: { group: "", version: "v1", kind, name: "x" },
    action: "refused",
    reason: "Forbidden",
    message: "no",
    changes: [],
    moreChanges: 0,
    conflicts: [],
    checked: true,
  });
  const placed = (on: "managed" | "management", ...objects: ObjectReport[]) => ({
    on,
    report: { objects, complete: objects.length === 0 },
  });

  it.each([
    ["True", "KlusterletApplied", [placed("managed"), placed("management")]],
    ["False", "CRDApplyFailed", [placed("managed", failed("CustomResourceDefinition"))]],
    ["False", "ManagedClusterResourceApplyFailed", [placed("managed", failed("ClusterRole"))]],
    ["False", "ManagementClusterResourceApplyFailed", [placed("managed"), placed("management", failed("Deployment"))]],
  ])("is Applied %s %s", (status, reason, all) => {
    expect(appliedClaim(all, () => false)).toMatchObject({ status, reason });
  });

  it("names the managed cluster where both are one", () => {
    const claim = appliedClaim([placed("management", failed("ClusterRole"))], ({ id }) => id.kind === "ClusterRole");
    expect(claim.reason).toBe("ManagedClusterResourceApplyFailed");
  });
});
