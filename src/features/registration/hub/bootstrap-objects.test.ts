import { expect, it } from "vitest";
import { bootstrapObjects, hubCrds, spokeCrds } from "./bootstrap-objects.ts";

it("a hub is prepared with what clusteradm looks for, in an order in which it can be created", () => {
  expect(bootstrapObjects().map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.name])).toEqual([
    ["v1", "Namespace", "open-cluster-management"],
    ["v1", "ServiceAccount", "agent-registration-bootstrap"],
    ["rbac.authorization.k8s.io/v1", "ClusterRole", "open-cluster-management:bootstrap"],
    ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "open-cluster-management:bootstrap:agent-registration"],
  ]);
});

it("a bootstrap token may ask to join and nothing else", () => {
  const role = bootstrapObjects().find(({ kind }) => kind === "ClusterRole");
  expect(role).toMatchObject({
    rules: [
      { resources: ["configmaps"], verbs: ["get"] },
      { resources: ["certificatesigningrequests"], verbs: ["create", "get", "list", "watch"] },
      { resources: ["managedclusters"], verbs: ["get", "create", "list", "watch"] },
      { resources: ["managedclustersets/join"], verbs: ["create"] },
    ],
  });
});

it("hub and spoke learn their own kinds", () => {
  expect(hubCrds.map(({ spec }) => spec.names.kind)).toEqual([
    "ManagedCluster",
    "ManagedClusterSet",
    "ManagedClusterSetBinding",
    "ClusterProfile",
  ]);
  expect(spokeCrds.map(({ spec }) => spec.names.kind)).toEqual(["ClusterClaim", "ClusterProperty"]);
});
