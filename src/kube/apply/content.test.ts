import { describe, expect, it } from "vitest";
import { ConfigMap, Secret } from "#api/core";
import { type DynamicObject, type Kind, kind } from "#api/meta";
import { qualifiedName } from "#lib/names";
import { hashAnnotationOf, hashOf, prepared } from "./content.ts";

const object = (content: object, metadata: object = {}): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "x", ...metadata },
  ...content,
});

describe("a manifest as it is sent", () => {
  it("says nothing that only a server or a controller may say", () => {
    const server = {
      uid: "u",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: null,
      managedFields: [],
      selfLink: "/",
    };
    const sent = prepared(object({ data: { a: "b" }, status: { phase: "x" } }, server), ConfigMap as Kind, "default");
    expect(sent).toEqual(object({ data: { a: "b" } }, { namespace: "default" }));
  });

  it("has no empty times in its templates", () => {
    const template = { metadata: { creationTimestamp: null, labels: { a: "b" } }, spec: { creationTimestamp: null } };
    expect(prepared(object({ spec: { template } }), ConfigMap as Kind, "default").spec).toEqual({
      template: { metadata: { labels: { a: "b" } }, spec: { creationTimestamp: null } },
    });
  });

  it("of a Secret has its texts in base64, as the server will have them", () => {
    const secret = { ...object({ stringData: { a: "text" }, data: { a: "b2xk", b: "Yg==" } }), kind: "Secret" };
    expect(prepared(secret, Secret as Kind, "default")).toMatchObject({ data: { a: "dGV4dA==", b: "Yg==" } });
    expect(prepared(secret, Secret as Kind, "default")).not.toHaveProperty("stringData");
  });
});

describe("the manifest of an aggregated role", () => {
  const where = kind({
    group: "rbac.authorization.k8s.io",
    version: "v1",
    kind: "ClusterRole",
    plural: "clusterroles",
    namespaced: false,
  });
  const role = (content: object) => ({
    ...object(content),
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
  });

  it("claims no rules, because a controller fills them in", () => {
    expect(prepared(role({ aggregationRule: {}, rules: [] }), where, "default")).not.toHaveProperty("rules");
    expect(prepared(role({ rules: [] }), where, "default")).toHaveProperty("rules", []);
  });
});

describe("the hash of a manifest", () => {
  it("does not depend on the order of fields, and on all else", () => {
    expect(hashOf({ a: 1, b: [1, 2] })).toBe(hashOf({ b: [1, 2], a: 1 }));
    expect(
      new Set([{ a: 1 }, { a: "1" }, { a: [1] }, { a: null }, { b: 1 }, { a: 1n + 2n ** 60n }].map(hashOf)).size,
    ).toBe(6);
  });

  it("is noted under the name of the manager, whatever that is", () => {
    expect(hashAnnotationOf("capstan")).toBe("hash.apply.capstan.dev/capstan");
    const odd = ["work-agent/one", "work-agent-one", "x".repeat(200), "-", "ümlaut", "a b"].map(hashAnnotationOf);
    expect(new Set(odd).size).toBe(odd.length);
    expect(odd.flatMap(qualifiedName)).toEqual([]);
  });
});
