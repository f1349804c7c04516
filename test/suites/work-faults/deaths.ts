/** Agents and hubs killed at every named point of apply, change and deletion, right before and right after the write. */
import { describe, expect, it } from "vitest";
import { dies, diesSoon, HUB_POINTS, SPOKE_POINTS } from "./points.ts";
import type { WorkFaultStage } from "./stage.ts";
import { type Death, type Moment, Story } from "./story.ts";

export interface DeathOptions {
  /** Each has a work of its own, in whose life the agent dies at half of the points. An even number: pairs have all of them. */
  readonly seeds: readonly number[];
  /** Whether an agent that dies with every write is tried too. */
  readonly shortLives: boolean;
  /** When the API server of the hub dies, by each write of the agent. */
  readonly hubMoments: readonly Moment["when"][];
}

const POINTS = Object.entries({ ...HUB_POINTS, ...SPOKE_POINTS });

export function deathCases(stageOf: () => WorkFaultStage, { seeds, shortLives, hubMoments }: DeathOptions): void {
  const told = async (name: string, deaths: readonly Death[]) => {
    const stage = stageOf();
    const story = await Story.begin(stage, stage.fresh(name), deaths);
    try {
      await story.tell();
    } finally {
      await story.end();
    }
    return story;
  };

  it("every named point is one of some seed", () => {
    const named = seeds.flatMap((seed) => deathsOf(seed).map(({ name }) => name.replace(/^\w+ /, "")));
    expect([...new Set(named)].sort()).toEqual(POINTS.map(([name]) => name).sort());
  });

  describe.concurrent("an agent that is killed", () => {
    it.each(seeds.map((seed) => [seed, deathsOf(seed)] as const))(
      "at the points of seed %i goes on where it was, every time",
      async (seed, deaths) => {
        await told(`agent-${seed}`, deaths);
      },
      TIMEOUT_MS,
    );
  });

  it.skipIf(!shortLives)(
    "an agent that lives for no more than one write gets everything done",
    async () => {
      const story = await told("short-lives", Array.from({ length: LIVES }, diesSoon));
      expect(story.writes).toBeGreaterThan(LIVES);
    },
    TIMEOUT_MS,
  );

  it.each(hubMoments)(
    "a hub that is killed right %s any write has what it said, and hears the rest",
    async (when) => {
      const deaths = Object.entries(HUB_POINTS).map((point) => dies("hub", when, point));
      await told(`hub-${when}`, deaths);
    },
    TIMEOUT_MS,
  );
}

/** A story takes seconds where the machine has nothing else to do, and a program that starts needs its share of it. */
const TIMEOUT_MS = 600_000;
/** Fewer than there are writes in the life of a work. */
const LIVES = 20;

/** Of two seeds that make a pair the second has the points that the first has not, each at the other moment. */
function deathsOf(seed: number): Death[] {
  const pair = Math.ceil(seed / 2);
  const isSecond = seed % 2 === 0;
  let state = pair * 2_654_435_761;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return ((state >>> 16) & 1) === 1;
  };
  return POINTS.flatMap((point) => {
    const [isChosen, isBefore] = [random(), random()];
    if (isChosen === isSecond) return [];
    return dies("agent", isBefore === isSecond ? "after" : "before", point);
  });
}
