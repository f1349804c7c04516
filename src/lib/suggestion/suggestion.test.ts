import { expect, it } from "vitest";
import { closest, didYouMean } from "./index.ts";

it.each([
  ["servign", "serving"], // two letters in the wrong order
  ["Servin", "serving"],
  ["evenitng", "eventing"],
  ["kouriere", "kourier"],
  ["database", undefined],
  ["", undefined],
])("%j may mean %s", (word, meant) => {
  expect(closest(word, ["serving", "eventing", "kourier"])).toBe(meant);
});

it("names what is nearest, or nothing", () => {
  expect(didYouMean("cluster11", ["cluster1", "cluster2"])).toBe(" (did you mean cluster1?)");
  expect(didYouMean("somewhere", ["cluster1"])).toBe("");
});
