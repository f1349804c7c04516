import { describe, expect, it } from "vitest";
import { CONTRADICTION, clone, equal, goJson, merged, parseJson, stringifyJson } from "./index.ts";

describe("numbers", () => {
  it("keeps integers beyond 2^53 exact, because a CR may hold an int64", () => {
    const text = '{"a":9007199254740993,"b":[-9223372036854775808],"c":12345678901234567.5,"d":"9007199254740993"}';
    const value = parseJson(text) as Record<string, unknown>;
    expect(value.a).toBe(9007199254740993n);
    expect(value.d).toBe("9007199254740993");
    expect(stringifyJson({ a: value.a, b: value.b })).toBe('{"a":9007199254740993,"b":[-9223372036854775808]}');
  });

  it("reads small integers as numbers", () => {
    expect(parseJson('{"a":1234567890123456}')).toEqual({ a: 1234567890123456 });
  });

  it("refuses what is not JSON", () => {
    expect(() => parseJson('{"a":12345678901234567890')).toThrow(SyntaxError);
    expect(() => parseJson("-")).toThrow(SyntaxError);
  });
});

describe("__proto__", () => {
  it("is copied as a key and changes no prototype", () => {
    const hostile = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
    const copy = clone(hostile);
    expect(Object.keys(copy)).toEqual(["__proto__", "a"]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(equal(copy, hostile)).toBe(true);
  });
});

describe("equal", () => {
  it.each([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [[1, 2], [2, 1], false],
    [{ a: undefined }, {}, false],
    [1n, 1, true],
    [null, {}, false],
    [[], {}, false],
  ])("%o and %o: %s", (a, b, same) => {
    expect(equal(a, b)).toBe(same);
  });
});

describe("two changes of one value", () => {
  const conditions = (...types: string[]) => types.map((type) => ({ type, status: "True" }));
  it.each<[string, unknown, unknown, unknown, unknown]>([
    ["of different fields are both made", { a: 1, b: 1 }, { a: 2, b: 1 }, { a: 1, b: 2 }, { a: 2, b: 2 }],
    ["may take away and add", { a: 1, b: 1 }, { b: 1 }, { a: 1, b: 1, c: 1 }, { b: 1, c: 1 }],
    ["that are the same are one", { a: 1 }, { a: 2 }, { a: 2 }, { a: 2 }],
    ["of one field contradict each other", { a: 1 }, { a: 2 }, { a: 3 }, CONTRADICTION],
    ["contradict each other where one takes away what the other changes", { a: 1 }, {}, { a: 2 }, CONTRADICTION],
    ["of a list of texts are both made", ["x", "y"], ["x", "y", "z"], ["y", "w"], ["y", "z", "w"]],
    [
      "of a list of conditions are both made",
      conditions("A"),
      conditions("A", "B"),
      conditions("A", "C"),
      conditions("A", "B", "C"),
    ],
    ["of one condition contradict each other", [], conditions("A"), [{ type: "A", status: "False" }], CONTRADICTION],
    ["of any other list contradict each other", [1], [1, 2], [1, 3], CONTRADICTION],
    [
      "where items cannot be told apart contradict each other",
      [],
      conditions("A", "A"),
      conditions("B"),
      CONTRADICTION,
    ],
    [
      "deep inside are found",
      { a: { b: { c: 1 } } },
      { a: { b: { c: 2 } } },
      { a: { b: { c: 1, d: 1 } } },
      { a: { b: { c: 2, d: 1 } } },
    ],
    ["may both bring a list", {}, { f: ["a"] }, { f: ["b"] }, { f: ["a", "b"] }],
  ])("%s", (_, base, one, other, expected) => {
    expect(merged(base, one, other)).toEqual(expected);
  });
});

describe("JSON as Go writes it", () => {
  it.each<[string, unknown, string]>([
    ["names in order", { b: 1, a: [{ d: null, c: true }] }, '{"a":[{"c":true,"d":null}],"b":1}'],
    ["names that look like numbers too", { 9: 1, 10: 2, "": 3 }, '{"":3,"10":2,"9":1}'],
    ["names by their bytes", { "\u{1F600}": 1, "\uFF5E": 2 }, '{"\uFF5E":2,"\u{1F600}":1}'],
    ["what browsers may misread", "<a&b>\u2028", '"\\u003ca\\u0026b\\u003e\\u2028"'],
    ["integers that no number holds", { n: 9007199254740993n }, '{"n":9007199254740993}'],
  ])("has %s", (_, value, text) => {
    expect(goJson(value)).toBe(text);
  });
});
