import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { ManifestWork } from "#api/work";
import { comparedWorks } from "./works-plan.ts";

const map = (name: string, data: Record<string, string>): DynamicObject => {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data };
};
const work = (manifests: DynamicObject[], more: Partial<ManifestWork> = {}): ManifestWork => ({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  metadata: { name: "w", namespace: "c1" },
  ...more,
  spec: { ...more.spec, workload: { manifests } },
});

describe("a plan for a cluster that cannot be reached", () => {
  it("tells of each object what the works say becomes of it, field by field", () => {
    const before = work([map("same", { k: "v" }), map("changed", { k: "old" }), map("gone", {})]);
    const after = work([map("new", { k: "v" }), map("changed", { k: "new" }), map("same", { k: "v" })]);
    const shown = comparedWorks(before, after).map(({ action, name, changes }) => [
      action,
      name,
      changes.map(({ path, before, after }) => `${path}: ${before} → ${after}`),
    ]);
    expect(shown).toEqual([
      ["create", "new", [".data.k: undefined → v"]],
      ["change", "changed", [".data.k: old → new"]],
      ["leave", "same", []],
      ["delete", "gone", []],
    ]);
  });

  it("never shows what is in a Secret", () => {
    const secret = (value: string): DynamicObject => {
      const metadata = { name: "s", namespace: "default" };
      return { apiVersion: "v1", kind: "Secret", metadata, stringData: { password: value } };
    };
    const text = JSON.stringify(comparedWorks(work([secret("canary-one")]), work([secret("canary-two")])));
    expect(text).toContain("password");
    expect(text).not.toContain("canary");
  });

  it("knows an object by its group, kind, namespace and name, whatever its version", () => {
    const gadget = (version: string): DynamicObject => {
      return { apiVersion: `example.com/${version}`, kind: "Gadget", metadata: { name: "g" } };
    };
    const shown = comparedWorks(work([gadget("v1")]), work([gadget("v2")]));
    expect(shown.map(({ action }) => action)).toEqual(["change"]);
  });

  it("leaves what the work says stays when it goes: all of it, or what it names", () => {
    const manifests = [map("a", {}), map("b", {})];
    const actions = (before: ManifestWork) => comparedWorks(before, undefined).map(({ action }) => action);
    expect(actions(work(manifests))).toEqual(["delete", "delete"]);
    expect(actions(work(manifests, { spec: { deleteOption: { propagationPolicy: "Orphan" } } }))).toEqual([
      "leave",
      "leave",
    ]);
    const resourceMeta = (name: string, ordinal: number) => {
      return { ordinal, version: "v1", kind: "ConfigMap", resource: "configmaps", namespace: "default", name };
    };
    const orphaningRules = [{ resource: "configmaps", namespace: "default", name: "b" }];
    const selective = work(manifests, {
      spec: { deleteOption: { propagationPolicy: "SelectivelyOrphan", selectivelyOrphans: { orphaningRules } } },
      status: {
        resourceStatus: {
          manifests: ["a", "b"].map((name, at) => ({ resourceMeta: resourceMeta(name, at), conditions: [] })),
        },
      },
    });
    expect(actions(selective)).toEqual(["delete", "leave"]);
  });
});
