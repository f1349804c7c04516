import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { Rounds } from "./rounds.ts";

describe("rounds", () => {
  const turn = () => new Promise(setImmediate);
  const watchers = (count: number, told: number[]) =>
    Array.from({ length: count }, (_, index) => () => told.push(index));

  it("come at the end of the turn, and once for each watcher", async () => {
    const told: number[] = [];
    const rounds = new Rounds(new ManualClock());
    const [one] = watchers(1, told);
    for (let time = 0; time < 3; time++) rounds.join(one as () => void);
    expect(told).toEqual([]);
    await turn();
    expect(told).toEqual([0]);
  });

  it("follow each other at once while few watch", async () => {
    const told: number[] = [];
    const rounds = new Rounds(new ManualClock());
    for (let round = 0; round < 3; round++) {
      for (const watcher of watchers(10, told)) rounds.join(watcher);
      await turn();
    }
    expect(told).toHaveLength(30);
  });

  it("are apart when many watch, so that events gather, and none is forgotten", async () => {
    const told: number[] = [];
    const clock = new ManualClock();
    const rounds = new Rounds(clock);
    const many = watchers(100, told);
    for (let time = 0; time < 5; time++) {
      for (const watcher of many) rounds.join(watcher);
      await turn();
    }
    expect(told).toHaveLength(100);
    clock.advance(4);
    expect(told).toHaveLength(200);
    clock.advance(20); // an empty round, and after that no pause
    rounds.join(many[0] as () => void);
    await turn();
    expect(told).toHaveLength(201);
  });
});
