import { describe, expect, it } from "vitest";
import type { Klusterlet } from "#api/operator";
import { agentNamespaceOf, isRefused, wishOf } from "./wish.ts";

function klusterlet(spec: unknown, annotations: Record<string, string> = {}): Klusterlet {
  return {
    apiVersion: "operator.open-cluster-management.io/v1",
    kind: "Klusterlet",
    metadata: { name: "k", uid: "u", annotations },
    spec: spec as NonNullable<Klusterlet["spec"]>,
  };
}

describe("where the agents are", () => {
  it.each([
    [{}, "open-cluster-management-agent", "open-cluster-management-agent"],
    [{ deployOption: { mode: "" } }, "open-cluster-management-agent", "open-cluster-management-agent"],
    [{ namespace: "open-cluster-management-x" }, "open-cluster-management-x", "open-cluster-management-x"],
    [{ deployOption: { mode: "Hosted" } }, "open-cluster-management-agent", "k"],
    [
      { namespace: "open-cluster-management-x", deployOption: { mode: "Singleton" } },
      "open-cluster-management-x",
      "open-cluster-management-x",
    ],
  ])("%j: %s on the managed cluster, %s where they run", (spec, namespace, agentNamespace) => {
    expect(wishOf(klusterlet(spec))).toMatchObject({ namespace, agentNamespace });
    expect(agentNamespaceOf(klusterlet(spec))).toBe(agentNamespace);
  });
});

it.each([
  [{ deployOption: { mode: "SingletonHosted" } }, "SingletonHosted"],
  [{ deployOption: { mode: "Elsewhere" } }, "choose Default, Singleton, Hosted"],
  [{ registrationConfiguration: { registrationDriver: { authType: "grpc" } } }, "choose csr"],
  [{ registrationConfiguration: { bootstrapKubeConfigs: { type: "LocalSecrets" } } }, "choose None"],
  [{ registrationConfiguration: { clientCertExpirationSeconds: 600 } }, "at least 3600"],
])("refuses %j, because it could not be kept: %s", (spec, part) => {
  const wish = wishOf(klusterlet(spec));
  expect(isRefused(wish) && wish.refusal).toContain(part);
});

it("takes the access to grant from the annotation, and none from an empty one", () => {
  expect(wishOf(klusterlet({}, { "access.capstan.dev/cluster-role": "view" }))).toMatchObject({ grantAccess: "view" });
  expect(wishOf(klusterlet({}, { "access.capstan.dev/cluster-role": "" }))).toMatchObject({ grantAccess: undefined });
});

it("has ClusterProperty on unless it is turned off, and tells of gates that there are not", () => {
  const featureGates = [{ feature: "ClusterProperty" }, { feature: "Nonsense", mode: "Enable" }];
  const wish = wishOf(klusterlet({ registrationConfiguration: { featureGates } }));
  expect(wishOf(klusterlet({}))).toMatchObject({ gates: { registration: { gates: { ClusterProperty: true } } } });
  expect(wish).toMatchObject({ gates: { registration: { gates: { ClusterProperty: false }, unknown: ["Nonsense"] } } });
});
