import { describe, expect, it } from "vitest";
import { holds } from "./values.ts";

describe("what is wished for is there", () => {
  it.each<[string, unknown, unknown]>([
    ["with more beside it", { a: 1 }, { a: 1, b: 2 }],
    [
      "with defaults in its items",
      { c: [{ name: "web", image: "i" }] },
      { c: [{ name: "web", image: "i", pull: "Always" }] },
    ],
    [
      "with other items between",
      { c: [{ name: "b" }, { name: "a" }] },
      { c: [{ name: "a" }, { name: "x" }, { name: "b" }] },
    ],
    ["with items that have no names, one by one", { p: [{ port: 80 }] }, { p: [{ port: 80, protocol: "TCP" }] }],
    ["although the server drops what is empty", { a: {}, b: [], c: "", d: null }, {}],
    [
      "although an amount is written differently",
      { cpu: "1000m", memory: "1024Mi", half: 0.5, big: "1e3" },
      { cpu: "1", memory: "1Gi", half: "500m", big: "1k" },
    ],
    ["although a number is too large for one", { n: 9007199254740993n }, { n: 9007199254740993n }],
  ])("%s", (_, wished, live) => {
    expect(holds(wished, live)).toBe(true);
  });
});

describe("what is wished for is not there", () => {
  it.each<[string, unknown, unknown]>([
    ["a value differs", { a: 1 }, { a: 2 }],
    ["a value is missing", { a: 1 }, {}],
    ["what should be empty is not", { a: {} }, { a: { b: 1 } }],
    ["an item is missing", { c: [{ name: "a" }] }, { c: [{ name: "b" }] }],
    ["a list without names has one more", { args: ["a"] }, { args: ["a", "b"] }],
    ["a list without names is in another order", { args: ["a", "b"] }, { args: ["b", "a"] }],
    ["an amount differs", { cpu: "1000m" }, { cpu: "2" }],
    ["texts are no amounts", { a: "abc" }, { a: "abd" }],
    ["a list is a map", { a: [1] }, { a: { 0: 1 } }],
  ])("%s", (_, wished, live) => {
    expect(holds(wished, live)).toBe(false);
  });
});
