/** Rules in CEL (`x-kubernetes-validations`): what definitions may say, and what objects have to follow. */
import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { OpenApiSchema, ValidationRule } from "#api/schema";
import { ruleErrors } from "./rule-errors.ts";
import { fieldPathOf } from "./rule-path.ts";
import { ruleValidators } from "./rule-validator.ts";

const text: OpenApiSchema = { type: "string" };
const integer: OpenApiSchema = { type: "integer" };

function withRules(schema: OpenApiSchema, ...rules: (string | ValidationRule)[]): OpenApiSchema {
  return { ...schema, "x-kubernetes-validations": rules.map((rule) => (typeof rule === "string" ? { rule } : rule)) };
}

const fields = (properties: Record<string, OpenApiSchema>): OpenApiSchema => ({ type: "object", properties });
const root = (spec: OpenApiSchema): OpenApiSchema => fields({ spec });

function widget(spec: unknown): DynamicObject {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "w" }, spec };
}

/** What the rules say about a spec that replaces another. */
function judge(schema: OpenApiSchema, spec: unknown, before?: unknown): string[] {
  const object = widget(spec);
  const current = before === undefined ? undefined : widget(before);
  return ruleValidators(schema)
    .flatMap((validator) => validator(object, current))
    .map(({ reason, field, message }) => `${reason} ${field}: ${message}`);
}

function complaints(schema: OpenApiSchema): string[] {
  return ruleErrors(schema, "schema").map(({ reason, field, message }) => `${reason} ${field}: ${message}`);
}

describe("objects", () => {
  it("are not looked at where a schema has no rules", () => {
    expect(ruleValidators(root(text))).toEqual([]);
  });

  it("break rules at every level, each reported at its place", () => {
    const schema = root(
      withRules(
        fields({
          size: withRules(integer, "self % 2 == 0"),
          parts: { type: "array", items: withRules(fields({ name: text }), "self.name != 'bad'") },
          labels: { type: "object", additionalProperties: withRules(text, "self.size() < 3") },
        }),
        { rule: "self.size <= 10", message: "at most ten" },
      ),
    );
    expect(judge(schema, { size: 11, parts: [{ name: "ok" }, { name: "bad" }], labels: { a: "long" } })).toEqual([
      "FieldValueInvalid spec: Invalid value: at most ten",
      "FieldValueInvalid spec.size: Invalid value: 11: failed rule: self % 2 == 0",
      "FieldValueInvalid spec.parts[1]: Invalid value: failed rule: self.name != 'bad'",
      'FieldValueInvalid spec.labels[a]: Invalid value: "long": failed rule: self.size() < 3',
    ]);
    expect(judge(schema, { size: 10, parts: [], labels: {} })).toEqual([]);
  });

  it("have a name and a kind at the root, whatever the schema says", () => {
    const rule = "self.metadata.name == 'w' && self.kind == 'Widget' && self.apiVersion.startsWith('example.com/')";
    expect(judge(withRules(root(text), rule), "x")).toEqual([]);
    expect(judge(withRules(root(text), "self.metadata.name == 'other'"), "x")).toEqual([
      "FieldValueInvalid <nil>: Invalid value: failed rule: self.metadata.name == 'other'",
    ]);
  });

  it("are told by reason, path and message what a rule wants", () => {
    const schema = root(
      withRules(
        fields({ a: text, "b-c": text, namespace: text }),
        { rule: "self.a != 'r'", reason: "FieldValueRequired", message: "needed" },
        { rule: "self.a != 'f'", reason: "FieldValueForbidden", fieldPath: ".a", message: " no " },
        { rule: "self.a != 'd'", reason: "FieldValueDuplicate" },
        { rule: "self.a != 'm'", messageExpression: "'a is ' + self.a", message: "unused" },
        { rule: "self.a != 'e'", messageExpression: "self.b__dash__c + 'x'", message: "fallback" },
        { rule: "!has(self.b__dash__c) || self.b__dash__c == 'v'", fieldPath: "['b-c']" },
        { rule: "!has(self.__namespace__) || self.__namespace__ == 'v'", message: "ns" },
      ),
    );
    expect(judge(schema, { a: "r" })).toEqual(["FieldValueRequired spec: Required value: needed"]);
    expect(judge(schema, { a: "f" })).toEqual(["FieldValueForbidden spec.a: Forbidden: no"]);
    expect(judge(schema, { a: "d" })).toEqual(["FieldValueDuplicate spec: Duplicate value"]);
    expect(judge(schema, { a: "m" })).toEqual(["FieldValueInvalid spec: Invalid value: a is m"]);
    expect(judge(schema, { a: "e" })).toEqual(["FieldValueInvalid spec: Invalid value: fallback"]);
    expect(judge(schema, { a: "", "b-c": "w", namespace: "w" })).toEqual([
      "FieldValueInvalid spec.b-c: Invalid value: failed rule: !has(self.b__dash__c) || self.b__dash__c == 'v'",
      "FieldValueInvalid spec: Invalid value: ns",
    ]);
  });

  it("change only as rules about change allow, from the first update on", () => {
    const immutable = { rule: "self == oldSelf", message: "is immutable" };
    const items = withRules(fields({ name: text, size: integer }), "self.size >= oldSelf.size");
    const schema = root(
      fields({
        color: withRules(text, immutable),
        parts: { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], items },
      }),
    );
    const before = {
      color: "red",
      parts: [
        { name: "a", size: 2 },
        { name: "b", size: 1 },
      ],
    };
    expect(judge(schema, before)).toEqual([]);
    expect(
      judge(
        schema,
        {
          color: "blue",
          parts: [
            { name: "b", size: 2 },
            { name: "a", size: 1 },
            { name: "c", size: 0 },
          ],
        },
        before,
      ),
    ).toEqual([
      'FieldValueInvalid spec.color: Invalid value: "blue": is immutable',
      "FieldValueInvalid spec.parts[1]: Invalid value: failed rule: self.size >= oldSelf.size",
    ]);
  });

  it("are checked at creation too by rules for which the old value is optional", () => {
    const rule = "oldSelf.hasValue() ? self >= oldSelf.value() : self == 1";
    const schema = root(withRules(integer, { rule, optionalOldSelf: true, message: "grows from 1" }));
    expect(judge(schema, 2)).toHaveLength(1);
    expect(judge(schema, 1)).toEqual([]);
    expect(judge(schema, 0, 1)).toHaveLength(1);
    expect(judge(schema, 5, 1)).toEqual([]);
  });

  it("keep what they were, because rules may be younger than they are", () => {
    const schema = root(fields({ a: withRules(text, "self.size() > 3"), b: text }));
    expect(judge(schema, { a: "x", b: "new" }, { a: "x", b: "old" })).toEqual([]);
    expect(judge(schema, { a: "y", b: "old" }, { a: "x", b: "old" })).toHaveLength(1);
  });

  it("get errors where a rule cannot be evaluated", () => {
    const map: OpenApiSchema = { type: "object", additionalProperties: integer };
    expect(judge(root(withRules(map, "self.a > 1", "self.a / 0 > 1")), { b: 1 })).toEqual([
      'FieldValueInvalid spec: Invalid value: "object": no such key: a evaluating rule: self.a > 1',
      'FieldValueInvalid spec: Invalid value: "object": no such key: a evaluating rule: self.a / 0 > 1',
    ]);
  });

  it("do not cost more than their budget", () => {
    const list: OpenApiSchema = { type: "array", items: integer };
    const schema = root(
      withRules(list, { rule: "self.all(a, self.all(b, a != b + 1000000))", message: "costly" }, "true"),
    );
    expect(
      judge(
        schema,
        Array.from({ length: 2000 }, (_, index) => index),
      ),
    ).toEqual([
      "FieldValueInvalid spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: costly",
    ]);
  });
});

describe("definitions", () => {
  const at = "schema.properties[spec].x-kubernetes-validations[0]";

  it("may bring rules that compile and are cheap", () => {
    expect(complaints(root(withRules(fields({ a: text }), "self.a == 'a'", "self.a == oldSelf.a")))).toEqual([]);
  });

  it.each([
    [
      "an unknown field",
      fields({ a: text }),
      { rule: "self.b == 'a'" },
      "rule",
      /compilation failed: ERROR: <input>:1:5: undefined field 'b'/,
    ],
    [
      "another type than bool",
      fields({ a: text }),
      { rule: "self.a" },
      "rule",
      /cel expression must evaluate to a bool/,
    ],
    ["no rule", text, { rule: " " }, "rule", /Required value: rule is not specified/],
    ["a message of lines", text, { rule: "true", message: "a\nb" }, "message", /must not contain line breaks/],
    [
      "lines without a message",
      text,
      { rule: "true\n&& true" },
      "message",
      /must be specified if rule contains line breaks/,
    ],
    ["an unknown reason", text, { rule: "true", reason: "Because" }, "reason", /Unsupported value: "Because"/],
    ["a path to nowhere", fields({ a: text }), { rule: "true", fieldPath: ".b" }, "fieldPath", /must be a valid path/],
    [
      "a message that is no string",
      text,
      { rule: "true", messageExpression: "1" },
      "messageExpression",
      /must evaluate to a string/,
    ],
    [
      "an old value that no one asks for",
      text,
      { rule: "true", optionalOldSelf: true },
      "optionalOldSelf",
      /may not be set if oldSelf is not used/,
    ],
  ] as const)("may not have rules with %s", (_, schema, rule, field, message) => {
    const [first, ...rest] = ruleErrors(root(withRules(schema, rule)), "schema");
    expect(first?.field).toBe(`${at}.${field}`);
    expect(first?.message).toMatch(message);
    expect(rest).toEqual([]);
  });

  it("may not compare items with old ones where items cannot be told apart", () => {
    const list: OpenApiSchema = { type: "array", maxItems: 5, items: withRules(text, "self == oldSelf") };
    expect(complaints(root(list))).toEqual([
      'FieldValueInvalid schema.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[spec]',
    ]);
  });

  it("may not have rules that could cost too much", () => {
    const list: OpenApiSchema = { type: "array", items: text };
    expect(complaints(root(withRules(list, "self.filter(x, x != '').size() > 1")))).toEqual([
      expect.stringMatching(
        /^FieldValueForbidden .*rule: Forbidden: estimated rule cost exceeds budget by factor of 1.468006x/,
      ),
    ]);
    expect(complaints(root(withRules(list, "self.all(x, self.all(y, x == y))")))).toEqual([
      expect.stringContaining("estimated rule cost exceeds budget by factor of more than 100x"),
      expect.stringContaining("contributed to estimated rule cost total exceeding cost limit"),
      expect.stringContaining("estimated rule cost total for entire OpenAPIv3 schema exceeds budget"),
    ]);
    const bounded = { ...list, maxItems: 20, items: { ...text, maxLength: 20 } };
    expect(complaints(root(withRules(bounded, "self.all(x, self.all(y, x == y))")))).toEqual([]);
  });
});

describe("paths of fields", () => {
  const schema = fields({ a: fields({ "b.c": text }), m: { type: "object", additionalProperties: text } });

  it.each([
    [".a", "a"],
    [".a['b.c']", "a.b.c"],
    [".m.key", "m[key]"],
    [".m['k\\'y']", "m[k'y]"],
    [".x", undefined],
    ["a", undefined],
    [".a[0]", undefined],
    [".a.", undefined],
  ])("%s is %s", (path, expected) => {
    expect(fieldPathOf(path, schema)).toBe(expected);
  });
});
