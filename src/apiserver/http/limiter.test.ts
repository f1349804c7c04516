import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { thrown } from "../../../test/support/thrown.ts";
import { ApiError } from "../errors.ts";
import { createLimiter } from "./limiter.ts";

const open = () => new AbortController().signal;

function small(waitingPerPlace = 1) {
  const clock = new ManualClock();
  const places = { readOnly: 2, mutating: 1 };
  return { clock, limiter: createLimiter({ clock, places, waitingPerPlace, longestWaitMs: 1000 }) };
}

describe("the limiter", () => {
  it("gives places at once while there are any, and counts them", () => {
    const { limiter } = small();
    const leave = limiter.enter("readOnly", open);
    limiter.enter("readOnly", open);
    expect(typeof leave).toBe("function");
    expect([limiter.inFlight("readOnly"), limiter.inFlight("mutating")]).toEqual([2, 0]);
  });

  it("leaves room for writes when reads have taken all their places", () => {
    const { limiter } = small();
    for (let count = 0; count < 4; count++) limiter.enter("readOnly", open);
    expect(typeof limiter.enter("mutating", open)).toBe("function");
  });

  it("lets those who wait in, in the order in which they came", async () => {
    const { limiter } = small(2);
    const leave = await limiter.enter("mutating", open);
    const order: number[] = [];
    const waiting = [1, 2].map(async (number) => {
      const leaveToo = await limiter.enter("mutating", open);
      order.push(number);
      leaveToo();
    });
    leave();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2]);
    expect(limiter.inFlight("mutating")).toBe(0);
  });

  it("sends away at once who would stand in too long a line, with the time to come back", () => {
    const { limiter } = small(0);
    limiter.enter("mutating", open);
    const error = thrown(ApiError, () => limiter.enter("mutating", open));
    expect(error.status).toMatchObject({
      code: 429,
      reason: "TooManyRequests",
      details: { retryAfterSeconds: 1 },
    });
    expect(error.retryAfter).toBe(1);
    expect(limiter.rejected("mutating")).toBe(1);
  });

  it("sends away who waited too long", async () => {
    const { limiter, clock } = small();
    limiter.enter("mutating", open);
    const waiting = limiter.enter("mutating", open);
    clock.advance(1000);
    await expect(waiting).rejects.toThrow("too many requests");
    expect(limiter.inFlight("mutating")).toBe(1);
  });

  it("forgets who went away while waiting, because the place is somebody else's then", async () => {
    const { limiter } = small();
    const leave = await limiter.enter("mutating", open);
    const gone = new AbortController();
    const waiting = limiter.enter("mutating", () => gone.signal);
    gone.abort();
    await expect(waiting).rejects.toThrow();
    leave();
    expect(limiter.inFlight("mutating")).toBe(0);
  });

  it("takes a place back only once, however often it is given back", async () => {
    const { limiter } = small();
    const leave = await limiter.enter("readOnly", open);
    limiter.enter("readOnly", open);
    leave();
    leave();
    expect(limiter.inFlight("readOnly")).toBe(1);
  });
});
