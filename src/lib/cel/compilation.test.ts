import { describe, expect, it } from "vitest";
import {
  CelError,
  createEnvironment,
  DYN,
  declare,
  formatType,
  INT,
  listOf,
  mapOf,
  objectType,
  overload,
  STRING,
  SyntaxIssue,
  typeFromSchema,
} from "./index.ts";

const variables = {
  x: INT,
  s: STRING,
  list: listOf(INT),
  map: mapOf(STRING, INT),
  object: objectType("thing", { name: STRING, parts: listOf(objectType("thing.part", { size: INT })) }),
  any: DYN,
};
const env = createEnvironment({ variables });
const strict = createEnvironment({ variables, strict: true });

function complaintsOf(source: string, environment = env): readonly string[] {
  try {
    environment.compile(source);
    return [];
  } catch (error) {
    if (error instanceof CelError) return error.issues.map(({ message }) => message);
    throw error;
  }
}

describe("types", () => {
  it.each([
    ["x + 1", "int"],
    ["[1, 2]", "list(int)"],
    ["{'a': [1.0]}", "map(string, list(double))"],
    ["object.parts.map(p, p.size)", "list(int)"],
    ["object.parts.filter(p, p.size > 1)", "list(thing.part)"],
    ["object.parts[0]", "thing.part"],
    ["object.?name", "optional_type(string)"],
    ["object.?parts[0].size.orValue(1)", "int"],
    ["any.whatever[0]", "dyn"],
    ["true ? x : any", "int"],
    ["list.exists(i, i > 1)", "bool"],
    ["map.transformMap(k, v, string(v))", "map(string, string)"],
    ["cel.bind(y, 'a', y + s)", "string"],
    ["[1, 'a']", "list(dyn)"],
    ["type(x)", "type(int)"],
    ["null", "null"],
    ["timestamp('2026-01-01T00:00:00Z') - timestamp('2026-01-01T00:00:00Z')", "duration"],
    ["s.split(',')", "list(string)"],
    ["optional.of(x).optMap(v, string(v))", "optional_type(string)"],
    ["[]", "list(dyn)"],
  ])("%s is %s", (source, type) => {
    expect(formatType(env.compile(source).resultType)).toBe(type);
  });
});

describe("complaints", () => {
  it.each([
    ["y", "undeclared reference to 'y' (in container '')"],
    ["nope(1)", "undeclared reference to 'nope' (in container '')"],
    ["object.missing", "undefined field 'missing'"],
    ["has(object.missing)", "undefined field 'missing'"],
    ["1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"],
    ["1 == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"],
    ["s.startsWith(1)", "found no matching overload for 'startsWith' applied to 'string.(int)'"],
    ["list.map(i, i + 'a')", "found no matching overload for '_+_' applied to '(int, string)'"],
    ["x.field", "type 'int' does not support field selection"],
    ["x.all(i, true)", "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"],
    ["list.all(i, i)", "expected type 'bool' but found 'int'"],
    ["x || true", "expected type 'bool' but found 'int'"],
    ["true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
    ["Thing{a: 1}", "undeclared reference to 'Thing' (in container '')"],
    ["has(x)", "invalid argument to has() macro"],
    ["list.all(1, true)", "argument must be a simple name"],
    ["namespace", "reserved identifier: namespace"],
    ["1 +", "Syntax error: mismatched input '<EOF>'"],
    ["(1", "Syntax error: missing ')' at '<EOF>'"],
    ["1 2", "Syntax error: mismatched input '2'"],
    ["'open", "Syntax error: unterminated string literal"],
    ["a = b", "Syntax error: token recognition error at: '='"],
    ["9223372036854775808", "invalid int literal"],
    ["'\\q'", "Syntax error: invalid escape sequence '\\q'"],
  ])("about %s", (source, message) => {
    expect(complaintsOf(source)).toEqual([message]);
  });

  it("come together, each with its place", () => {
    const source = "y +\n  object.missing";
    try {
      env.compile(source);
    } catch (error) {
      expect((error as CelError).message).toBe(
        [
          "ERROR: <input>:1:1: undeclared reference to 'y' (in container '')",
          " | y +",
          " | ^",
          "ERROR: <input>:2:9: undefined field 'missing'",
          " |   object.missing",
          " | ........^",
        ].join("\n"),
      );
      return;
    }
    throw new Error("it compiled");
  });

  it.each([
    ["[1, 'a']", "expected type 'int' but found 'string'"],
    ["{'a': 1, 'b': true}", "expected type 'int' but found 'bool'"],
    ["duration('soon')", "invalid duration argument"],
    ["timestamp('today')", "invalid timestamp argument"],
    ["s.matches('(')", "invalid matches argument"],
  ])("are stricter about %s where rules are checked", (source, message) => {
    expect(complaintsOf(source, strict)).toEqual([message]);
    expect(complaintsOf(source)).toEqual([]);
  });

  it("stop expressions that are too deep or too long", () => {
    expect(complaintsOf("(".repeat(300) + ")".repeat(300))).toEqual(["expression recursion limit exceeded: 250"]);
    expect(complaintsOf(`x${".y".repeat(400)}`)).toEqual(["expression recursion limit exceeded: 250"]);
    expect(complaintsOf(`'${"a".repeat(100_001)}'`)[0]).toMatch(/^expression code point size exceeds limit/);
    expect(complaintsOf(Array(500).fill("true").join(" && "))).toEqual([]);
  });
});

describe("without declarations", () => {
  const open = createEnvironment({ allowUndeclared: true });

  it("finds out what an expression refers to", () => {
    const { references, functions } = open.compile(
      "a.b[0].c + d['e'] + [1].map(v, v + f.g[a.i].h)[0] + size(j.?k.orValue([])) + cel.bind(l, m.n, l) + int(math.ceil(o))",
    );
    expect(references.map(({ name, path }) => [name, ...path].join("."))).toEqual([
      "a.b.0.c",
      "d.e",
      "f.g",
      "a.i",
      "j.k",
      "m.n",
      "o",
    ]);
    expect(functions.toSorted()).toEqual(["int", "math.ceil", "orValue", "size"]);
  });

  it("evaluates what it is given", () => {
    expect(open.compile("a.b + 1").evaluate({ a: { b: 2 } })).toBe(3n);
  });
});

describe("functions of the host", () => {
  it("are called like the others", () => {
    const twice = declare(
      "math.twice",
      overload("twice", "(int) -> int", (value: bigint) => value * 2n),
    );
    const host = createEnvironment({ functions: [twice] });
    expect(host.compile("math.twice(21)").evaluate()).toBe(42n);
    expect(complaintsOf("math.twice('a')", host)).toEqual([
      "found no matching overload for 'math.twice' applied to '(string)'",
    ]);
  });
});

describe("macros of the host", () => {
  it("are written out before the expression is checked", () => {
    const host = createEnvironment({
      variables,
      macros: [
        (call, make) => {
          if (call.name !== "twice") return undefined;
          const [value] = call.args;
          if (!value) throw new SyntaxIssue("twice() takes a value", call.offset);
          return make.call("_+_", [value, value], call.offset);
        },
      ],
    });
    expect(host.compile("twice(x)").evaluate({ x: 21 })).toBe(42n);
    expect(complaintsOf("twice()", host)).toEqual(["twice() takes a value"]);
  });
});

describe("estimates", () => {
  const schema = (type: object) => typeFromSchema({ type: "object", properties: { v: type } }) ?? DYN;
  const most = (source: string, type: object) =>
    createEnvironment({ variables: { self: schema(type) } }).compile(source).estimatedCost.max;

  it.each([
    ["self.v == 'a'", { type: "string" }, 3],
    ["self.v.all(i, i > 0)", { type: "array", maxItems: 10, items: { type: "integer" } }, 2 + 1 + 10 * (2 + 1 + 2)],
    ["self.v.contains('a')", { type: "string", maxLength: 100 }, 2 + 40],
    ["self.v.matches('a')", { type: "string", maxLength: 100 }, 2 + 41],
    ["has(self.v)", { type: "string" }, 1],
  ])("%s over %j costs at most %d", (source, type, cost) => {
    expect(most(source, type)).toBe(cost);
  });

  it("grow beyond every budget where nothing bounds a nested loop", () => {
    const strings = { type: "array", items: { type: "string" } };
    expect(most("self.v.all(a, self.v.all(b, a != b))", strings)).toBeGreaterThan(1e9);
    const bounded = { type: "array", maxItems: 10, items: { type: "string", maxLength: 10 } };
    expect(most("self.v.all(a, self.v.all(b, a != b))", bounded)).toBeLessThan(2000);
  });
});
