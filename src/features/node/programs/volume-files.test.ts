import { describe, expect, it } from "vitest";
import type { Pod, Volume } from "#api/core";
import { areSame, filesOf, ingredientsOf } from "./volume-files.ts";

const POD: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "ns", labels: { b: "2", a: 'quoted "1"' } },
  spec: { containers: [] },
};
const map = (contents: Record<string, string>) =>
  new Map(Object.entries(contents).map(([key, text]) => [key, Buffer.from(text)]));
const SOURCES = {
  secret: (name: string) => (name === "sec" ? map({ one: "1", two: "2" }) : undefined),
  configMap: (name: string) => (name === "cm" ? map({ three: "3" }) : undefined),
  token: () => "a.b.c",
};

/** `path: text (mode)` of every file. */
function files(volume: Omit<Volume, "name">): string[] {
  const ingredients = ingredientsOf({ ...volume, name: "v" });
  if (!ingredients) throw new Error("not made of files");
  return [...filesOf(POD, ingredients, SOURCES)].map(
    ([path, { bytes, mode }]) => `${path}: ${bytes.toString()} (${mode.toString(8)})`,
  );
}

describe("the files of a volume", () => {
  it("are all keys of a Secret or ConfigMap", () => {
    expect(files({ secret: { secretName: "sec" } })).toEqual(["one: 1 (644)", "two: 2 (644)"]);
    expect(files({ configMap: { name: "cm", defaultMode: 0o400 } })).toEqual(["three: 3 (400)"]);
  });

  it("are the chosen keys, under other paths and with other modes", () => {
    const items = [{ key: "two", path: "deep/er", mode: 0o440 }];
    expect(files({ secret: { secretName: "sec", items } })).toEqual(["deep/er: 2 (440)"]);
  });

  it("come from several sources, as those of a service account do", () => {
    const sources = [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "cm", items: [{ key: "three", path: "ca.crt" }] } },
      { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
      { secret: { name: "absent", optional: true } },
    ];
    expect(files({ projected: { sources, defaultMode: 0o640 } })).toEqual([
      "token: a.b.c (600)",
      "ca.crt: 3 (640)",
      "namespace: ns (640)",
    ]);
  });

  it("tell of the Pod's labels", () => {
    const items = [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }];
    expect(files({ downwardAPI: { items } })).toEqual(['labels: a="quoted \\"1\\""\nb="2" (644)']);
  });

  it.each<[volume: Omit<Volume, "name">, message: string]>([
    [{ secret: { secretName: "no" } }, 'secret "no" not found'],
    [{ configMap: { name: "no" } }, 'configmap "no" not found'],
    [{ secret: { secretName: "sec", items: [{ key: "no", path: "x" }] } }, "references non-existent secret key: no"],
    [
      { configMap: { name: "cm", items: [{ key: "no", path: "x" }] } },
      "configmap references non-existent config key: no",
    ],
    [{ projected: { sources: [{ clusterTrustBundle: {} }] } }, "clusterTrustBundle is not offered"],
    [{ downwardAPI: { items: [{ path: "cpu", resourceFieldRef: {} }] } }, "resourceFieldRef, which this node"],
  ])("of %j are not there: %s", (volume, message) => {
    expect(() => files(volume)).toThrow(message);
  });

  it("do without optional keys and objects", () => {
    expect(files({ secret: { secretName: "no", optional: true } })).toEqual([]);
    expect(files({ configMap: { name: "cm", optional: true, items: [{ key: "no", path: "x" }] } })).toEqual([]);
  });

  it("are the same only with the same bytes and modes", () => {
    const one = new Map([["a", { bytes: Buffer.from("1"), mode: 0o600 }]]);
    expect(areSame(one, new Map([["a", { bytes: Buffer.from("1"), mode: 0o600 }]]))).toBe(true);
    expect(areSame(one, new Map([["a", { bytes: Buffer.from("2"), mode: 0o600 }]]))).toBe(false);
    expect(areSame(one, new Map([["a", { bytes: Buffer.from("1"), mode: 0o400 }]]))).toBe(false);
    expect(areSame(one, new Map([["b", { bytes: Buffer.from("1"), mode: 0o600 }]]))).toBe(false);
    expect(areSame(one, new Map())).toBe(false);
  });
});

describe("a volume", () => {
  it.each<[Omit<Volume, "name">]>([[{ emptyDir: {} }], [{ hostPath: { path: "/" } }]])(
    "%j is not made of files",
    (v) => {
      expect(ingredientsOf({ ...v, name: "v" })).toBeUndefined();
    },
  );
});
