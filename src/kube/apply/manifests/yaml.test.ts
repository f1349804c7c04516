import { describe, expect, it } from "vitest";
import { parseDocuments } from "./yaml.ts";

const read = (text: string) => parseDocuments(`v: ${text}`)[0]?.value;

describe("scalars, as kubectl reads them", () => {
  it.each<[string, unknown, string]>([
    ["0644", 420, "a file mode is octal"],
    ["0o17", 15, "in both spellings"],
    ["012_3", 83, "with underscores too"],
    ["09", 9, "what cannot be octal is a decimal float"],
    ["1_000", 1000, "underscores part thousands"],
    ["0b11", 3, "binary"],
    ["0x1F", 31, "hexadecimal"],
    ["-0x10", -16, "with a sign"],
    ["+1", 1, "with the other sign"],
    ["1e3", 1000, "an exponent needs no dot"],
    [".5", 0.5, "nor a leading zero"],
    ["1.", 1, "nor anything behind the dot"],
    ["9007199254740993", 9007199254740993n, "int64 stays exact beyond 2^53"],
    ["12345678901234567890", 12345678901234567890n, "uint64 as well"],
    ["123456789012345678901234567890", 1.2345678901234568e29, "what is larger is a float"],
    ["yes", true, "the words of YAML 1.1 are booleans"],
    ["y", true, "even a single letter"],
    ["Off", false, "in several spellings"],
    ["~", null, "null"],
    ["", null, "nothing"],
    ['"yes"', "yes", "what is quoted is text"],
    ["2020-01-01", "2020-01-01", "a date is text"],
    ["1:30", "1:30", "so is a time of day"],
    ["_1", "_1", "so is what begins with an underscore"],
    ["1e400", "1e400", "so is what no float can hold"],
  ])("%s is %o, because %s", (text, value) => {
    expect(read(text)).toEqual({ v: value });
  });

  it("merges with <<, tagged or not, because release manifests do", () => {
    const text = "base: &b {x: 1, y2: 2}\nplain:\n  <<: *b\n  y2: 3\ntagged:\n  !!merge <<: *b\n  z: 1\n";
    expect(parseDocuments(text)[0]?.value).toMatchObject({ plain: { x: 1, y2: 3 }, tagged: { x: 1, y2: 2, z: 1 } });
  });

  it("reads JSON with exact integers", () => {
    expect(parseDocuments('{"v": 9007199254740993}')[0]?.value).toEqual({ v: 9007199254740993n });
  });
});

describe("documents", () => {
  it("are told apart, with the lines they begin in; empty ones are left out", () => {
    const text = "# comment\n---\n\na: 1\n--- # next\nb: 2\n...\n---\n# nothing\n--- {c: 3}\n";
    expect(parseDocuments(text)).toEqual([
      { line: 4, value: { a: 1 } },
      { line: 6, value: { b: 2 } },
      { line: 10, value: { c: 3 } },
    ]);
  });

  it("may begin with a byte order mark and directives, and end lines as Windows does", () => {
    expect(parseDocuments("\uFEFF%YAML 1.2\r\n---\r\na: 1\r\n")).toEqual([{ line: 3, value: { a: 1 } }]);
  });

  it("that are broken are named by line, and do not hide each other or the whole ones", () => {
    const text = "a: 1\n---\nb: [1\nc: 2\n---\nd: 1\nd: 2\n---\ne: !!js/function x\n";
    expect(parseDocuments(text)).toEqual([
      { line: 1, value: { a: 1 } },
      { line: 4, problem: expect.stringContaining("flow") },
      { line: 7, problem: "duplicated mapping key" },
      { line: 9, problem: expect.stringContaining("unknown tag") },
    ]);
  });

  it("never quote the text when they are broken, because it may hold a secret", () => {
    const [{ problem = "" } = {}] = parseDocuments("password: hunter2\n\tbad: tab\n");
    expect(problem).not.toBe("");
    expect(problem).not.toContain("hunter2");
  });

  it("that unfold to more than memory holds are refused", () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(", ")}]`,
    );
    expect(parseDocuments(`l0: &l0 x\n${levels.join("\n")}\n`)).toEqual([
      { line: 1, problem: expect.stringContaining("aliases") },
    ]);
  });

  it("that are nested too deeply are refused", () => {
    expect(parseDocuments(`a: ${"[".repeat(20_000)}${"]".repeat(20_000)}`)).toEqual([
      { line: 1, problem: expect.stringMatching(/nest/) },
    ]);
  });

  it("share nothing, although aliases made them so", () => {
    const [document] = parseDocuments("a: &x {k: 1}\nb: *x\n");
    const value = document?.value as { a: object; b: object } | undefined;
    expect(value?.a).toEqual(value?.b);
    expect(value?.a).not.toBe(value?.b);
  });
});
