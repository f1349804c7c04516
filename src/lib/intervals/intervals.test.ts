import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IntervalSet, intervalsProblem } from "./index.ts";

describe("sets of whole numbers", () => {
  it.each([
    [[], ""],
    [[3], "3"],
    [[1, 0], "0,1"],
    [[0, 1, 2], "0-2"],
    [[9, 0, 1, 2, 4, 5], "0-2,4,5,9"],
  ])("%j is written as %j", (numbers, text) => {
    expect(String(IntervalSet.of(numbers))).toBe(text);
  });

  it.each([
    ["0-2,4", 10, "0-2,4"],
    ["0-20", 5, "0-4"],
    ["0,7", 5, "0"],
    ["0,1,2", 10, "0-2"],
    ["x,1-,3", 10, "3"],
    ["5-3", 10, ""],
    ["", 10, ""],
  ])("%j below %i is read as %j", (text, below, read) => {
    expect(String(IntervalSet.parse(text, below))).toBe(read);
  });

  const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 60 }));
  it("behave as sets do", () => {
    fc.assert(
      fc.property(numbers, numbers, fc.integer({ min: 0, max: 70 }), fc.nat(20), (a, b, below, count) => {
        const [one, other] = [IntervalSet.of(a), IntervalSet.of(b)];
        const both = new Set([...a, ...b]);
        expect(one.union(other).size).toBe(both.size);
        expect([...both].every((number) => one.union(other).has(number))).toBe(true);
        expect(one.has(below)).toBe(a.includes(below));
        expect(one.overlap(other)).toBe(a.filter((number) => b.includes(number)).length);
        expect(String(IntervalSet.parse(String(one), 100))).toBe(String(one));
        expect(intervalsProblem(String(one), 100)).toBeUndefined();
        const absent = Array.from({ length: below }, (_, number) => number).filter((number) => !a.includes(number));
        expect(one.missing(count, below)).toEqual(absent.slice(0, count));
      }),
    );
  });
});

describe("a text that should be one", () => {
  it.each([
    ["", undefined],
    ["0-3,5", undefined],
    ["1-2-3", /at most two parts/],
    ["a", 'cannot convert string to integer for index: "a"'],
    ["1-", 'cannot convert string to integer for index: ""'],
    ["10", 'too large index: "10"'],
    ["3,3", "non-increasing order, previous: 3, current: 3"],
    ["4-4", "non-increasing order, previous: 4, current: 4"],
    ["0-5,4", "non-increasing order, previous: 5, current: 4"],
  ])("%j: %s", (text, problem) => {
    const found = intervalsProblem(text, 10);
    if (problem instanceof RegExp) expect(found).toMatch(problem);
    else expect(found).toBe(problem);
  });
});
