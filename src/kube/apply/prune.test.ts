import { expect, it } from "vitest";
import { overBudget } from "./prune.ts";
import type { RemovalBudget } from "./types.ts";

it.each<[number, number, RemovalBudget | undefined, boolean, string]>([
  [0, 0, undefined, false, "nothing is never too much"],
  [1, 2, undefined, false, "half may go"],
  [2, 3, undefined, true, "more than half may not"],
  [100, 1_000, undefined, false, "a hundred may go"],
  [101, 1_000, undefined, true, "more than a hundred may not"],
  [1, 1, undefined, true, "all may not, even if all is one"],
  [3, 3, { objects: 3, percent: 100 }, false, "unless told"],
  [900, 1_000, { objects: Number.POSITIVE_INFINITY, percent: 90 }, false, "in shares"],
  [901, 1_000, { objects: Number.POSITIVE_INFINITY, percent: 90 }, true, "up to the share"],
])("removing %i of %i with %o: held back %s, because %s", (removals, contained, budget, held) => {
  expect(overBudget(removals, contained, budget) !== undefined).toBe(held);
});

it("tells how many, and how many may", () => {
  expect(overBudget(3, 4)?.message).toBe(
    "3 of 4 objects have left the set; at most 100 objects and 50 % are removed at once",
  );
  expect(overBudget(3, 4, { objects: 2, percent: 100 })?.message).toMatch(/at most 2 objects are removed at once$/);
});
