import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { ClusterManager } from "#api/operator";
import { type WishOptions, wishesOf } from "./wishes.ts";

const OPTIONS: WishOptions = {
  gates: { ClusterProfile: true },
  arguments: { registration: [], knative: [], controllers: ["*"] },
  image: "capstan:1",
  replicas: 1,
  version: "1.3.1+capstan.1",
  newer: new Set(),
  pullSecret: undefined,
  syncLabels: false,
};
const LABELS = { app: "x", team: "a", "open-cluster-management.io/y": "z" };

function wishes(options: Partial<WishOptions> = {}, spec: ClusterManager["spec"] = {}): DynamicObject[] {
  const metadata = { name: "cm", labels: LABELS };
  return wishesOf({ apiVersion: "v1", kind: "ClusterManager", metadata, spec }, { ...OPTIONS, ...options });
}
const named = (objects: readonly DynamicObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

describe("what a ClusterManager has on its hub", () => {
  it("is all in upstream's names", () => {
    const all = named(wishes());
    expect(all.filter((name) => !name.startsWith("CustomResourceDefinition"))).toEqual([
      "Namespace open-cluster-management-hub",
      "ServiceAccount registration-controller-sa",
      "ClusterRole open-cluster-management:cm-registration:controller",
      "ClusterRoleBinding open-cluster-management:cm-registration:controller",
      "Deployment cm-registration-controller",
      "ServiceAccount knative-controller-sa",
      "ClusterRole open-cluster-management:cm-knative:controller",
      "ClusterRoleBinding open-cluster-management:cm-knative:controller",
      "ConfigMap clusterprofile-provider-file",
      "Deployment cm-knative-controller",
      "Role open-cluster-management:leader-election",
      "RoleBinding open-cluster-management:leader-election",
    ]);
    expect(all.filter((name) => name.startsWith("CustomResourceDefinition"))).toHaveLength(7);
  });

  it("carries its labels on definitions, and on all else only if that was asked for", () => {
    const labelled = (objects: readonly DynamicObject[]) =>
      objects.filter(({ metadata }) => metadata.labels?.team === "a").map(({ kind }) => kind);
    expect(new Set(labelled(wishes()))).toEqual(new Set(["CustomResourceDefinition"]));
    const synced = wishes({ syncLabels: true });
    expect(labelled(synced)).toHaveLength(synced.length);
    for (const { metadata } of synced) expect(metadata.labels).not.toHaveProperty("open-cluster-management.io/y");
    const program = synced.find(({ kind }) => kind === "Deployment");
    expect(program?.spec).toMatchObject({ template: { metadata: { labels: { team: "a" } } } });
  });

  it("has no definition that a newer operator wrote", () => {
    const name = "managedclusters.cluster.open-cluster-management.io";
    expect(named(wishes())).toContain(`CustomResourceDefinition ${name}`);
    expect(named(wishes({ newer: new Set([name]) }))).not.toContain(`CustomResourceDefinition ${name}`);
  });

  it("has nothing of Knative's rights where the Knative controller has nothing to do", () => {
    const controllers = ["*", "-knative-serving", "-knative-eventing", "-knative-leftovers"];
    const without = named(wishes({ arguments: { registration: [], knative: [], controllers } }));
    expect(without.filter((name) => /knative-controller|cm-knative|provider-file/.test(name))).toEqual([]);
    expect(without).toContain("Deployment cm-registration-controller");
  });

  it("does not let anybody in without a person while the gate is closed", () => {
    const spec = { registrationConfiguration: { autoApproveUsers: ["alice"] } };
    const args = (gate: boolean) =>
      JSON.stringify(wishes({ gates: { ManagedClusterAutoApproval: gate } }, spec).map((each) => each.spec));
    expect(args(false)).not.toContain("alice");
    expect(args(true)).toContain("--cluster-auto-approval-users=alice");
  });
});
