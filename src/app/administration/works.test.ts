import { describe, expect, it } from "vitest";
import type { ManagedCluster } from "#api/cluster";
import type { Condition, DynamicObject } from "#api/meta";
import type { ManifestWork } from "#api/work";
import { plannedObjects } from "./works.ts";
import { explanationOf } from "./works-explanation.ts";

const map = (name: string, data: Record<string, string>): DynamicObject => {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
};

describe("a plan", () => {
  it("tells of each object what becomes of it, field by field", () => {
    const before = [map("same", { k: "v" }), map("changed", { k: "old" }), map("gone", {})];
    const after = [map("new", { k: "v" }), map("changed", { k: "new" }), map("same", { k: "v" })];
    const shown = plannedObjects(before, after).map(({ action, name, difference }) => [
      action,
      name,
      difference.changes.map(({ path, before, after }) => `${path}: ${before} → ${after}`),
    ]);
    expect(shown).toEqual([
      ["create", "new", [".data.k: undefined → v"]],
      ["update", "changed", [".data.k: old → new"]],
      ["keep", "same", []],
      ["remove", "gone", []],
    ]);
  });

  it("never shows what is in a Secret", () => {
    const secret = (value: string): DynamicObject => {
      const metadata = { name: "s", namespace: "default" };
      return { apiVersion: "v1", kind: "Secret", metadata, stringData: { password: value } };
    };
    const text = JSON.stringify(plannedObjects([secret("canary-one")], [secret("canary-two")]));
    expect(text).toContain("password");
    expect(text).not.toContain("canary");
  });

  it("knows an object by its group, kind, namespace and name, whatever its version", () => {
    const crd = (version: string): DynamicObject => {
      return { apiVersion: `example.com/${version}`, kind: "Gadget", metadata: { name: "g" } };
    };
    expect(plannedObjects([crd("v1")], [crd("v2")]).map(({ action }) => action)).toEqual(["update"]);
  });
});

describe("why a work is as it is", () => {
  const at = "2026-01-01T00:00:00Z";
  const condition = (type: string, status: Condition["status"], message = ""): Condition => {
    return { type, status, message, reason: "R", lastTransitionTime: at, observedGeneration: 2 };
  };
  const cluster = (...conditions: Condition[]): ManagedCluster => ({
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "c1" },
    spec: { hubAcceptsClient: true },
    status: { conditions },
  });
  const available = cluster(
    condition("ManagedClusterJoined", "True"),
    condition("ManagedClusterConditionAvailable", "True"),
  );
  const work = (parts: Partial<ManifestWork["metadata"]>, status?: ManifestWork["status"]): ManifestWork => ({
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: {
      name: "w",
      namespace: "c1",
      generation: 2,
      finalizers: ["cluster.open-cluster-management.io/manifest-work-cleanup"],
      ...parts,
    },
    ...(status && { status }),
  });
  const manifest = (name: string, ...conditions: Condition[]) => ({
    resourceMeta: { ordinal: 0, kind: "ConfigMap", namespace: "default", name },
    conditions,
  });

  it.each<[why: string, cluster: ManagedCluster | undefined, work: ManifestWork, verdict: RegExp, next?: RegExp]>([
    ["its cluster is not there", undefined, work({}), /there is no ManagedCluster c1/, /capstan join/],
    [
      "its cluster is not accepted",
      { ...available, spec: { hubAcceptsClient: false } },
      work({}),
      /c1 is not accepted/,
      /capstan accept --clusters c1/,
    ],
    ["its cluster has not joined", cluster(), work({}), /has not joined yet/, /capstan doctor --context c1/],
    [
      "its cluster is lost",
      cluster(condition("ManagedClusterJoined", "True"), condition("ManagedClusterConditionAvailable", "Unknown")),
      work({}),
      /c1 has not been heard of since 2026-01-01/,
      /goes on by itself when it is back/,
    ],
    ["its agent has not seen it", available, work({ finalizers: [] }), /has not taken it up yet/, /capstan doctor/],
    [
      "it was changed a moment ago",
      available,
      work({ generation: 3 }, { conditions: [condition("Applied", "True")] }),
      /yet to report on that/,
    ],
    [
      "it is being deleted, and something holds it",
      available,
      work(
        { deletionTimestamp: at },
        { conditions: [condition("Deleting", "True", "configmaps default/a must go first")] },
      ),
      /configmaps default\/a must go first/,
    ],
    [
      "it is being deleted, and its cluster is lost",
      cluster(condition("ManagedClusterJoined", "True"), condition("ManagedClusterConditionAvailable", "Unknown")),
      work({ deletionTimestamp: at }),
      /being deleted, and waits for its cluster: c1 has not been heard of/,
    ],
  ])("%s", (_, managed, given, verdict, next) => {
    const explanation = explanationOf(given, managed);
    expect(explanation.isInPlace).toBe(false);
    expect(explanation.verdict).toMatch(verdict);
    if (next) expect(explanation.next).toMatch(next);
  });

  it("names each manifest that is not in place, in the words of the agent", () => {
    const explanation = explanationOf(
      work(
        {},
        {
          conditions: [condition("Applied", "False", "Failed to apply manifest work")],
          resourceStatus: {
            manifests: [
              manifest("good", condition("Applied", "True"), condition("Available", "True")),
              manifest("bad", condition("Applied", "False", "Failed to apply manifest: namespaces default not found")),
              manifest(
                "gone",
                condition("Applied", "True"),
                condition("Available", "False", "Resource is not available"),
              ),
            ],
          },
        },
      ),
      available,
    );
    expect(explanation.verdict).toBe("2 of its 3 manifests are not in place");
    expect(explanation.manifests.map(({ object, says }) => `${object}: ${says}`)).toEqual([
      "ConfigMap default/good: in place",
      "ConfigMap default/bad: namespaces default not found",
      "ConfigMap default/gone: not there: Resource is not available",
    ]);
  });
});
