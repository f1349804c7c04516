import { describe, it } from "vitest";
import { crashRounds } from "./rounds.ts";

const ROUNDS = 200;

describe("an API server that is killed", () => {
  it(
    `keeps its word ${ROUNDS} times`,
    () => {
      const seed = Date.now();
      console.log(`seed ${seed}`);
      return crashRounds({
        rounds: ROUNDS,
        seed,
        onRound: (round) => {
          if (round % 20 === 0) console.log(`${round} of ${ROUNDS} rounds`);
        },
      });
    },
    30 * 60_000,
  );
});
