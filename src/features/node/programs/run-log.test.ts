import { describe, expect, it } from "vitest";
import type { LogLine } from "../kubelet/runner.ts";
import { RunLog } from "./run-log.ts";

const NOW = new Date("2026-01-01T00:00:00Z");

async function collected(lines: AsyncIterable<LogLine>): Promise<string[]> {
  const all: string[] = [];
  for await (const { text } of lines) all.push(text);
  return all;
}

describe("the log of a run", () => {
  it("keeps lines with their time, several at once too", () => {
    const log = new RunLog();
    log.write("one\ntwo", NOW);
    expect(log.read().written).toEqual([
      { time: NOW, text: "one" },
      { time: NOW, text: "two" },
    ]);
  });

  it("tells those who follow all that comes after what they have read, to the end of the run", async () => {
    const log = new RunLog();
    log.write("before", NOW);
    const { written, follow } = log.read();
    log.write("between", NOW);
    const followed = collected(follow(new AbortController().signal));
    await Promise.resolve();
    log.write("after", NOW);
    log.close();
    log.write("too late", NOW);
    expect(written.map(({ text }) => text)).toEqual(["before"]);
    expect(await followed).toEqual(["between", "after"]);
  });

  it("tells a run that has ended to its end although the signal fired, because the end is what fires it", async () => {
    const log = new RunLog();
    const { follow } = log.read();
    log.write("last words", NOW);
    log.close();
    expect(await collected(follow(AbortSignal.abort()))).toEqual(["last words"]);
  });

  it("lets go of those who have enough of a run that goes on", async () => {
    const log = new RunLog();
    const enough = new AbortController();
    const followed = collected(log.read().follow(enough.signal));
    await Promise.resolve();
    enough.abort();
    expect(await followed).toEqual([]);
  });

  it("forgets the oldest lines beyond a mebibyte, and counts what even empty ones cost", () => {
    const log = new RunLog();
    for (let n = 0; n < 5_000; n++) log.write(`${n} ${"x".repeat(1000)}`, NOW);
    const { written } = log.read();
    const size = written.reduce((sum, { text }) => sum + text.length, 0);
    expect(size).toBeGreaterThan(900_000);
    expect(size).toBeLessThanOrEqual(1024 * 1024);
    expect(written.at(-1)?.text).toMatch(/^4999 /);
    for (let n = 0; n < 50_000; n++) log.write("", NOW);
    expect(log.read().written.length).toBeLessThan(20_000);
  });

  it("lets a slow reader go on with the oldest line that there is", async () => {
    const log = new RunLog();
    const lines = log.read().follow(new AbortController().signal)[Symbol.asyncIterator]();
    log.write("first", NOW);
    expect((await lines.next()).value?.text).toBe("first");
    for (let n = 0; n < 5_000; n++) log.write(`${n} ${"x".repeat(1000)}`, NOW);
    const oldest = log.read().written[0]?.text;
    expect((await lines.next()).value?.text).toBe(oldest);
  });

  it("cuts a line that nobody could read", () => {
    const log = new RunLog();
    log.write("y".repeat(10_000_000), NOW);
    expect(log.read().written[0]?.text).toHaveLength(16 * 1024);
  });

  it("has last words: so many lines, so many bytes", () => {
    const log = new RunLog();
    log.write("one\ntwo\nthree\nfour", NOW);
    expect(log.tail({ lines: 2, bytes: 100 })).toBe("three\nfour");
    expect(log.tail({ lines: 9, bytes: 12 })).toBe("three\nfour");
    expect(log.tail({ lines: 9, bytes: 3 })).toBe("our");
    expect(new RunLog().tail({ lines: 9, bytes: 9 })).toBe("");
  });
});
