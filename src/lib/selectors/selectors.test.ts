import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LabelSelector } from "#api/meta";
import { labelSelector, parseFieldSelector, parseLabelSelector, SelectorError } from "./index.ts";

describe("label selectors", () => {
  const labels = { app: "web", tier: "front", "example.com/size": "12", empty: "" };
  it.each([
    ["", true],
    ["  ", true],
    ["app=web", true],
    ["app==web", true],
    [" app = web , tier = front ", true],
    ["app!=web", false],
    ["missing!=web", true],
    ["app in (web,api)", true],
    ["app in (api)", false],
    ["app notin (web)", false],
    ["missing notin (web)", true],
    ["app", true],
    ["missing", false],
    ["!missing", true],
    ["!app", false],
    ["example.com/size>11", true],
    ["example.com/size<12", false],
    ["app>1", false],
    ["missing<1", false],
    ["empty=", true],
    ["empty in (,)", true],
    ["missing=", false],
    ["app=web,tier=back", false],
    ["in in (in)", false],
    ["notin", false],
    ["constructor", false],
    ["app in (web,)", true],
  ])("%j matches: %s", (text, matches) => {
    expect(parseLabelSelector(text).matches(labels)).toBe(matches);
  });

  it.each([
    ["a===b", "unable to parse requirement: found '=', expected: identifier"],
    ["=b", "found '=', expected: !, identifier, or 'end of string'"],
    ["a=b,", "found '', expected: identifier after ','"],
    ["a=b c", "found 'c', expected: ',' or 'end of string'"],
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    [
      "a in ()",
      "unable to parse requirement: values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    ],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["a=!b", "unable to parse requirement: found '!', expected: identifier"],
    [
      "a>x",
      `unable to parse requirement: values[0]: Invalid value: "x": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
  ])("%j is refused: %s", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(new SelectorError(message));
  });

  it.each([
    ["-a=b", '<nil>: Invalid value: "-a": name part must consist of'],
    ["a=-b", 'values[0][a]: Invalid value: "-b": a valid label must be'],
  ])("%j is refused, because it cannot be a label", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(`unable to parse requirement: ${message}`);
  });

  it("can be written and read again", () => {
    const word = fc.constantFrom("a", "b1", "in", "notin", "x.y/z");
    const value = fc.constantFrom("a", "b", "", "1");
    const requirement = fc.oneof(
      word,
      word.map((key) => `!${key}`),
      fc.tuple(word, fc.constantFrom("=", "==", "!="), value).map((parts) => parts.join("")),
      fc.tuple(word, fc.constantFrom(">1", "<22")).map((parts) => parts.join("")),
      fc
        .tuple(word, fc.constantFrom("in", "notin"), fc.array(value, { minLength: 1, maxLength: 3 }))
        .map(([key, operator, values]) => `${key} ${operator} (${values.join(",") || ","})`),
    );
    fc.assert(
      fc.property(fc.array(requirement, { maxLength: 4 }), (parts) => {
        const selector = parseLabelSelector(parts.join(","));
        expect(parseLabelSelector(selector.toString()).requirements).toEqual(selector.requirements);
      }),
    );
  });

  it("answer at once, however long the text", () => {
    const long = Array.from({ length: 50_000 }, (_, index) => `k${index} in (a,b)`).join(" , ");
    expect(parseLabelSelector(long).requirements).toHaveLength(50_000);
    expect(() => parseLabelSelector(`${"(".repeat(200_000)}`)).toThrow(SelectorError);
    expect(() => parseLabelSelector(`a${" ".repeat(200_000)}b`)).toThrow(SelectorError);
  });
});

describe("selectors in specs", () => {
  const rows: [why: string, selector: LabelSelector | undefined, matches: boolean][] = [
    ["a missing selector matches nothing", undefined, false],
    ["an empty one matches everything", {}, true],
    ["labels", { matchLabels: { app: "web" } }, true],
    [
      "labels and expressions are joined",
      { matchLabels: { app: "web" }, matchExpressions: [{ key: "app", operator: "DoesNotExist" }] },
      false,
    ],
    ["In", { matchExpressions: [{ key: "app", operator: "In", values: ["web", "api"] }] }, true],
    ["NotIn", { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }, false],
    ["Exists", { matchExpressions: [{ key: "app", operator: "Exists" }] }, true],
  ];
  it.each(rows)("%s", (_, selector, matches) => {
    expect(labelSelector(selector).matches({ app: "web" })).toBe(matches);
  });

  it("are written as Kubernetes writes them", () => {
    const selector = labelSelector({
      matchLabels: { b: "2", a: "1" },
      matchExpressions: [{ key: "c", operator: "In", values: ["y", "x"] }],
    });
    expect(selector.toString()).toBe("a=1,b=2,c in (x,y)");
  });

  it("are refused with an operator that is none", () => {
    const matchExpressions = [{ key: "a", operator: "Gt" }] as unknown as LabelSelector["matchExpressions"] & object;
    expect(() => labelSelector({ matchExpressions })).toThrow('"Gt" is not a valid label selector operator');
    expect(() => labelSelector({ matchExpressions: [{ key: "a", operator: "In" }] })).toThrow("can't be empty");
  });
});

describe("field selectors", () => {
  const fields = new Map([
    ["metadata.name", "x"],
    ["note", "a,b=c\\d"],
  ]);
  it.each([
    ["", true],
    ["metadata.name=x", true],
    ["metadata.name==x", true],
    ["metadata.name!=x", false],
    ["metadata.name=x,,metadata.namespace=", true],
    ["metadata.name=x,metadata.namespace!=", false],
    ["note=a\\,b\\=c\\\\d", true],
  ])("%j matches: %s", (text, matches) => {
    const selector = parseFieldSelector(text);
    const read = (field: string) => fields.get(field) ?? "";
    expect(selector.matches(read)).toBe(matches);
    expect(parseFieldSelector(selector.toString()).matches(read)).toBe(matches);
  });

  it.each([
    ["metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
    ["a=\\x", "invalid field selector: invalid escape sequence: \\x"],
    ["a=\\", "invalid field selector: invalid escape sequence: \\"],
  ])("%j is refused: %s", (text, message) => {
    expect(() => parseFieldSelector(text)).toThrow(new SelectorError(message));
  });

  it("tell which single object they mean", () => {
    expect(parseFieldSelector("metadata.name=x,a!=b").exact("metadata.name")).toBe("x");
    expect(parseFieldSelector("metadata.name!=x").exact("metadata.name")).toBeUndefined();
  });
});
