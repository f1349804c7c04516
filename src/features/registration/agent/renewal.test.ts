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

it("renewal waits for half of what was left, when the signer dated the certificate back by more than it lives", () => {
  const life = { notBefore: new Date(-300_000), notAfter: new Date(60_000) };
  const share = renewalShare(() => 0);
  expect(renewalTime(life, share)).toBe(-12_000);
  expect(renewalTime(life, share, 0)).toBe(30_000);
});
