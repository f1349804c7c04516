import { expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { Backoff } from "./backoff.ts";

it("doubles up to thirty seconds, spreads, and starts over after two calm minutes", () => {
  const clock = new ManualClock();
  let spread = 0;
  const backoff = new Backoff(clock, () => spread);
  const delays = Array.from({ length: 8 }, () => backoff.next());
  expect(delays).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  clock.advance(30_000 + 119_999);
  expect(backoff.next()).toBe(30_000);
  clock.advance(30_000 + 120_000);
  spread = 0.5;
  expect(backoff.next()).toBe(1_200);
});
