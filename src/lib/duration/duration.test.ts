import { describe, expect, it } from "vitest";
import { humanDuration, isWireDuration, parseDuration } from "./index.ts";

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

describe("parseDuration", () => {
  it.each([
    ["500ms", 500],
    ["90s", 90 * s],
    ["1.5h", 90 * m],
    ["1h30m", 90 * m],
    ["365d", 365 * d],
    ["0s", 0],
    ["5", undefined],
    ["5s!", undefined],
    ["-5s", undefined],
    ["", undefined],
  ])("%j is %s ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });
});

describe("a span of time on the wire", () => {
  it.each(["0", "0s", "-1m", "+1.5h", "1h30m0.5s", ".5s", "10us", "3ns"])("may be written %s", (text) => {
    expect(isWireDuration(text)).toBe(true);
  });

  it.each(["", "5", "1d", "s", "1 s", "invalid"])("may not be written %j", (text) => {
    expect(isWireDuration(text)).toBe(false);
  });
});
