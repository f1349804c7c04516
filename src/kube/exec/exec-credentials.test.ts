import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { ExecError } from "./error.ts";
import { ExecCredentials } from "./exec-credentials.ts";
import { type ExecMetrics, noExecMetrics } from "./metrics.ts";
import type { Answer } from "./protocol.ts";

const MINUTE = 60_000;

interface Stage {
  clock: ManualClock;
  credentials: ExecCredentials;
  /** How often the plugin was asked. */
  asked: () => number;
  /** What it answers from now on. */
  answer: (next: () => Promise<Answer>) => void;
  /** Tokens that listeners heard of. */
  heard: (string | undefined)[];
}

function stage(metrics: ExecMetrics = noExecMetrics): Stage {
  const clock = new ManualClock();
  let count = 0;
  let next = async (): Promise<Answer> => ({ credential: { token: `t${count}` } });
  const ask = () => {
    count++;
    return next();
  };
  const credentials = new ExecCredentials({ ask, identity: "i", clock, random: () => 0, metrics });
  const heard: (string | undefined)[] = [];
  credentials.onChange(({ token }) => heard.push(token));
  return {
    clock,
    credentials,
    asked: () => count,
    answer: (replacement) => {
      next = replacement;
    },
    heard,
  };
}

/** Lets what was begun in the background come to its end. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

const lasting = (clock: ManualClock, token: string, ms: number) => async (): Promise<Answer> => ({
  credential: { token },
  expires: clock.now().getTime() + ms,
});

const broken = async () => Promise.reject(new ExecError("failed", "no"));

describe("a credential", () => {
  it("without an end is kept", async () => {
    const { clock, credentials, asked } = stage();
    await credentials.current();
    clock.advance(365 * 24 * 60 * MINUTE);
    expect(await credentials.current()).toEqual({ token: "t1" });
    expect(asked()).toBe(1);
  });

  it.each([
    ["an hour", 60 * MINUTE, 48 * MINUTE],
    ["four minutes, of which a minute is spared", 4 * MINUTE, 3 * MINUTE],
    ["a minute, of which half is spared", MINUTE, MINUTE / 2],
  ])("of %s is renewed in the background before it ends", async (_, life, renewal) => {
    const { clock, credentials, asked, answer, heard } = stage();
    answer(lasting(clock, "one", life));
    await credentials.current();
    clock.advance(renewal - 1);
    expect((await credentials.current()).token).toBe("one");
    expect(asked()).toBe(1);

    answer(lasting(clock, "two", life));
    clock.advance(1);
    expect((await credentials.current()).token).toBe("one"); // nobody waits for the new one
    await settled();
    expect((await credentials.current()).token).toBe("two");
    expect(asked()).toBe(2);
    expect(heard).toEqual(["two"]);
  });

  it("serves until its end when the plugin fails, which is asked ever less often", async () => {
    const { clock, credentials, asked, answer } = stage();
    answer(lasting(clock, "one", 60 * MINUTE));
    await credentials.current();
    answer(broken);
    clock.advance(50 * MINUTE);
    for (let seconds = 0; seconds < 9 * 60; seconds++) {
      expect((await credentials.current()).token).toBe("one");
      await settled();
      clock.advance(1_000);
    }
    expect(asked()).toBeLessThan(20);
    clock.advance(MINUTE);
    await expect(credentials.current()).rejects.toThrow("no");
  });

  it("that had expired when it came is used once, and the plugin is not asked again at once", async () => {
    const { clock, credentials, asked, answer } = stage();
    answer(lasting(clock, "old", -MINUTE));
    expect((await credentials.current()).token).toBe("old");
    await expect(credentials.current()).rejects.toMatchObject({ reason: "expired" });
    await expect(credentials.refresh({ token: "old" })).rejects.toMatchObject({ reason: "expired" });
    expect(asked()).toBe(1);
    clock.advance(1_000);
    answer(lasting(clock, "good", MINUTE));
    expect((await credentials.current()).token).toBe("good");
  });
});

describe("a refused credential", () => {
  it("is replaced by asking once, however many were refused with it", async () => {
    const { clock, credentials, asked } = stage();
    const first = await credentials.current();
    clock.advance(MINUTE);
    const renewed = await Promise.all([1, 2, 3].map(() => credentials.refresh(first)));
    expect(renewed.map(({ token }) => token)).toEqual(["t2", "t2", "t2"]);
    expect(await credentials.refresh(first)).toEqual({ token: "t2" }); // refused before it was replaced
    expect(asked()).toBe(2);
  });

  it("that the plugin gives again and again is not asked for with every refusal", async () => {
    const { clock, credentials, asked, answer } = stage();
    answer(async () => ({ credential: { token: "same" } }));
    const first = await credentials.current();
    for (let seconds = 0; seconds < 60; seconds++) {
      clock.advance(1_000);
      expect(await credentials.refresh(first)).toEqual({ token: "same" });
    }
    expect(asked()).toBeLessThan(9);
  });
});

describe("a broken plugin", () => {
  it("is asked again after a pause that grows to a minute", async () => {
    const { clock, credentials, asked, answer } = stage();
    answer(broken);
    const pauses: number[] = [];
    for (let seconds = 0, last = 0; pauses.length < 8; seconds++) {
      const before = asked();
      await expect(credentials.current()).rejects.toThrow("no");
      if (asked() > before && before > 0) {
        pauses.push(seconds - last);
      }
      if (asked() > before) last = seconds;
      clock.advance(1_000);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it("is forgiven as soon as it works", async () => {
    const { clock, credentials, answer } = stage();
    answer(broken);
    await expect(credentials.current()).rejects.toThrow("no");
    clock.advance(1_000);
    answer(async () => ({ credential: { token: "good" } }));
    expect(await credentials.current()).toEqual({ token: "good" });
  });
});

it("tells how old a certificate was when it was replaced, and when the next one ends", async () => {
  const told: unknown[] = [];
  const metrics = {
    ...noExecMetrics,
    certificate: (_: string, until: number | undefined) => told.push(["until", until]),
    rotated: (age: number) => told.push(["age", age]),
  };
  const { clock, credentials, answer } = stage(metrics);
  const certificate = (cert: string) => async () => ({
    credential: { cert, key: "k" },
    certificateFrom: clock.now().getTime(),
    certificateUntil: 5,
  });
  answer(certificate("one"));
  const first = await credentials.current();
  clock.advance(90_000);
  answer(certificate("two"));
  await credentials.refresh(first);
  expect(told).toEqual([
    ["until", 5],
    ["age", 90],
    ["until", 5],
  ]);
});
