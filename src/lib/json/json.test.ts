import { describe, expect, it } from "vitest";
import { clone, equal, parseJson, stringifyJson } from "./index.ts";

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
