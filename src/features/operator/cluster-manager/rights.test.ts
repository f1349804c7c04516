import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { PolicyRule } from "#api/rbac";
import { clusterManagerInstallation } from "./installation.ts";
import { operatorRights } from "./rights.ts";
import { wishesOf } from "./wishes.ts";

describe("rights", () => {
  it("of the operator are at least all that it grants, because a server lets nobody grant more than they have", () => {
    const wishes = wishesOf(
      { apiVersion: "v1", kind: "ClusterManager", metadata: { name: "cm" } },
      {
        gates: { ClusterProfile: true },
        workGates: {},
        reached: undefined,
        arguments: { registration: [], knative: [], controllers: ["*"] },
        image: "capstan:1",
        replicas: 1,
        version: "1",
        newer: new Set(),
        pullSecret: undefined,
        syncLabels: false,
      },
    );
    const granted = wishes.filter(({ kind }) => kind === "ClusterRole" || kind === "Role").flatMap(rulesOf);
    expect(granted.length).toBeGreaterThan(30);
    const held = operatorRights();
    expect(granted.filter((rule) => !isCovered(rule, held))).toEqual([]);
  });

  it("of the operator are not all that there are", () => {
    const held = operatorRights();
    const wild = held.filter(({ verbs, resources, apiGroups }) =>
      [...verbs, ...(resources ?? []), ...(apiGroups ?? [])].includes("*"),
    );
    expect(wild).toEqual([{ apiGroups: ["*"], resources: ["*"], verbs: ["list"] }]);
    const deletable = held.filter(
      ({ resources, verbs, resourceNames }) =>
        resources?.includes("customresourcedefinitions") && verbs.includes("delete") && !resourceNames,
    );
    expect(deletable).toEqual([]);
  });

  it("are installed with the operator, in an order in which each finds what it stands on", () => {
    const kinds = clusterManagerInstallation({ image: "capstan:1" }).map(({ kind }) => kind);
    expect(kinds).toEqual(["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment"]);
  });
});

function rulesOf(role: DynamicObject): PolicyRule[] {
  return role.rules as PolicyRule[];
}

function isCovered(rule: PolicyRule, held: readonly PolicyRule[]): boolean {
  const { apiGroups = [], resources = [], resourceNames = [undefined], verbs } = rule;
  return apiGroups.every((group) =>
    resources.every((resource) =>
      verbs.every((verb) =>
        resourceNames.every((name) =>
          held.some(
            (each) =>
              each.apiGroups?.includes(group) &&
              each.resources?.includes(resource) &&
              each.verbs.includes(verb) &&
              (!each.resourceNames || (name !== undefined && each.resourceNames.includes(name))),
          ),
        ),
      ),
    ),
  );
}
