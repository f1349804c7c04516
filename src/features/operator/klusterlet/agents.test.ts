import { describe, expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import type { KlusterletSpec } from "#api/operator";
import type { Role } from "#api/rbac";
import { type AgentsOptions, agentDeployments, managementObjects } from "./agents.ts";
import { isRefused, type KlusterletWish, wishOf } from "./wish.ts";

const OPTIONS: AgentsOptions = { image: "capstan:1", replicas: 1, hasIdentity: true, labels: { who: "k" } };

function wished(spec: KlusterletSpec = {}, annotations: Record<string, string> = {}): KlusterletWish {
  const wish = wishOf({ apiVersion: "", kind: "", metadata: { name: "k", uid: "u-1", annotations }, spec });
  if (isRefused(wish)) throw new Error(wish.refusal);
  return wish;
}

function deployed(spec: KlusterletSpec, options: Partial<AgentsOptions> = {}): Deployment[] {
  return agentDeployments(wished(spec), { ...OPTIONS, ...options }) as unknown as Deployment[];
}

function argsOf(deployment: Deployment | undefined): string[] {
  return deployment?.spec.template.spec.containers[0]?.args ?? [];
}

describe("two programs", () => {
  it("are told who they are and where to find the hub, and no more than was said", () => {
    const [registration, work] = deployed({ clusterName: "c1" });
    expect(argsOf(registration)).toEqual([
      "agent",
      "registration",
      "--cluster-name=c1",
      "--namespace=open-cluster-management-agent",
      "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
      "--metrics-address=:8000",
    ]);
    expect(argsOf(work)).toEqual([
      "agent",
      "work",
      "--cluster-name=c1",
      "--namespace=open-cluster-management-agent",
      "--hub-kubeconfig=/spoke/hub-kubeconfig/kubeconfig",
      "--agent-id=u-1",
      "--metrics-address=:8000",
    ]);
  });

  it("are not told a cluster name that nobody gave, because the agent finds one", () => {
    const all = deployed({}).flatMap(argsOf);
    expect(all.filter((word) => word.startsWith("--cluster-name"))).toEqual([]);
  });

  it("carry the labels of the Klusterlet on their Pods, by which their end is seen", () => {
    for (const { spec } of deployed({})) expect(spec.template.metadata?.labels).toMatchObject({ who: "k" });
  });

  it("elect who works where there are several", () => {
    for (const deployment of deployed({}, { replicas: 3 })) expect(argsOf(deployment)).toContain("--leader-elect");
    for (const deployment of deployed({})) expect(argsOf(deployment)).not.toContain("--leader-elect");
  });

  it("are told of the gates that are theirs, and as one program of all", () => {
    const gates = {
      registrationConfiguration: { featureGates: [{ feature: "ClusterClaim", mode: "Disable" as const }] },
      workConfiguration: { featureGates: [{ feature: "RawFeedbackJsonString", mode: "Enable" as const }] },
    };
    const said = (spec: KlusterletSpec) =>
      deployed(spec).map((each) => argsOf(each).filter((word) => word.startsWith("--feature-gates")));
    expect(said(gates)).toEqual([
      ["--feature-gates=ClusterClaim=false"],
      ["--feature-gates=RawFeedbackJsonString=true"],
    ]);
    expect(said({ ...gates, deployOption: { mode: "Singleton" } })).toEqual([
      ["--feature-gates=ClusterClaim=false,RawFeedbackJsonString=true"],
    ]);
  });

  it("are one without an identity: the work agent has nothing to do then", () => {
    const [registration, work] = deployed({}, { hasIdentity: false, replicas: 3 });
    expect([registration?.spec.replicas, work?.spec.replicas]).toEqual([3, 0]);
  });
});

it("reads the cluster from a Secret in hosted mode, each agent from its own", () => {
  const [registration, work] = deployed({ deployOption: { mode: "Hosted" }, namespace: "open-cluster-management-m" });
  const secretsOf = (deployment: Deployment | undefined) =>
    deployment?.spec.template.spec.volumes?.map(({ secret }) => (secret as { secretName: string }).secretName);
  expect(secretsOf(registration)).toEqual(["bootstrap-hub-kubeconfig", "external-managed-kubeconfig-registration"]);
  expect(secretsOf(work)).toEqual(["hub-kubeconfig-secret", "external-managed-kubeconfig-work"]);
  expect(argsOf(registration)).toEqual(
    expect.arrayContaining(["--hosted", "--namespace=k", "--spoke-namespace=open-cluster-management-m"]),
  );
  expect(registration?.metadata.namespace).toBe("k");
});

it("lets the registration agent read and write its identity, and no other Secret", () => {
  const role = managementObjects(wished()).find(
    ({ kind, metadata }) => kind === "Role" && metadata.name.includes("registration"),
  ) as unknown as Role;
  const reading = role.rules?.filter(({ resources, verbs }) => resources?.includes("secrets") && verbs.includes("get"));
  expect(reading).toEqual([
    {
      apiGroups: [""],
      resources: ["secrets"],
      resourceNames: ["hub-kubeconfig-secret"],
      verbs: ["get", "list", "watch", "update", "patch"],
    },
  ]);
});
