import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "#lib/clock";
import { eventually } from "../../test/support/eventually.ts";
import { constant, type Followed, followedFile, textOf, withNewest } from "./followed.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});

/** A value that the test changes. */
function told() {
  let tell: (value: string | undefined) => void = () => {};
  let isFollowed = false;
  const source: Followed<string> = (next) => {
    tell = next;
    isFollowed = true;
    return () => {
      isFollowed = false;
    };
  };
  return { source, tell: (value: string | undefined) => tell(value), isFollowed: () => isFollowed };
}

function working(source: Followed<string>) {
  const stopping = new AbortController();
  const log: string[] = [];
  const ended = withNewest({
    source,
    mark: (value) => value.toLowerCase(),
    signal: stopping.signal,
    async work(value, signal) {
      log.push(`begins ${value}`);
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      log.push(`ends ${value}`);
    },
  });
  const stop = () => {
    stopping.abort();
    return ended;
  };
  ends.push(stop);
  return { log, stop };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("work that follows a value", () => {
  it("begins with the first, and starts over with each that means something else", async () => {
    const value = told();
    const { log, stop } = working(value.source);
    await settled();
    expect(log).toEqual([]);
    value.tell("a");
    value.tell("A");
    await settled();
    value.tell("b");
    await settled();
    expect(log).toEqual(["begins a", "ends a", "begins b"]);
    await stop();
    expect(log.at(-1)).toBe("ends b");
    expect(value.isFollowed()).toBe(false);
  });

  it("goes on with what it has while there is nothing, because files are gone while they are replaced", async () => {
    const value = told();
    const { log } = working(value.source);
    value.tell("a");
    await settled();
    value.tell(undefined);
    await settled();
    expect(log).toEqual(["begins a"]);
  });

  it("leaves out what was replaced before its turn came", async () => {
    const value = told();
    const { log } = working(value.source);
    for (const each of ["a", "b", "c"]) value.tell(each);
    await settled();
    expect(log).toEqual(["begins c"]);
  });

  it("that ends by itself waits for the next, and what it throws is thrown", async () => {
    const value = told();
    const seen: string[] = [];
    const ended = withNewest({
      source: value.source,
      mark: (each) => each,
      signal: new AbortController().signal,
      async work(each) {
        seen.push(each);
        if (each === "bad") throw new Error("no");
      },
    });
    value.tell("a");
    await settled();
    await settled();
    expect(seen).toEqual(["a"]);
    value.tell("bad");
    await expect(ended).rejects.toThrow("no");
    expect(value.isFollowed()).toBe(false);
  });

  it("takes a value that never changes", async () => {
    const { log } = working(constant("x"));
    await settled();
    expect(log).toEqual(["begins x"]);
  });
});

it("a file is read again when it changes, and missing is no fault", async () => {
  const dir = await mkdtemp(join(tmpdir(), "capstan-followed-"));
  ends.push(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, "value");
  const seen: (string | undefined)[] = [];
  const fail = (error: unknown) => {
    throw error;
  };
  ends.push(followedFile({ file, read: () => textOf(file), fail, clock: systemClock })((value) => seen.push(value)));
  await eventually(() => expect(seen).toEqual([undefined]));
  await writeFile(file, "one");
  await eventually(() => expect(seen.at(-1)).toBe("one"));
  await writeFile(file, "two");
  await eventually(() => expect(seen.at(-1)).toBe("two"));
});
