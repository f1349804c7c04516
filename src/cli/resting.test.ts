import { expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { tidyAtRest } from "./resting.ts";

const MB = 1024 * 1024;

function program() {
  const clock = new ManualClock();
  const state = { used: 20 * MB, spent: 0, tidied: 0 };
  const end = tidyAtRest({
    clock,
    used: () => state.used,
    spent: () => state.spent,
    tidy() {
      state.tidied++;
      state.spent += 50;
      state.used = 15 * MB;
    },
  });
  return { clock, state, end };
}

it("tidies up once the program rests, and not again while nothing piles up", () => {
  const { clock, state } = program();
  state.spent += 5_000;
  clock.advance(10_000);
  expect(state.tidied, "it is busy").toBe(0);
  clock.advance(10_000);
  expect(state.tidied, "it rests").toBe(1);
  for (let look = 0; look < 100; look++) {
    state.spent += 30;
    state.used += 0.05 * MB;
    clock.advance(10_000);
  }
  expect(state.tidied, "little by little it is not worth it").toBe(1);
  state.used += 2 * MB;
  clock.advance(10_000);
  expect(state.tidied, "now it is").toBe(2);
});

it("ends when it is told to", () => {
  const { clock, state, end } = program();
  end();
  clock.advance(60_000);
  expect(state.tidied).toBe(0);
});
