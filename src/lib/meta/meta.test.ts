import { expect, describe as group, it } from "vitest";
import type { KubeObject } from "#api/meta";
import {
  controllerOf,
  describe,
  hasFinalizer,
  isDeleting,
  isOwnedBy,
  ownerReference,
  withAnnotations,
  withFinalizer,
  withLabels,
  withOwner,
  withoutFinalizer,
} from "./index.ts";

function secret(metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "ns", uid: "u-1", ...metadata } };
}

group("describe", () => {
  it.each([
    [secret(), "Secret ns/s"],
    [{ kind: "ManagedCluster", metadata: { name: "cluster1" } }, "ManagedCluster cluster1"],
    [{ metadata: { name: "cluster1" } }, "object cluster1"],
    [{ kind: "Pod", metadata: { namespace: "ns", generateName: "web-" } }, "Pod ns/web-…"],
  ])("%#: %s", (object, text) => {
    expect(describe(object)).toBe(text);
  });
});

group("labels and annotations", () => {
  it("are added, changed and taken away in a copy", () => {
    const before = secret({ labels: { a: "1", b: "2" } });
    expect(withLabels(before, { b: "3", c: "4", a: undefined }).metadata.labels).toEqual({ b: "3", c: "4" });
    expect(before.metadata.labels).toEqual({ a: "1", b: "2" });
    expect(withAnnotations(before, { note: "x" }).metadata.annotations).toEqual({ note: "x" });
  });

  it("leave no empty map behind, because that would be a difference", () => {
    expect(withLabels(secret({ labels: { a: "1" } }), { a: undefined })).toEqual(secret());
  });

  it("give the same object back when nothing changes", () => {
    const before = secret({ labels: { a: "1" } });
    expect(withLabels(before, { a: "1", gone: undefined })).toBe(before);
  });
});

group("finalizers", () => {
  it("come and go", () => {
    const held = withFinalizer(withFinalizer(secret(), "a/x"), "a/y");
    expect(held.metadata.finalizers).toEqual(["a/x", "a/y"]);
    expect(withFinalizer(held, "a/x")).toBe(held);
    expect(hasFinalizer(withoutFinalizer(held, "a/x"), "a/x")).toBe(false);
    expect(withoutFinalizer(withoutFinalizer(held, "a/x"), "a/y")).toEqual(secret());
    expect(withoutFinalizer(held, "a/z")).toBe(held);
  });

  it("matter once the object is deleted", () => {
    expect(isDeleting(secret())).toBe(false);
    expect(isDeleting(secret({ deletionTimestamp: "2026-01-01T00:00:00Z" }))).toBe(true);
  });
});

group("owners", () => {
  it("are named by uid", () => {
    const owner = secret({ name: "owner", uid: "u-2" });
    const owned = withOwner(withOwner(secret(), ownerReference(owner)), ownerReference(owner));
    expect(owned.metadata.ownerReferences).toEqual([
      { apiVersion: "v1", kind: "Secret", name: "owner", uid: "u-2", controller: true, blockOwnerDeletion: true },
    ]);
    expect(controllerOf(owned)?.name).toBe("owner");
    expect(isOwnedBy(owned, owner)).toBe(true);
    expect(isOwnedBy(secret(), owner)).toBe(false);
    expect(controllerOf(withOwner(secret(), ownerReference(owner, { controller: false })))).toBeUndefined();
  });

  it("must exist first", () => {
    const { uid: _, ...metadata } = secret().metadata;
    expect(() => ownerReference({ ...secret(), metadata })).toThrow("Secret ns/s has no uid");
  });
});
