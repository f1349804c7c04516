import { expect, it } from "vitest";
import { sideBySide } from "./side-by-side.ts";

it("does all the work, and never more than so much at once", async () => {
  const done: number[] = [];
  let underWay = 0;
  let most = 0;
  const items = Array.from({ length: 20 }, (_, index) => index);
  const failures = await sideBySide(items, 3, async (item) => {
    most = Math.max(most, ++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    done.push(item);
  });
  expect([most, done.length, failures]).toEqual([3, 20, []]);
});

it("goes on when a piece fails, and tells what went wrong", async () => {
  const done: string[] = [];
  const failures = await sideBySide(["a", "b", "c"], 1, async (item) => {
    if (item === "b") throw new Error("no b");
    done.push(item);
  });
  expect(done).toEqual(["a", "c"]);
  expect(failures).toEqual([new Error("no b")]);
});
