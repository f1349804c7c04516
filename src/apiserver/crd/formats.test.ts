import { describe, expect, it } from "vitest";
import { stringFormat } from "./formats.ts";
import { compilePattern } from "./pattern.ts";

describe("stringFormat", () => {
  it.each<[string, string[], string[]]>([
    ["date", ["2026-02-28", "2024-02-29"], ["2026-02-29", "2026-13-01", "26-1-1"]],
    [
      "date-time",
      ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123+02:00"],
      ["2026-01-01", "2026-01-01T25:00:00Z", ""],
    ],
    ["duration", ["5m", "1h30m", "0", "3 days"], ["5 parsecs", ""]],
    ["email", ["a@example.com"], ["a", "a@b@c"]],
    ["hostname", ["a.example.com", "localhost"], ["-a", "a..b", ""]],
    ["ipv4", ["10.0.0.1"], ["10.0.0.256", "::1"]],
    ["ipv6", ["::1"], ["10.0.0.1", "fe80::1%eth0"]],
    ["cidr", ["10.0.0.0/8", "fd00::/64"], ["10.0.0.0", "10.0.0.0/33"]],
    ["mac", ["00:00:5e:00:53:01", "0000.5e00.5301"], ["00:00:5e"]],
    ["uri", ["https://example.com/a", "/path"], ["no scheme", ""]],
    ["uuid", ["a3525e51-2fc1-4c1f-9df7-081d8cde9879"], ["a3525e51"]],
    ["uuid4", ["a3525e51-2fc1-4c1f-9df7-081d8cde9879"], ["a3525e51-2fc1-5c1f-9df7-081d8cde9879"]],
    ["byte", ["", "YQ==", "YWI=", "YWJj"], ["YQ=", "a b=", "===="]],
    ["bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f"]],
    ["creditcard", ["4111 1111 1111 1111"], ["4111111111111112"]],
    ["isbn", ["0-306-40615-2", "978-0-306-40615-7"], ["0-306-40615-3"]],
    ["rgbcolor", ["rgb(0, 10, 255)"], ["rgb(0,0,256)"]],
  ])("%s", (name, fine, wrong) => {
    const check = stringFormat(name) ?? (() => undefined);
    expect(fine.filter((text) => !check(text))).toEqual([]);
    expect(wrong.filter((text) => check(text))).toEqual([]);
  });

  it("knows no check for formats that only describe", () => {
    expect(stringFormat("password")).toBeUndefined();
    expect(stringFormat("constructor")).toBeUndefined();
  });
});

describe("compilePattern", () => {
  it.each<[string, string, boolean]>([
    ["^[a-z]+$", "abc", true],
    ["^.$", "😀", true], // one character, though two code units
    ["(?i)^abc$", "ABC", true],
    ["\\Aabc\\z", "abc", true],
    ["^\\\\z$", "\\z", true],
    ["^[[:alpha:]_]+$", "a_b", true],
    ["^(?P<year>\\d+)$", "2026", true],
    ["^[a-z0-9-\\.]+$", "a-b.c", true], // refused in unicode mode
  ])("%s on %s", (pattern, text, matches) => {
    expect(compilePattern(pattern)?.test(text)).toBe(matches);
  });
});
