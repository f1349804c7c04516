import { describe, expect, it } from "vitest";
import { repeatedFields } from "./repeated-fields.ts";

describe("repeated fields", () => {
  it.each([
    ["nothing twice", '{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}', []],
    ["at the root", '{"a":1,"a":2}', ["a"]],
    ["below", '{"data":{"a":"1","a":"2"}}', ["data.a"]],
    ["in a list", '{"spec":{"c":[{"n":1},{"n":1,"n":2}]}}', ["spec.c[1].n"]],
    ["told once however often", '{"a":1,"a":2,"a":3}', ["a"]],
    ["by meaning and not by spelling", '{"a":1,"\\u0061":2}', ["a"]],
    ["not in strings", '{"a":"{\\"b\\":1,\\"b\\":2}"}', []],
    ["keys of every object's prototype", '{"__proto__":1,"constructor":2}', []],
  ])("%s", (_, text, expected) => {
    expect(repeatedFields(text)).toEqual(expected);
  });
});
