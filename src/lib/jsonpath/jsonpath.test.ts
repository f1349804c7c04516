import { describe, expect, it } from "vitest";
import { compile, fieldNames } from "./index.ts";

const object = {
  metadata: { name: "w", labels: { "kro.run/hash": "abc", "a.b": "dotted" } },
  spec: {
    replicas: 3,
    items: [
      { name: "a", size: 1 },
      { name: "b", size: 5, tags: ["x", "y"] },
      { name: "c", size: 9n, on: true },
    ],
    map: { one: { v: 1 }, two: { v: 2 } },
    nothing: null,
  },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Degraded", status: "False" },
    ],
  },
};

describe("compile", () => {
  it.each<[string, unknown[]]>([
    [".spec.replicas", [3]],
    ["spec.replicas", [3]],
    ["{.spec.replicas}", [3]],
    ["{ $.spec.replicas }", [3]],
    ["$", [object]],
    [".", [object]],
    [".metadata.labels.kro\\.run/hash", ["abc"]],
    [".metadata.labels['a.b']", ["dotted"]],
    ['.metadata["name"]', ["w"]],
    [".spec.items[0].name", ["a"]],
    [".spec.items[-1].name", ["c"]],
    [".spec.items[7].name", []],
    [".spec.items[-7].name", []],
    [".spec.items[1:].name", ["b", "c"]],
    [".spec.items[:-1].name", ["a", "b"]],
    [".spec.items[0:3:2].name", ["a", "c"]],
    [".spec.items[0,2].name", ["a", "c"]],
    [".spec.items[*].name", ["a", "b", "c"]],
    [".spec.map.*.v", [1, 2]],
    [".spec.map[*].v", [1, 2]],
    [".spec.map['one','two'].v", [1, 2]],
    ["..v", [1, 2]],
    ["$..type", ["Ready", "Degraded"]],
    ["..conditions[0].type", ["Ready"]],
    [".spec.items[?(@.tags)].name", ["b"]],
    [".spec.items[?(@.size > 1)].name", ["b", "c"]],
    [".spec.items[?(@.size>=9)].name", ["c"]],
    [".spec.items[?(@.size<5)].name", ["a"]],
    [".spec.items[?(@.size<=5)].name", ["a", "b"]],
    [".spec.items[?(@.name!='a')].name", ["b", "c"]],
    [".spec.items[?(@.on==true)].name", ["c"]],
    [".spec.items[?(@.tags[1]=='y')].name", ["b"]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    ["{.status.conditions[?(@.type=='Degraded')].status}", ["False"]],
    [".spec.nothing", [null]],
    [".spec.missing.deeper", []],
    [".metadata.name.first", []],
  ])("%s", (text, expected) => {
    expect(compile(text)(object)).toEqual(expected);
  });

  it.each([
    ".spec.items[",
    ".spec.items[]",
    ".spec.items[0",
    ".spec.items['a",
    ".spec.items[?(@.a==)]",
    ".spec.items[?(@.a==bare)]",
    ".spec.items[?(@.a=='x']",
    ".spec.items[0:1:0]",
    ".spec.",
    ".a..",
    ".a]",
    "{.a",
    ".a\\",
    ".a[?(@..b)]",
    `.a${"[?(@".repeat(40)}`,
  ])("refuses %s and shows it", (text) => {
    expect(() => compile(text)).toThrow(SyntaxError);
    expect(() => compile(text)).toThrow(JSON.stringify(text));
  });

  it("sees only keys that are there, because objects come from outside", () => {
    expect(compile(".constructor.name")({})).toEqual([]);
    expect(compile(".__proto__.x")(JSON.parse('{"__proto__":{"x":1}}'))).toEqual([1]);
  });

  it("stays linear where unions and descents repeat", () => {
    let deep: unknown = { a: 1 };
    for (let level = 0; level < 2000; level++) deep = [deep];
    expect(compile(`$${"..[*]".repeat(30)}`)(deep).length).toBeLessThan(5000);
    expect(compile(`$${"[0,0]".repeat(2000)}.a`)(deep)).toEqual([1]);
  });
});

describe("fieldNames", () => {
  it.each<[string, string[] | undefined]>([
    [".spec.replicas", ["spec", "replicas"]],
    [".metadata.labels['a.b']", ["metadata", "labels", "a.b"]],
    [".spec.items[0]", undefined],
    [".spec.*", undefined],
    [".", undefined],
  ])("%s", (text, names) => {
    expect(fieldNames(text)).toEqual(names);
  });
});
