import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { createLogger, errorText, type LogFormat, type Logger, type LogLevel } from "./index.ts";

function given(format: LogFormat, level: LogLevel = "info"): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const clock = new ManualClock("2026-11-16T01:02:03.456Z");
  return { log: createLogger({ level, format, clock, write: (line) => lines.push(line) }), lines };
}

describe("lines for people", () => {
  it("show time, level, component, context, message and fields", () => {
    const { log, lines } = given("human");
    log.info("ready");
    log.with({ component: "registration" }).with({ cluster: "cluster1" }).info("accepted", { by: "ann b", nodes: 3 });
    expect(lines).toEqual([
      "2026-11-16T01:02:03.456Z INFO  ready",
      '2026-11-16T01:02:03.456Z INFO  registration  cluster=cluster1 accepted  by="ann b" nodes=3',
    ]);
  });

  it("never break, because a message may come from anybody", () => {
    const { log, lines } = given("human");
    log.error("one\ntwo\u001b[31m\u0085", { "k\n": "a\nb", empty: "" });
    expect(lines).toEqual(['2026-11-16T01:02:03.456Z ERROR one\\ntwo\\u001b[31m\\u0085  k\\n="a\\nb" empty=""']);
  });

  it("do not look into objects, because they may hold secrets", () => {
    const { log, lines } = given("human");
    const many = Array.from({ length: 12 }, (_, index) => index);
    log.info("seen", { secret: { data: "c2VjcmV0" }, many, nested: [["x"], { y: 1 }], missing: undefined });
    expect(lines[0]).toMatch(/seen {2}secret=\{…\} many=\[0,1,2,3,4,5,6,7,8,9,…\+2\] nested=\[\[…\],\{…\}\]$/);
  });
});

describe("lines for programs", () => {
  it("are JSON objects whose own words win", () => {
    const { log, lines } = given("json");
    const error = new Error("apply", { cause: new Error("refused") });
    log.with({ component: "work" }).warn("failed", { key: "a/b", tries: 2, error, level: "x", big: { a: 1 } });
    expect(JSON.parse(lines[0] ?? "")).toEqual({
      time: "2026-11-16T01:02:03.456Z",
      level: "warn",
      message: "failed",
      component: "work",
      key: "a/b",
      tries: 2,
      error: "apply: refused",
      "field.level": "x",
      big: "{…}",
    });
  });
});

describe("levels", () => {
  it("leave out what is less grave", () => {
    const { log, lines } = given("human", "warn");
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.with({ x: 1 }).info("d");
    log.error("e");
    expect(lines.map((line) => line.split(" ").at(-1))).toEqual(["c", "e"]);
  });
});

describe("errorText", () => {
  const loop = new Error("loop");
  loop.cause = loop;
  it.each([
    ["causes", new Error("a", { cause: new Error("b", { cause: "c" }) }), "a: b: c"],
    [
      "several",
      new AggregateError([new Error("x"), new Error("y"), new Error("x")], "3 of 5 failed"),
      "3 of 5 failed: x; y",
    ],
    ["nothing but a name", new TypeError(), "TypeError"],
    ["a loop", loop, "loop: …"],
    ["no error", { code: 1 }, "[object]"],
    ["a word", "boom", "boom"],
  ])("%s", (_, error, text) => {
    expect(errorText(error)).toBe(text);
  });
});
