import { expect, it } from "vitest";
import { matcherOf } from "./pattern.ts";

it("says the same of a value however often it is asked, and of any number of values", () => {
  const matches = matcherOf("^[a-z]+[0-9]*$");
  for (let round = 0; round < 2; round++) {
    for (let number = 0; number < 250; number++) {
      expect(matches?.(`a${number}`)).toBe(true);
      expect(matches?.(`${number}a`)).toBe(false);
    }
    expect(matches?.("a".repeat(1_000))).toBe(true);
  }
});

it("has nothing to say for what is no pattern", () => {
  expect(matcherOf("(")).toBeUndefined();
});
