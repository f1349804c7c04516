import { expect, it } from "vitest";
import { renewalShare, renewalTime } from "./renewal.ts";

it.each([
  [0, 80_000],
  [1, 75_000],
])("renewal is due when a fifth to a quarter of the lifetime is left (%d)", (random, due) => {
  const life = { notBefore: new Date(0), notAfter: new Date(100_000) };
  expect(
    renewalTime(
      life,
      renewalShare(() => random),
    ),
  ).toBe(due);
});
