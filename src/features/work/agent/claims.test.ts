import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { ManifestWork, UpdateStrategy } from "#api/work";
import { type Claim, deciderOf, identityIn, objectsOf } from "./claims.ts";

const map = (value = "v", namespace: string | undefined = "default"): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", ...(namespace && { namespace }) },
  data: { value },
});
const work = (name: string, created: string, more: Partial<ManifestWork["metadata"]> = {}): ManifestWork => ({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  metadata: { name, namespace: "cluster1", creationTimestamp: created, ...more },
});
const claim = (of: ManifestWork, value: string, updateStrategy?: UpdateStrategy): Claim => ({
  work: of,
  object: map(value),
  updateStrategy,
});
const OLD = work("old", "2026-01-01T00:00:00Z");
const NEW = work("new", "2026-02-01T00:00:00Z");
const ssa = (fieldManager?: string, force = false): UpdateStrategy => ({
  type: "ServerSideApply",
  serverSideApply: { force, ...(fieldManager && { fieldManager }) },
});

describe("of two works that want an object", () => {
  it("the older one decides, whoever asks", () => {
    expect(deciderOf(claim(NEW, "2"), [claim(OLD, "1")])?.metadata.name).toBe("old");
    expect(deciderOf(claim(OLD, "1"), [claim(NEW, "2")])).toBeUndefined();
  });

  it("made in the same second the one whose name comes first decides, because somebody must", () => {
    const [a, b] = [work("a", "2026-01-01T00:00:00Z"), work("b", "2026-01-01T00:00:00Z")];
    expect(deciderOf(claim(b, "2"), [claim(a, "1")])?.metadata.name).toBe("a");
    expect(deciderOf(claim(a, "1"), [claim(b, "2")])).toBeUndefined();
  });

  it.each<[string, Claim, Claim]>([
    ["they want the same", claim(NEW, "1"), claim(OLD, "1")],
    ["the server keeps their fields apart", claim(NEW, "2", ssa("work-agent-b")), claim(OLD, "1", ssa("work-agent-a"))],
    ["the younger one takes fields by force", claim(NEW, "2", ssa("work-agent-b", true)), claim(OLD, "1", ssa())],
    ["only the older one would use force", claim(NEW, "2", ssa()), claim(OLD, "1", ssa("work-agent-a", true))],
    [
      "both would use force, and have nothing to use it for",
      { ...claim(NEW, "1", ssa("work-agent-b", true)), object: { ...map("1"), data: { another: "2" } } },
      claim(OLD, "1", ssa("work-agent-a", true)),
    ],
    ["the older one only reads", claim(NEW, "2"), claim(OLD, "1", { type: "ReadOnly" })],
    ["the older one only creates", claim(NEW, "2"), claim(OLD, "1", { type: "CreateOnly" })],
    ["the younger one only creates", claim(NEW, "2", { type: "CreateOnly" }), claim(OLD, "1")],
    [
      "the older one is being deleted",
      claim(NEW, "2"),
      claim({ ...OLD, metadata: { ...OLD.metadata, deletionTimestamp: "2026-03-01T00:00:00Z" } }, "1"),
    ],
    [
      "the older one is finished",
      claim(NEW, "2"),
      claim(
        {
          ...OLD,
          status: {
            conditions: [{ type: "Complete", status: "True", reason: "X", message: "", lastTransitionTime: "" }],
          },
        },
        "1",
      ),
    ],
  ])("there is nothing to decide where %s", (_, own, other) => {
    expect(deciderOf(own, [other])).toBeUndefined();
  });

  it.each<[string, UpdateStrategy, UpdateStrategy]>([
    ["under one manager each would take away the other's fields", ssa(), ssa()],
    ["each would take the other's fields by force", ssa("work-agent-b", true), ssa("work-agent-a", true)],
    ["one of them replaces the whole", ssa("work-agent-b"), { type: "Update" }],
  ])("it is decided where %s", (_, mine, theirs) => {
    expect(deciderOf(claim(NEW, "2", mine), [claim(OLD, "1", theirs)])?.metadata.name).toBe("old");
  });
});

describe("which object a manifest means", () => {
  it("does not depend on its version, or on whether the default namespace is written", () => {
    expect(identityIn(map("v", "default"))).toBe(identityIn(map("v", "")));
    expect(identityIn({ ...map(), apiVersion: "v2" })).toBe(identityIn(map()));
    expect(identityIn(map("v", "other"))).not.toBe(identityIn(map()));
  });

  it("is nothing for what is no object", () => {
    const odd = [null, {}, { apiVersion: "v1" }, { apiVersion: "v1", kind: "X", metadata: {} }];
    const manifests = odd as unknown as DynamicObject[];
    expect(objectsOf({ ...OLD, spec: { workload: { manifests } } })).toEqual([]);
  });
});
