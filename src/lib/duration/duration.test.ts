import { describe, expect, it } from "vitest";
import { humanDuration } from "./index.ts";

const s = 1000;
const m = 60 * s;
const h = 60 * m;
const d = 24 * h;
const y = 365 * d;

describe("humanDuration", () => {
  it.each([
    [-5 * s, "<invalid>"],
    [-1 * s, "0s"],
    [0, "0s"],
    [5 * s + 900, "5s"],
    [119 * s, "119s"],
    [2 * m, "2m"],
    [2 * m + 3 * s, "2m3s"],
    [12 * m + 59 * s, "12m"],
    [179 * m, "179m"],
    [3 * h + 5 * m, "3h5m"],
    [4 * h, "4h"],
    [47 * h + 59 * m, "47h"],
    [2 * d + 4 * h, "2d4h"],
    [3 * d, "3d"],
    [10 * d + 5 * h, "10d"],
    [2 * y + 35 * d, "2y35d"],
    [9 * y + 35 * d, "9y"],
  ])("%d ms reads %s", (ms, text) => {
    expect(humanDuration(ms)).toBe(text);
  });
});
