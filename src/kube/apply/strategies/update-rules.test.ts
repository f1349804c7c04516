import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { updateRuleOf } from "./update-rules.ts";

function object(
  apiVersion: string,
  kind: string,
  content: object,
  annotations?: Record<string, string>,
): DynamicObject {
  return { apiVersion, kind, metadata: { name: "x", ...(annotations && { annotations }) }, ...content };
}

/** What becomes of the live object, without its metadata. */
function next(apiVersion: string, kind: string, live: object, manifest: object): object {
  const before = object(apiVersion, kind, live);
  const {
    metadata: _,
    apiVersion: __,
    kind: ___,
    ...content
  } = updateRuleOf(before).next(before, object(apiVersion, kind, manifest));
  return content;
}

describe("Update", () => {
  it.each<[string, string, object, object, object, string]>([
    [
      "apps/v1",
      "Deployment",
      { spec: { a: 1, b: 2 }, status: { s: 1 } },
      { spec: { a: 3 } },
      { spec: { a: 3 }, status: { s: 1 } },
      "what others added goes, the status stays",
    ],
    [
      "example.com/v1",
      "Widget",
      { spec: 1, extra: 2 },
      { spec: 1 },
      { spec: 1 },
      "fields beside the specification too",
    ],
    [
      "v1",
      "ConfigMap",
      { data: { a: "1" }, binaryData: { b: "2" }, immutable: false },
      { data: { c: "3" } },
      { data: { c: "3" }, immutable: false },
      "data is replaced exactly",
    ],
    [
      "v1",
      "Namespace",
      { spec: { finalizers: ["kubernetes"] } },
      { spec: { finalizers: [] } },
      { spec: { finalizers: ["kubernetes"] } },
      "only metadata is ours",
    ],
    [
      "v1",
      "ServiceAccount",
      { secrets: [{ name: "s" }] },
      {},
      { secrets: [{ name: "s" }] },
      "tokens are given by controllers",
    ],
    [
      "v1",
      "Secret",
      { type: "Opaque", data: { a: "1" } },
      { data: { b: "2" } },
      { type: "Opaque", data: { b: "2" } },
      "data is replaced, and the type has a default",
    ],
    [
      "v1",
      "Secret",
      { type: "kubernetes.io/service-account-token", data: { token: "t" } },
      { type: "kubernetes.io/service-account-token", data: { extra: "e" } },
      { type: "kubernetes.io/service-account-token", data: { token: "t", extra: "e" } },
      "a token is filled in by a controller",
    ],
    [
      "rbac.authorization.k8s.io/v1",
      "ClusterRole",
      { rules: [1] },
      { aggregationRule: { a: 1 }, rules: [] },
      { rules: [1], aggregationRule: { a: 1 } },
      "the rules of an aggregated role are a controller's",
    ],
    [
      "rbac.authorization.k8s.io/v1",
      "ClusterRole",
      { rules: [1], aggregationRule: { a: 1 } },
      { rules: [2] },
      { rules: [2] },
      "a role that is no longer aggregated has its own",
    ],
  ])("%s %s: %o and %o give %o, because %s", (apiVersion, kind, live, manifest, expected) => {
    expect(next(apiVersion, kind, live, manifest)).toEqual(expected);
  });

  it("keeps the authorities that somebody injected into a webhook", () => {
    const hook = (name: string, clientConfig: object) => ({ name, clientConfig });
    const live = { webhooks: [hook("a", { caBundle: "injected" }), hook("b", { caBundle: "injected" })] };
    const manifest = { webhooks: [hook("b", { url: "u", caBundle: "own" }), hook("a", { url: "u" }), hook("c", {})] };
    expect(next("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", live, manifest)).toEqual({
      webhooks: [
        hook("b", { url: "u", caBundle: "own" }),
        hook("a", { url: "u", caBundle: "injected" }),
        hook("c", {}),
      ],
    });
  });

  it("writes a Service when its specification, selector or type changes, and keeps its address", () => {
    const manifest = object("v1", "Service", { spec: { selector: { a: "b" }, ports: [{ port: 80 }] } });
    const rule = updateRuleOf(manifest);
    const created = rule.draft?.(manifest) ?? manifest;
    const live = {
      ...created,
      spec: { clusterIP: "10.0.0.1", type: "ClusterIP", selector: { a: "b" }, ports: [{ port: 80, protocol: "TCP" }] },
    };
    expect(rule.next(live, manifest)).toBe(live);

    const other = object("v1", "Service", { spec: { selector: { a: "b" }, ports: [{ port: 81 }] } });
    expect(rule.next(live, other).spec).toEqual({ clusterIP: "10.0.0.1", selector: { a: "b" }, ports: [{ port: 81 }] });
    const redirected = { ...live, spec: { ...live.spec, selector: { a: "c" } } };
    expect(rule.next(redirected, manifest).spec).toMatchObject({ selector: { a: "b" } });
  });

  it.each([
    ["the type of a Secret", "v1", "Secret", { type: "Opaque" }, { type: "kubernetes.io/tls" }, true],
    [
      "the data of an immutable Secret",
      "v1",
      "Secret",
      { immutable: true, type: "Opaque", data: { a: "1" } },
      { data: { a: "2" } },
      true,
    ],
    ["the data of another Secret", "v1", "Secret", { type: "Opaque", data: { a: "1" } }, { data: { a: "2" } }, false],
    [
      "the provisioner of a StorageClass",
      "storage.k8s.io/v1",
      "StorageClass",
      { provisioner: "a" },
      { provisioner: "b" },
      true,
    ],
    [
      "the labels of a StorageClass",
      "storage.k8s.io/v1",
      "StorageClass",
      { provisioner: "a", reclaimPolicy: "Delete" },
      { provisioner: "a" },
      false,
    ],
  ])("makes an object anew for %s: %s", (_, apiVersion, kind, live, manifest, anew) => {
    const before = object(apiVersion, kind, live);
    const rule = updateRuleOf(before);
    expect(rule.mustRecreate?.(before, rule.next(before, object(apiVersion, kind, manifest))) ?? false).toBe(anew);
  });

  it("leaves it to the cluster which StorageClass is the default", () => {
    const annotation = "storageclass.kubernetes.io/is-default-class";
    const live = object("storage.k8s.io/v1", "StorageClass", { provisioner: "a" }, { [annotation]: "true" });
    const manifest = object("storage.k8s.io/v1", "StorageClass", { provisioner: "a" }, { [annotation]: "false" });
    expect(updateRuleOf(live).next(live, manifest).metadata.annotations).toEqual({ [annotation]: "true" });
  });
});
