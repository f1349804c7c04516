import fc from "fast-check";
import { expect, it } from "vitest";
import { SharedStrings } from "./shared-strings.ts";

it("changes nothing that can be seen", () => {
  const strings = new SharedStrings();
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = JSON.parse(JSON.stringify(value));
      expect(strings.share(copy)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it("leaves keys that mean something to the engine as they are", () => {
  const value = JSON.parse(
    '{"__proto__":{"reason":"a reason of some length"},"constructor":"a constructor of its own"}',
  );
  expect(JSON.stringify(new SharedStrings().share(value))).toBe(
    '{"__proto__":{"reason":"a reason of some length"},"constructor":"a constructor of its own"}',
  );
});

it("remembers what it was shown, and not for ever", () => {
  const strings = new SharedStrings();
  for (let index = 0; index < 100_000; index++) strings.share(`a string of its own ${index}`);
  expect(strings.size).toBeLessThanOrEqual(2 * 4096);
});
