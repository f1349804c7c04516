import { describe, expect, it } from "vitest";
import type { ContainerLog, LogLine } from "../kubelet/runner.ts";
import { BadLogOptions, logOptions, logText } from "./log-options.ts";

const NOW = new Date("2026-01-01T00:01:00Z");
const line = (second: number, text: string): LogLine => ({ time: new Date(Date.UTC(2026, 0, 1, 0, 0, second)), text });

/** Three lines were written, and two more come. */
const log: ContainerLog = {
  written: [line(1, "one"), line(2, "two"), line(3, "three")],
  async *follow(signal) {
    yield line(4, "four");
    if (!signal.aborted) yield line(5, "five");
  },
};

async function text(query: string, signal = new AbortController().signal): Promise<string> {
  let all = "";
  for await (const piece of logText(log, logOptions(new URLSearchParams(query), NOW), signal)) all += piece.toString();
  return all;
}

describe("a log", () => {
  it.each<[query: string, expected: string]>([
    ["", "one\ntwo\nthree\n"],
    ["tailLines=2", "two\nthree\n"],
    ["tailLines=0", ""],
    ["tailLines=9", "one\ntwo\nthree\n"],
    ["limitBytes=6", "one\ntw"],
    ["sinceTime=2026-01-01T00:00:02Z", "two\nthree\n"],
    ["sinceSeconds=57", "three\n"],
    ["sinceSeconds=58&tailLines=1", "three\n"],
    ["follow=true", "one\ntwo\nthree\nfour\nfive\n"],
    ["follow=true&tailLines=1", "three\nfour\nfive\n"],
    ["follow=true&limitBytes=16", "one\ntwo\nthree\nfo"],
    ["follow=false", "one\ntwo\nthree\n"],
    ["timestamps=true&tailLines=1", "2026-01-01T00:00:03.000000000Z three\n"],
  ])("asked for %j", async (query, expected) => {
    expect(await text(query)).toBe(expected);
  });

  it("is followed no further than somebody listens", async () => {
    expect(await text("follow=true", AbortSignal.abort())).toBe("one\ntwo\nthree\nfour\n");
  });

  it.each([
    "tailLines=-1",
    "tailLines=x",
    "limitBytes=0",
    "sinceSeconds=0",
    "sinceTime=yesterday",
    "sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
  ])("asked for %j is refused", (query) => {
    expect(() => logOptions(new URLSearchParams(query), NOW)).toThrow(BadLogOptions);
  });
});
