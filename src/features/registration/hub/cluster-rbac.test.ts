import { describe, expect, it } from "vitest";
import { clusterRole, clusterRoleBinding, commonRoles, roleBindings } from "./cluster-rbac.ts";

describe("the rights of a cluster's agent", () => {
  it("let an accepted agent write its own ManagedCluster and no other", () => {
    expect(clusterRole("c1", true).rules).toEqual([
      {
        apiGroups: ["certificates.k8s.io"],
        resources: ["certificatesigningrequests"],
        verbs: ["create", "get", "list", "watch"],
      },
      {
        apiGroups: ["register.open-cluster-management.io"],
        resources: ["managedclusters/clientcertificates"],
        verbs: ["renew"],
      },
      {
        apiGroups: ["cluster.open-cluster-management.io"],
        resources: ["managedclusters"],
        resourceNames: ["c1"],
        verbs: ["get", "list", "update", "watch"],
      },
      {
        apiGroups: ["cluster.open-cluster-management.io"],
        resources: ["managedclusters/status"],
        resourceNames: ["c1"],
        verbs: ["patch", "update"],
      },
    ]);
  });

  it("let an agent that is not accepted look, so that it learns when it is", () => {
    expect(clusterRole("c1", false).rules).toEqual([
      {
        apiGroups: ["cluster.open-cluster-management.io"],
        resources: ["managedclusters"],
        resourceNames: ["c1"],
        verbs: ["get", "list", "watch"],
      },
    ]);
  });

  it("belong to the two groups of the cluster", () => {
    const subjects = [
      { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "system:open-cluster-management:c1" },
      { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "open-cluster-management:c1" },
    ];
    for (const binding of [clusterRoleBinding("c1"), ...roleBindings("c1")]) {
      expect(binding.subjects).toEqual(subjects);
      expect(binding.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "c1" });
    }
  });

  it("lead from the cluster's namespace to the common roles", () => {
    expect(
      roleBindings("c1").map(({ metadata, roleRef }) => [metadata.namespace, metadata.name, roleRef.name]),
    ).toEqual([
      [
        "c1",
        "open-cluster-management:managedcluster:c1:registration",
        "open-cluster-management:managedcluster:registration",
      ],
      ["c1", "open-cluster-management:managedcluster:c1:work", "open-cluster-management:managedcluster:work"],
    ]);
  });

  it("carry an empty cluster label where they are common, because every registration cache selects by that label", () => {
    for (const role of commonRoles()) {
      expect(role.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "" });
    }
  });
});
