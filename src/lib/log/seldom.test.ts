import { expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { createLogger } from "./logger.ts";
import { seldomLog } from "./seldom.ts";

function stage() {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const lines: string[] = [];
  const write = (line: string) => lines.push(line.split(" ").slice(1).join(" ").trim());
  const log = createLogger({ level: "debug", format: "human", clock, write });
  return { clock, lines, log: seldomLog(log, { clock, pause: 1000, ignoring: ["id"] }) };
}

it("says the same failure once, and again after a while", () => {
  const { clock, lines, log } = stage();
  const fail = () => log.with({ id: Math.random() }).error("failed", { error: new Error("refused") });
  for (let times = 0; times < 5; times++) fail();
  expect(lines).toHaveLength(1);
  clock.advance(999);
  fail();
  expect(lines).toHaveLength(1);
  clock.advance(1);
  fail();
  expect(lines).toHaveLength(2);
});

it("says what differs at once: the words, the error, what it is about", () => {
  const { lines, log } = stage();
  log.error("failed", { error: new Error("refused") });
  log.error("failed", { error: new Error("lost") });
  log.warn("failed", { error: new Error("lost") });
  log.with({ key: "a" }).warn("failed", { error: new Error("lost") });
  log.with({ key: "b" }).warn("failed", { error: new Error("lost") });
  expect(lines).toHaveLength(5);
});

it("leaves what is no failure alone", () => {
  const { lines, log } = stage();
  for (let times = 0; times < 2; times++) {
    log.info("works");
    log.debug("looks");
  }
  expect(lines).toEqual(["INFO  works", "DEBUG looks", "INFO  works", "DEBUG looks"]);
});

it("remembers so much and no more", () => {
  const { lines, log } = stage();
  for (let name = 0; name < 2_000; name++) log.warn("failed", { name });
  expect(lines).toHaveLength(2_000);
});
