import { describe, expect, it } from "vitest";
import { parseYaml } from "./yaml.ts";

describe("YAML", () => {
  it("keeps dates as the text they are", () => {
    expect(parseYaml("at: 2026-01-01")).toEqual({ value: { at: "2026-01-01" } });
  });

  const rows: [why: string, text: string, value: unknown, repetition: string][] = [
    ["a plain key", "a: 1\nb: 2\na: 3\n", { a: 3, b: 2 }, 'line 3: key "a" already set in map'],
    ["a quoted key", "data:\n  'x y': 1\n  'x y': 2\n", { data: { "x y": 2 } }, 'line 3: key "x y" already set in map'],
    ["a key in JSON", '{"a":1,"a":2}', { a: 2 }, 'line 1: key "a" already set in map'],
  ];
  it.each(rows)("lets the last one count and says which came twice: %s", (_, text, value, repetition) => {
    expect(parseYaml(text)).toEqual({ value, repetition });
  });

  it("does not read what is none", () => {
    expect(() => parseYaml("a: [")).toThrow();
  });
});
