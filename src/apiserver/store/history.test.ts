import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { History } from "./history.ts";
import { Compacted, type StoreEvent } from "./types.ts";

const event = (revision: number, resource = "pods"): StoreEvent => ({
  type: "ADDED",
  resource,
  key: `a/${revision}`,
  revision,
  object: { apiVersion: "v1", kind: "Pod", metadata: { name: `${revision}` } },
});
const revisions = (events: StoreEvent[]) => events.map(({ revision }) => revision);

/** A clock that knows how many timers are set. */
class CountingClock extends ManualClock {
  timers = 0;
  override after(ms: number, task: () => void): () => void {
    this.timers++;
    return super.after(ms, () => {
      this.timers--;
      task();
    });
  }
}

describe("history", () => {
  const limits = { seconds: 75, least: 3, most: 10 };

  it("keeps the newest events of a quiet resource for ever, without a timer", () => {
    const clock = new CountingClock();
    const history = new History(1, limits, clock);
    for (const revision of [2, 3, 4]) history.append(event(revision), clock.now().getTime());
    expect(clock.timers).toBe(0);
    clock.advance(86_400_000);
    expect(revisions(history.since("pods", 1))).toEqual([2, 3, 4]);
    history.append(event(5), clock.now().getTime());
    expect(revisions(history.since("pods", 2))).toEqual([3, 4, 5]);
    expect(clock.timers).toBe(0);
  });

  it("forgets a burst when its time is over though nothing follows, and then sets no timer any more", () => {
    const clock = new CountingClock();
    const history = new History(1, limits, clock);
    for (const revision of [2, 3, 4, 5, 6]) history.append(event(revision), clock.now().getTime());
    clock.advance(74_999);
    expect(revisions(history.since("pods", 1))).toEqual([2, 3, 4, 5, 6]);
    clock.advance(1);
    expect(revisions(history.since("pods", 3))).toEqual([4, 5, 6]);
    expect(() => history.since("pods", 2)).toThrow(Compacted);
    expect(clock.timers).toBe(0);
  });

  it("never keeps more than the most", () => {
    const history = new History(1, limits, new ManualClock());
    for (let revision = 2; revision < 2000; revision++) history.append(event(revision), 0);
    expect(history.oldest).toBe(1989);
    expect(revisions(history.since("pods", 1989))).toEqual([
      1990, 1991, 1992, 1993, 1994, 1995, 1996, 1997, 1998, 1999,
    ]);
  });

  it("answers for a resource without events as far back as it knows", () => {
    const history = new History(7, limits, new ManualClock());
    expect(history.since("pods", 7)).toEqual([]);
    expect(() => history.since("pods", 6)).toThrow(Compacted);
  });
});
