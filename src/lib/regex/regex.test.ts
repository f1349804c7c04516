import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileRegex, RegexError } from "./index.ts";

describe("patterns", () => {
  it.each([
    ["abc", "xabcx", "abc"],
    ["^abc$", "abc\n", undefined],
    ["(?m)^b$", "a\nb\nc", "b"],
    ["a|ab", "ab", "a"],
    ["(?:a|ab)c", "abc", "abc"],
    ["a*?b", "aab", "aab"],
    ["a+?", "aaa", "a"],
    ["(?U)a+", "aaa", "a"],
    ["x{2,3}", "xxxx", "xxx"],
    ["x{2}", "xxxx", "xx"],
    ["x{,3}", "x{,3}", "x{,3}"],
    ["[a-c]+", "xxabcd", "abc"],
    ["[^a-c]+", "abcxyz", "xyz"],
    ["[]a]+", "]a]", "]a]"],
    ["[a\\-z]+", "b-a", "-a"],
    ["[[:alpha:]_]+", "12ab_", "ab_"],
    ["[[:^digit:]]+", "12ab", "ab"],
    ["\\d+\\.\\d+", "v1.25", "1.25"],
    ["\\w+@\\w+", "to me@here", "me@here"],
    ["\\bfoo\\b", "a foo b", "foo"],
    ["\\Bo", "foo", "o"],
    ["(?i)HeLLo", "say hello", "hello"],
    ["(?i:a)b", "Ab", "Ab"],
    ["(?i:a)b", "AB", undefined],
    ["(?s)a.b", "a\nb", "a\nb"],
    ["a.b", "a\nb", undefined],
    ["\\x41\\x{42}", "AB", "AB"],
    ["\\Qa.b\\E", "a.b", "a.b"],
    ["\\pL+", "1éß2", "éß"],
    ["\\p{Greek}+", "abγδ", "γδ"],
    ["\\P{Lu}", "Ab", "b"],
    [".", "😀", "😀"],
    ["^.{1}$", "😀", "😀"],
    ["(?P<year>\\d{4})-(?<month>\\d\\d)", "on 2026-11", "2026-11"],
    ["()", "a", ""],
    ["", "a", ""],
    ["\\Aa\\z", "a", "a"],
  ])("%s in %j finds %j", (pattern, text, expected) => {
    const match = compileRegex(pattern).find(text);
    expect(match && text.slice(match.start, match.end)).toBe(expected);
  });

  it.each([
    "(",
    ")",
    "a**",
    "*a",
    "[a",
    "a{1001}",
    "(a{100}){100}",
    "\\1",
    "(?=a)",
    "(?<!a)",
    "[b-a]",
    "\\",
    "[[:nope:]]",
    "\\p{Nope}",
  ])("%s is refused", (pattern) => {
    expect(() => compileRegex(pattern)).toThrow(RegexError);
  });

  it("finds all matches from left to right", () => {
    const text = "a1b22c333";
    const all = (pattern: string, limit?: number) =>
      compileRegex(pattern)
        .findAll(text, limit)
        .map(({ start, end }) => text.slice(start, end));
    expect(all("\\d+")).toEqual(["1", "22", "333"]);
    expect(all("\\d+", 2)).toEqual(["1", "22"]);
    expect(all("\\d*")).toEqual(["", "1", "22", "333"]);
  });
});

describe("time", () => {
  it.each(["(a+)+$", "(a|aa)+$", "(a*)*b", "^(.*?,){11}P"])(
    "%s is linear, where backtracking would take forever",
    (pattern) => {
      const started = process.hrtime.bigint();
      expect(compileRegex(pattern).test(`${"a".repeat(5000)}!`)).toBe(false);
      expect(Number(process.hrtime.bigint() - started)).toBeLessThan(2e9);
    },
  );
});

describe("agreement with RegExp on what both understand", () => {
  const atom = fc.constantFrom("a", "b", "c", ".", "[ab]", "[^a]", "\\d", "\\w", "(?:ab)", "(a|b)", "(?:a|bc|)");
  const repeated = fc
    .tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?"))
    .map((parts) => parts.join(""));
  const sequence = fc.array(repeated, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(""));
  const pattern = fc
    .tuple(fc.constantFrom("", "^"), fc.array(sequence, { minLength: 1, maxLength: 2 }), fc.constantFrom("", "$"))
    .map(([start, options, end]) => start + options.join("|") + end);
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c", "1", " "), maxLength: 8 });

  it("finds the same first match", () => {
    fc.assert(
      fc.property(pattern, text, (source, input) => {
        const theirs = new RegExp(source, "u").exec(input);
        const ours = compileRegex(source).find(input);
        expect(ours && input.slice(ours.start, ours.end)).toBe(theirs?.[0]);
        expect(ours?.start).toBe(theirs?.index);
      }),
      { numRuns: 1000 },
    );
  });
});
