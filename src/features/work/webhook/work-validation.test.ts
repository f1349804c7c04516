import { describe, expect, it } from "vitest";
import type { AdmissionRequest } from "#api/admission";
import type { DynamicObject } from "#api/meta";
import { executorRights, MANIFEST_LIMIT, sizeOf, workFlaw } from "./work-validation.ts";

const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "ns" },
  ...more,
});
const work = (manifests: unknown, more: object = {}, metadata: object = {}): DynamicObject => ({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  metadata: { name: "w", namespace: "c1", ...metadata },
  spec: { workload: { manifests }, ...more },
});
const asked = (object: DynamicObject, oldObject: DynamicObject | null = null): AdmissionRequest =>
  ({
    operation: oldObject ? "UPDATE" : "CREATE",
    object,
    oldObject,
    namespace: "c1",
    userInfo: { username: "alice" },
  }) as unknown as AdmissionRequest;
const GOOD = work([configMap("good")]);

describe("the manifests of a work", () => {
  it.each([
    ["none", [], "manifests should not be empty"],
    ["no list", "x", "manifests should not be empty"],
    ["one without a name", [{ apiVersion: "v1", kind: "ConfigMap", metadata: {} }], "name must be set in manifest"],
    ["one that is nothing", [null], "name must be set in manifest"],
    [
      "one whose name is to be made up",
      [configMap("a", { metadata: { name: "a", generateName: "b-" } })],
      "generateName must not be set in manifest",
    ],
    [
      "the same twice",
      [configMap("a"), configMap("b"), configMap("a", { data: { x: "y" } })],
      "duplicate manifest for resource ns/a with resource type v1.ConfigMap",
    ],
  ])("are refused: %s, on creation and on change", (_, manifests, message) => {
    for (const request of [asked(work(manifests)), asked(work(manifests), GOOD)]) {
      expect(workFlaw(request, MANIFEST_LIMIT)).toMatchObject({
        code: 400,
        reason: "BadRequest",
        message: expect.stringContaining(message),
      });
    }
  });

  it("may have the same name in other namespaces, kinds and groups", () => {
    const others = [
      configMap("a"),
      configMap("a", { metadata: { name: "a", namespace: "other" } }),
      configMap("a", { kind: "Secret" }),
      configMap("a", { apiVersion: "example.com/v1" }),
    ];
    expect(workFlaw(asked(work(others)), MANIFEST_LIMIT)).toBeUndefined();
  });

  it("fit if they have exactly as much as they may, and the sentence says how much is too much", () => {
    const size = sizeOf(configMap("a")) + sizeOf(configMap("b"));
    const request = asked(work([configMap("a"), configMap("b")]));
    expect(workFlaw(request, size)).toBeUndefined();
    expect(workFlaw(request, size - 1)?.message).toContain(
      `the size of manifests is ${size} bytes which exceeds the ${size - 1} limit`,
    );
  });

  it.each([
    [{}, 2 + 2],
    [{ a: "x".repeat(118) }, 126 + 2],
    [{ a: "x".repeat(119) }, 127 + 2],
    [{ a: "x".repeat(120) }, 128 + 3],
    [{ a: "ä" }, 10 + 2],
    [{ a: "x".repeat(16_376) }, 16_384 + 4],
  ])("count in bytes as protobuf frames them", (manifest, size) => {
    expect(sizeOf(manifest)).toBe(size);
  });

  it("from before are not looked at again while they stay, and never on a work that goes", () => {
    const bad = work([]);
    expect(workFlaw(asked(work([], {}, { labels: { a: "b" } }), bad), MANIFEST_LIMIT)).toBeUndefined();
    const going = work([configMap("a"), configMap("a")], {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    expect(workFlaw(asked(going, GOOD), MANIFEST_LIMIT)).toBeUndefined();
  });
});

describe("the executor of a work", () => {
  const as = (namespace: string, name: string) => ({
    executor: { subject: { type: "ServiceAccount", serviceAccount: { namespace, name } } },
  });
  const needed = (request: AdmissionRequest, nil = false) => executorRights(request, nil);
  const right = (name: string) => ({
    group: "work.open-cluster-management.io",
    resource: "manifestworks",
    verb: "execute-as",
    namespace: "c1",
    name,
  });

  it("needs the right to act in its name, on creation and when it is another", () => {
    const [one] = needed(asked(work([configMap("a")], as("ns", "robot"))));
    expect(one?.right).toEqual(right("system:serviceaccount:ns:robot"));
    expect(one?.refusal).toMatchObject({
      code: 400,
      message: "user alice cannot manipulate the Manifestwork with executor ns/robot in namespace c1",
    });
    expect(needed(asked(work([], as("ns", "robot")), work([], as("ns", "other"))))).toHaveLength(1);
    expect(needed(asked(work([], as("ns", "robot")), GOOD))).toHaveLength(1);
  });

  it("needs it too when somebody else named it, for whatever the work shall do, and for nothing beside that", () => {
    const old = work([configMap("a")], as("ns", "robot"));
    for (const changed of [
      work([configMap("b")], as("ns", "robot")),
      work([configMap("a")], { ...as("ns", "robot"), deleteOption: { propagationPolicy: "Orphan" } }),
      work([configMap("a")], { ...as("ns", "robot"), manifestConfigs: [] }),
    ]) {
      expect(needed(asked(changed, old)).map((each) => each.right.name)).toEqual(["system:serviceaccount:ns:robot"]);
    }
    const finalizers = ["cluster.open-cluster-management.io/manifest-work-cleanup"];
    expect(needed(asked(work([configMap("a")], as("ns", "robot"), { finalizers }), old))).toEqual([]);
    const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(needed(asked(work([configMap("b")], as("ns", "robot"), going), old))).toEqual([]);
    expect(needed(asked(work([configMap("b")]), GOOD)), "nobody named, and the gate is closed").toEqual([]);
    expect(needed(asked(work([configMap("b")]), GOOD), true), "nobody named, with the gate").toHaveLength(1);
  });

  it("is the agent where nobody is named, which needs a right only with the gate", () => {
    expect(needed(asked(GOOD))).toEqual([]);
    const [agent] = needed(asked(GOOD), true);
    expect(agent?.right).toEqual(right("system:serviceaccount::klusterlet-work-sa"));
    expect(agent?.refusal.message).toContain("executor /klusterlet-work-sa in namespace c1");
    expect(needed(asked(GOOD, work([], as("ns", "robot"))), true), "taken away").toHaveLength(1);
    expect(needed(asked(GOOD, GOOD), true)).toEqual([]);
  });
});
