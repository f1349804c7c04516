import { describe, expect, it } from "vitest";
import { endOfString } from "./json-text.ts";

describe("the end of a string", () => {
  it.each([
    ['"" x', 1],
    ['"plain" "other"', 6],
    [String.raw`"a\"b" "`, 5],
    [String.raw`"a\\" "`, 4],
    [String.raw`"a\\\"b"`, 7],
    ['"never', 6],
    [String.raw`"never\"`, 8],
  ])("of %s is at %i", (text, end) => {
    expect(endOfString(text, 0)).toBe(end);
  });
});
