import { describe, expect, it } from "vitest";
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { pathSet } from "./path-set.ts";
import { configMaps, NOW, pods, Subject, thing, things } from "./testing/subject.ts";

const LATER = new Date("2030-01-01T01:00:00Z");

function configMap(data: Record<string, string>, metadata: Record<string, unknown> = {}): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", ...metadata },
    data,
  } as unknown as DynamicObject;
}

const ofConfigMap = () => new Subject(configMaps, "v1");

describe("a create", () => {
  it("makes whoever creates the owner of all that was said", () => {
    const subject = ofConfigMap().put("m", configMap({ a: "1" }, { finalizers: ["x.io/f"], labels: { l: "1" } }));
    expect(subject.entries).toEqual([
      {
        manager: "m",
        operation: "Update",
        apiVersion: "v1",
        time: "2030-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: {
          "f:data": { ".": {}, "f:a": {} },
          "f:metadata": {
            "f:finalizers": { ".": {}, 'v:"x.io/f"': {} },
            "f:labels": { ".": {}, "f:l": {} },
          },
        },
      },
    ]);
  });

  it("has no owners when there is nothing to own", () => {
    const named = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "c", uid: "u", generation: 1, resourceVersion: "1" },
    };
    expect(ofConfigMap().put("m", named as unknown as DynamicObject).entries).toEqual([]);
  });

  it("owns no field of a built-in struct as such, but the spec of a custom kind", () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "a", resources: {} }] },
    };
    expect(new Subject(pods, "v1").put("m", pod as unknown as DynamicObject).owners).toEqual({
      "m Update": { "f:spec": { "f:containers": { 'k:{"name":"a"}': { ".": {}, "f:name": {}, "f:resources": {} } } } },
    });
    expect(new Subject().put("m", thing({ n: 1 })).owners).toEqual({
      "m Update": { "f:spec": { ".": {}, "f:n": {} } },
    });
  });

  it("leaves out what the endpoint leaves alone", () => {
    const subject = new Subject();
    subject.put("m", thing({ n: 1 }, { status: { n: 2 } }), { as: { ignored: pathSet(["f:status"]) } });
    expect(subject.owners).toEqual({ "m Update": { "f:spec": { ".": {}, "f:n": {} } } });
  });

  it("calls a manager without a name unknown", () => {
    expect(new Subject().put("", thing({ n: 1 })).entries[0]?.manager).toBe("unknown");
  });
});

describe("an update", () => {
  it("takes what it changes from everybody else", () => {
    const subject = ofConfigMap()
      .put("a", configMap({ x: "1", y: "1" }))
      .put("b", configMap({ x: "2", y: "1", z: "1" }));
    expect(subject.owners).toEqual({
      "a Update": { "f:data": { ".": {}, "f:y": {} } },
      "b Update": { "f:data": { "f:x": {}, "f:z": {} } },
    });
  });

  it("takes what it removes from everybody, and those who own nothing more are forgotten", () => {
    const subject = ofConfigMap()
      .put("a", configMap({ x: "1" }))
      .put("b", configMap({ x: "1", y: "1" }));
    subject.put("c", { ...configMap({}), data: undefined } as unknown as DynamicObject);
    expect(subject.entries).toEqual([]);
  });

  it("changes nothing when it says what is there", () => {
    const subject = ofConfigMap().put("a", configMap({ x: "1" }));
    const before = subject.entries;
    subject.now = LATER;
    expect(subject.put("b", configMap({ x: "1" })).entries).toEqual(before);
  });

  it("moves the time of whoever wrote, and of nobody else", () => {
    const subject = ofConfigMap()
      .put("a", configMap({ x: "1" }))
      .put("b", configMap({ x: "1", y: "1" }));
    subject.now = LATER;
    subject.put("b", configMap({ x: "1", y: "2" }));
    expect(subject.entries.map(({ manager, time }) => [manager, time])).toEqual([
      ["a", "2030-01-01T00:00:00Z"],
      ["b", "2030-01-01T01:00:00Z"],
    ]);
  });

  it("keeps the entry of a set of fields that stayed as it was, because leases are renewed all day", () => {
    const subject = ofConfigMap().put("a", configMap({ x: "1" }));
    const [before] = subject.entries;
    expect(subject.put("a", configMap({ x: "2" })).entries[0]?.fieldsV1).toBe(before?.fieldsV1);
  });

  it("tells the items of lists apart by their keys, with the defaults of keys", () => {
    const subject = new Subject().put("a", thing({ items: [{ name: "p", v: 1 }], set: ["a"], whole: ["x"] }));
    subject.put(
      "b",
      thing({
        items: [
          { name: "p", protocol: "UDP", v: 2 },
          { name: "p", v: 1 },
        ],
        set: ["b", "a"],
        whole: ["y"],
      }),
    );
    expect(subject.owners).toEqual({
      "a Update": {
        "f:spec": {
          ".": {},
          "f:items": { ".": {}, 'k:{"name":"p","protocol":"TCP"}': { ".": {}, "f:name": {}, "f:v": {} } },
          "f:set": { ".": {}, 'v:"a"': {} },
        },
      },
      "b Update": {
        "f:spec": {
          "f:items": { 'k:{"name":"p","protocol":"UDP"}': { ".": {}, "f:name": {}, "f:protocol": {}, "f:v": {} } },
          "f:set": { 'v:"b"': {} },
          "f:whole": {},
        },
      },
    });
  });

  it("treats items that cannot be told apart as one thing", () => {
    const subject = new Subject().put("a", thing({ set: ["x"] })).put("b", thing({ set: ["x", "x"] }));
    expect(subject.owners).toEqual({
      "a Update": { "f:spec": { ".": {}, "f:set": {} } },
      "b Update": { "f:spec": { "f:set": { 'v:"x"': {} } } },
    });
  });

  it("does not track an object that has no owners, because nobody has asked for it", () => {
    const subject = ofConfigMap();
    subject.object = configMap({ x: "1" });
    expect(subject.put("a", configMap({ x: "2" })).entries).toEqual([]);
  });

  it("forgets owners whose version is gone", () => {
    const subject = new Subject().put("a", thing({ n: 1 }));
    const stale = subject.entries.map((entry) => ({ ...entry, manager: "old", apiVersion: "x.io/v0" }));
    subject.object = thing({ n: 1 }, { metadata: { name: "t", managedFields: [...subject.entries, ...stale] } });
    expect(Object.keys(subject.put("b", thing({ n: 1, text: "x" })).owners)).toEqual(["a Update", "b Update"]);
  });

  it("compares entries in the version they were written in", () => {
    const subject = new Subject().put("a", thing({ n: 1, text: "x" }), { as: { apiVersion: "x.io/v2" } });
    subject.put("b", thing({ n: 2, text: "x" }));
    expect(subject.entries.map(({ manager, apiVersion, fieldsV1 }) => [manager, apiVersion, fieldsV1])).toEqual([
      ["a", "x.io/v2", { "f:spec": { ".": {}, "f:text": {} } }],
      ["b", "x.io/v1", { "f:spec": { "f:n": {} } }],
    ]);
  });

  it("gives up the owners of an object whose lists make no sense, rather than guess", () => {
    const subject = new Subject().put("a", thing({ n: 1 }));
    expect(subject.put("b", thing({ n: 1, items: [null] })).entries).toEqual([]);
  });
});

describe("managedFields in a request", () => {
  const owned = () => ofConfigMap().put("a", configMap({ x: "1" }));

  it.each([[[]], [[{}]]])("clear the owners when they are %j", (requested) => {
    expect(owned().put("b", configMap({ x: "2" }), { requested }).entries).toEqual([]);
  });

  it.each([
    ["nothing", undefined],
    ["nonsense", "x"],
    ["entries that cannot be read", [{ manager: "z", operation: "Sing" }]],
  ])("are ignored when they are %s", (_, requested) => {
    expect(Object.keys(owned().put("b", configMap({ x: "1", y: "1" }), { requested }).owners)).toEqual([
      "a Update",
      "b Update",
    ]);
  });

  it("replace the owners otherwise", () => {
    const edited: ManagedFieldsEntry[] = owned().entries.map((entry) => ({ ...entry, manager: "z" }));
    expect(Object.keys(owned().put("b", configMap({ x: "1" }), { requested: edited }).owners)).toEqual(["z Update"]);
  });

  it("are ignored in a subresource, because that is not where the whole is edited", () => {
    const subject = owned().put("b", configMap({ x: "1" }), { requested: [], as: { subresource: "status" } });
    expect(Object.keys(subject.owners)).toEqual(["a Update"]);
  });
});

it("keeps ten updaters and merges the oldest, while those who apply keep their own entries", () => {
  const subject = new Subject(things).put("u00", thing({ map: { k00: "v" } }));
  const map: Record<string, string> = { k00: "v" };
  for (let index = 1; index <= 12; index++) {
    const key = String(index).padStart(2, "0");
    map[`k${key}`] = "v";
    subject.now = new Date(NOW.getTime() + index * 1000);
    subject.put(`u${key}`, thing({ map: { ...map } }));
  }
  expect(subject.entries.map(({ manager }) => manager)).toEqual([
    "ancient-changes",
    ...["04", "05", "06", "07", "08", "09", "10", "11", "12"].map((key) => `u${key}`),
  ]);
  expect(subject.entries[0]?.fieldsV1).toEqual({
    "f:spec": { ".": {}, "f:map": { ".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}, "f:k03": {} } },
  });
});
