import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { ownsAll } from "./ownership.ts";

const manifest = (content: object, metadata: object = {}): DynamicObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "demo", ...metadata },
  ...content,
});

/** A live object by whose account the manager has applied these fields. */
const live = (fieldsV1: Record<string, unknown>, entry: object = {}): DynamicObject =>
  manifest({}, { managedFields: [{ manager: "us", operation: "Apply", apiVersion: "apps/v1", fieldsV1, ...entry }] });

const spec = (inner: unknown) => ({ "f:spec": inner });

describe("what we own", () => {
  it.each([
    ["a scalar", { spec: { replicas: 2 } }, spec({ "f:replicas": {} }), true],
    ["a field that somebody else has taken", { spec: { replicas: 2 } }, spec({ "f:paused": {} }), false],
    ["a field of ours that the manifest lacks does no harm here: its hash differs then", {}, spec({ "f:a": {} }), true],
    ["a map that belongs to one as a whole", { spec: { selector: { a: "b" } } }, spec({ "f:selector": {} }), true],
    ["a list that belongs to one as a whole", { spec: { args: ["a", "b"] } }, spec({ "f:args": {} }), true],
    ["an empty map", { spec: { emptyDir: {} } }, spec({ "f:emptyDir": {} }), true],
    [
      "an item of a list by its key",
      { spec: { containers: [{ name: "web", image: "nginx" }] } },
      spec({ "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:name": {}, "f:image": {} } } }),
      true,
    ],
    [
      "an item of which a field is lost",
      { spec: { containers: [{ name: "web", image: "nginx" }] } },
      spec({ "f:containers": { 'k:{"name":"web"}': { ".": {}, "f:name": {} } } }),
      false,
    ],
    [
      "an item that is lost",
      { spec: { containers: [{ name: "web" }] } },
      spec({ "f:containers": { 'k:{"name":"other"}': { ".": {}, "f:name": {} } } }),
      false,
    ],
    [
      "a key of which the server filled in a part",
      { spec: { ports: [{ containerPort: 80 }] } },
      spec({ "f:ports": { 'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } } }),
      true,
    ],
    ["members of a set", { spec: { names: ["a"] } }, spec({ "f:names": { 'v:"a"': {}, 'v:"b"': {} } }), true],
    ["a member that is lost", { spec: { names: ["a"] } }, spec({ "f:names": { 'v:"b"': {} } }), false],
    ["a wish for nothing", { spec: { replicas: null } }, spec({ "f:paused": {} }), true],
  ])("%s", (_, content, fields, owns) => {
    expect(ownsAll("us", manifest(content), live(fields))).toBe(owns);
  });

  it("counts labels and annotations, but not the name", () => {
    const wished = manifest({}, { labels: { a: "b" } });
    expect(ownsAll("us", wished, live({ "f:metadata": { "f:labels": { "f:a": {} } } }))).toBe(true);
    expect(ownsAll("us", wished, live({ "f:metadata": { "f:labels": { "f:c": {} } } }))).toBe(false);
  });

  it.each([
    ["is another manager's", { manager: "kubectl" }],
    ["comes from updates, which own what they changed and not what they wished", { operation: "Update" }],
    ["is about the status", { subresource: "status" }],
    ["is about another version, whose fields may have other names", { apiVersion: "apps/v1beta1" }],
  ])("does not count an account that %s", (_, entry) => {
    expect(ownsAll("us", manifest({}), live(spec({}), entry))).toBe(false);
  });
});
