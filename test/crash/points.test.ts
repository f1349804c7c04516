import { describe, expect, it } from "vitest";
import { CRASH_POINTS, type CrashPoint, storyOf } from "../../src/apiserver/store/testing/crash-points.ts";
import { crashRun } from "../../src/apiserver/store/testing/crash-run.ts";
import { Random } from "../../src/apiserver/store/testing/random.ts";

const SEEDS_PER_POINT = 200;
const STORIES = 1_000;
const LONGEST_STORY = 6;

const points = Object.keys(CRASH_POINTS) as [CrashPoint, ...CrashPoint[]];
const base = Date.now() % 1_000_000_000;

/** What fails names its seed, so that it can be played again. */
async function played(story: { points: readonly CrashPoint[]; seed: number }): Promise<CrashPoint[]> {
  try {
    return await crashRun(story);
  } catch (error) {
    throw new Error(`crashes at ${story.points.join(", ")} with seed ${story.seed}`, { cause: error });
  }
}

describe("a store that crashes", () => {
  it.each(points)(
    `at %s loses nothing, ${SEEDS_PER_POINT} times`,
    async (point) => {
      for (let seed = base; seed < base + SEEDS_PER_POINT; seed++) {
        const reached = await played({ points: storyOf(point), seed });
        expect(reached, `seed ${seed}`).toContain(point);
      }
    },
    10 * 60_000,
  );

  it(
    `at any points, again and again, loses nothing in ${STORIES} stories`,
    async () => {
      for (let seed = base; seed < base + STORIES; seed++) {
        const random = new Random(seed);
        const length = 1 + random.below(LONGEST_STORY);
        await played({ points: Array.from({ length }, () => random.pick(points)), seed });
      }
    },
    10 * 60_000,
  );
});
