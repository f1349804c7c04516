import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CelError,
  createEnvironment,
  DYN,
  fromCel,
  INT,
  listOf,
  mapOf,
  objectType,
  optionalOf,
  STRING,
  TIMESTAMP,
} from "./index.ts";

const env = createEnvironment({
  variables: {
    x: INT,
    s: STRING,
    list: listOf(INT),
    map: mapOf(STRING, INT),
    object: objectType("thing", { name: STRING, count: INT, nested: objectType("thing.nested", { on: DYN }) }),
    maybe: optionalOf(INT),
    when: TIMESTAMP,
    any: DYN,
  },
});

const bindings = {
  x: 5,
  s: "héllo 😀",
  list: [1, 2, 3],
  map: { a: 1, b: 2 },
  object: { name: "n", nested: { on: true } },
  maybe: 7,
  when: "2026-02-03T04:05:06.789Z",
  any: { list: [1, "two", 3.5, null], "with-dash": 1 },
};

const evaluate = (source: string) => env.compile(source).evaluate(bindings);

function failureOf(run: () => unknown): CelError {
  try {
    run();
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
  throw new Error("nothing failed");
}

const TRUE: Readonly<Record<string, readonly string[]>> = {
  literals: [
    "1 + 2 * 3 == 7",
    "0x1F == 31",
    "-9223372036854775808 < 0",
    "18446744073709551615u > 0u",
    "1e3 == 1000.0",
    ".5 + .5 == 1.0",
    "'a' + \"b\" + '''c\nd''' == 'abc\\nd'",
    "r'\\n' == '\\\\n'",
    "b'\\xff\\x00'.size() == 2",
    "b'é' == bytes('é')",
    "'\\u00e9' == 'é' && '\\U0001F600'.size() == 1 && '\\x41\\101' == 'AA'",
    "[1, 2,] == [1, 2] && {'a': 1,} == {'a': 1}",
    "true // a comment",
    "null == null",
  ],
  operators: [
    "7 / 2 == 3 && -7 / 2 == -3",
    "7 % 3 == 1 && -7 % 3 == -1",
    "1.0 / 0.0 > 1e308",
    "!(1 > 2) && !!true",
    "- x == -5 && --x == 5",
    "true ? true : 1 / 0 == 0",
    "1 < 2 == true",
    "2 in [1, 2] && !(3 in [1, 2]) && 'a' in {'a': 1}",
    "1 < 2.5 && 2u >= 2 && 1.5 < 2u",
    "dyn(1) == dyn(1.0) && dyn(1u) == dyn(1)",
    "dyn(1) != dyn('1') && dyn([1]) == dyn([1.0])",
    "'a' < 'b' && b'a' < b'b' && false < true",
    "double('NaN') != double('NaN')",
    "[1, 2] + [3] == [1, 2, 3]",
    "x > 3 || 1 / 0 == 0",
    "1 / 0 == 0 || x > 3",
    "!(1 / 0 == 0 && x < 3)",
  ],
  fields: [
    "object.name == 'n' && has(object.name) && !has(object.count)",
    "object.nested.on",
    "map.a == 1 && map['b'] == 2 && !has(map.c)",
    "list[0] == 1 && list[2] == 3",
    "any.list[1] == 'two' && any['with-dash'] == 1 && any.`with-dash` == 1",
    "any.list.size() == 4 && any.list[3] == null",
    "{1: 'a', 2u: 'b', true: 'c'}[true] == 'c'",
    "{1: 'a'}[dyn(1u)] == 'a' && {1: 'a'}[dyn(1.0)] == 'a'",
  ],
  macros: [
    "list.all(i, i > 0) && list.exists(i, i == 2) && list.exists_one(i, i > 2)",
    "list.map(i, i * 2) == [2, 4, 6] && list.map(i, i > 1, i * 10) == [20, 30]",
    "list.filter(i, i % 2 == 1) == [1, 3]",
    "map.all(k, map[k] > 0) && map.map(k, k).size() == 2",
    "[1, 0].exists(i, 1 / i == 1) && !([0, 1].all(i, 1 / i == 2))",
    "list.map(i, list.map(j, i * j)) == [[1, 2, 3], [2, 4, 6], [3, 6, 9]]",
    "list.all(i, v, v == i + 1) && map.exists(k, v, k == 'b' && v == 2) && list.existsOne(i, v, i == 0)",
    "list.transformList(i, v, i * v) == [0, 2, 6] && list.transformList(i, v, i > 0, v) == [2, 3]",
    "map.transformMap(k, v, v + 1) == {'a': 2, 'b': 3} && map.transformMap(k, v, v > 1, v) == {'b': 2}",
    "map.transformMapEntry(k, v, {v: k}) == {1: 'a', 2: 'b'}",
    "cel.bind(y, x * 2, y + y) == 20",
    "cel.bind(bad, 1 / 0, true)",
    "[3, 1, 2].sortBy(i, -i) == [3, 2, 1]",
    "[].all(i, i > 0) && ![].exists(i, true)",
  ],
  optionals: [
    "object.?count.orValue(9) == 9 && object.?name.orValue('') == 'n'",
    "map[?'z'].orValue(0) == 0 && list[?9].hasValue() == false && list[?0].value() == 1",
    "object.?nested.on.orValue(false)",
    "optional.of(1).optMap(v, v + 1) == optional.of(2)",
    "optional.none().optMap(v, 1).hasValue() == false",
    "optional.of([1]).optFlatMap(l, l[?0]) == optional.of(1)",
    "optional.ofNonZeroValue('') == optional.none() && optional.of(1).or(optional.of(2)).value() == 1",
    "[?optional.none(), ?optional.of(1)] == [1] && {?'a': optional.none(), 'b': 2} == {'b': 2}",
    "maybe.value() == 7 && maybe.orValue(1) == 7",
    "optional.of({'a': [1]}).a[0].value() == 1",
    "[optional.of(1), optional.none()].unwrapOpt() == [1]",
  ],
  conversions: [
    "int('42') == 42 && int(3.9) == 3 && int(-3.9) == -3 && int(5u) == 5",
    "uint(5) == 5u && double(2) == 2.0 && double('1.5') == 1.5",
    "string(1) == '1' && string(1.5) == '1.5' && string(1000000.0) == '1e+06' && string(true) == 'true'",
    "string(b'abc') == 'abc' && bytes('é').size() == 2 && bool('true')",
    "type(1) == int && type(1u) == uint && type('') == string",
    "type([1]) == type(['a']) && type({}) != type([])",
    "type(null) == null_type && type(int) == type && type(1.0) == double && type(b'') == bytes",
    "type(timestamp('2026-01-01T00:00:00Z')) == google.protobuf.Timestamp",
    "string(duration('90m')) == '5400s' && string(timestamp('2026-01-01T00:00:00.5Z')) == '2026-01-01T00:00:00.5Z'",
    "int(timestamp('1970-01-01T00:01:00Z')) == 60 && timestamp(60) == timestamp('1970-01-01T00:01:00Z')",
  ],
  time: [
    "timestamp('2026-01-01T00:00:00Z') + duration('1h30m') == timestamp('2026-01-01T01:30:00Z')",
    "timestamp('2026-01-02T00:00:00+01:00') - timestamp('2026-01-01T23:00:00Z') == duration('0s')",
    "duration('1h') > duration('59m59s') && duration('-1.5s') + duration('1500ms') == duration('0')",
    "when.getFullYear() == 2026 && when.getMonth() == 1 && when.getDate() == 3 && when.getDayOfMonth() == 2",
    "when.getDayOfWeek() == 2 && when.getDayOfYear() == 33 && when.getHours() == 4 && when.getMilliseconds() == 789",
    "when.getHours('+02:00') == 6 && when.getHours('America/New_York') == 23 && when.getDate('-05:00') == 2",
    "duration('3h').getHours() == 3 && duration('3h').getMinutes() == 180 && duration('1500ms').getMilliseconds() == 1500",
  ],
  strings: [
    "s.size() == 7 && size(s) == 7 && s.charAt(6) == '😀' && s.charAt(7) == ''",
    "'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')",
    "'hello'.matches('^h.*o$') && 'hello'.matches('l+') && !'hello'.matches('^l')",
    "s.indexOf('😀') == 6 && 'banana'.indexOf('an', 2) == 3 && 'banana'.lastIndexOf('an') == 3 && 'a'.indexOf('b') == -1",
    "['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b'",
    "'aBc'.lowerAscii() == 'abc' && 'aéb'.upperAscii() == 'AéB'",
    "'a-b-c'.replace('-', '+') == 'a+b+c' && 'a-b-c'.replace('-', '+', 1) == 'a+b-c' && 'ab'.replace('', '_') == '_a_b_'",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'ab'.split('') == ['a', 'b']",
    "s.substring(0, 2) == 'hé' && s.substring(6) == '😀' && ' \\t x '.trim() == 'x' && 'abc'.reverse() == 'cba'",
    "strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'",
    "'%d of %s is %.2f %%'.format([1, 'two', 3.14159]) == '1 of two is 3.14 %'",
    "'%s %s %s'.format([[1, 'a'], {'b': 1, 'a': null}, true]) == '[1, a] {a: null, b: 1} true'",
    "'%x %X %o %b %e'.format([255, 'hi', 8, 5, 1234.5]) == 'ff 6869 10 101 1.234500e+03'",
  ],
};

describe.each(Object.entries(TRUE))("%s", (_, expressions) => {
  it.each(expressions)("%s", (source) => {
    expect(evaluate(source)).toBe(true);
  });
});

describe("evaluation fails", () => {
  it.each([
    ["9223372036854775807 + 1", "integer overflow"],
    ["-(-9223372036854775807 - 1)", "integer overflow"],
    ["9223372036854775807 * 2", "integer overflow"],
    ["0u - 1u", "unsigned integer overflow"],
    ["1 / 0", "division by zero"],
    ["1 % 0", "modulus by zero"],
    ["list[3]", "index out of bounds: 3"],
    ["list[-1]", "index out of bounds: -1"],
    ["map.c", "no such key: c"],
    ["map['c']", "no such key: c"],
    ["object.count", "no such key: count"],
    ["any.missing.deep", "no such key: missing"],
    ["int('abc')", "type conversion error from 'string' to 'int'"],
    ["uint(-1)", "unsigned integer overflow"],
    ["int(1e30)", "integer overflow"],
    ["optional.none().value()", "optional.none() dereference"],
    ["any + 1", "no such overload: _+_(map, int)"],
    ["any.list.all(i, i > 0)", "no such overload: _>_(string, int)"],
    ["'a'.matches('(')", "error parsing regexp: missing closing ): `(`"],
    ["{'a': 1, 'a': 2}", "insert failed: key a already exists"],
    ["'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"],
    ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"],
  ])("%s: %s", (source, message) => {
    const error = failureOf(() => evaluate(source));
    expect([error.kind, error.message]).toEqual(["evaluation", message]);
  });

  it("names a variable that has no value", () => {
    expect(failureOf(() => env.compile("x").evaluate({})).message).toBe("no such attribute(s): x");
  });
});

describe("budget", () => {
  const nested = "list.all(a, list.all(b, list.all(c, a + b + c > 0)))";

  it("stops an expression that costs more than it may", () => {
    const error = failureOf(() => env.compile(nested).evaluate(bindings, { costLimit: 50 }));
    expect([error.kind, error.message]).toEqual(["cost", "operation cancelled: actual cost limit exceeded"]);
    expect(error.cost).toBeGreaterThan(50);
  });

  it("is not outvoted by the other side of an or", () => {
    const error = failureOf(() => env.compile(`${nested} || true`).evaluate(bindings, { costLimit: 50 }));
    expect(error.kind).toBe("cost");
  });

  it("tells what an expression cost", () => {
    expect(env.compile("x + 1 > 2").run(bindings).cost).toBe(3);
    expect(env.compile("has(object.name)").run(bindings).cost).toBe(1);
    expect(env.compile("[1, 2]").run(bindings).cost).toBe(10);
  });

  it("ends loops over loops within it, because lists can be multiplied faster than they can be walked", () => {
    const digits = "[0,1,2,3,4,5,6,7,8,9]";
    const many = `${digits}.all(a, ${digits}.all(b, ${digits}.all(c, ${digits}.all(d, ${digits}.all(e, ${digits}.all(f, ${digits}.all(g, true)))))))`;
    expect(failureOf(() => env.compile(many).evaluate({}, { costLimit: 1_000_000 })).kind).toBe("cost");
  });
});

describe("arithmetic", () => {
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const operations = {
    "+": (a: bigint, b: bigint) => a + b,
    "-": (a: bigint, b: bigint) => a - b,
    "*": (a: bigint, b: bigint) => a * b,
    "/": (a: bigint, b: bigint) => a / b,
    "%": (a: bigint, b: bigint) => a % b,
  };
  const pair = createEnvironment({ variables: { a: INT, b: INT } });

  it.each(Object.entries(operations))(
    "of %s is that of big integers, or an error outside 64 bits",
    (operator, expected) => {
      const program = pair.compile(`a ${operator} b`);
      fc.assert(
        fc.property(int64, fc.oneof(int64, fc.bigInt({ min: -3n, max: 3n })), (a, b) => {
          let want: bigint | undefined;
          if (b !== 0n || (operator !== "/" && operator !== "%")) {
            const exact = expected(a, b);
            if (BigInt.asIntN(64, exact) === exact) want = exact;
          }
          if (want === undefined) expect(() => program.evaluate({ a, b })).toThrow(CelError);
          else expect(program.evaluate({ a, b })).toBe(want);
        }),
      );
    },
  );

  it("orders numbers of all types as the numbers they are", () => {
    const program = createEnvironment({ variables: { a: DYN, b: DYN } }).compile("[a < b, a == b, a > b]");
    fc.assert(
      fc.property(int64, fc.double({ noNaN: true }), (a, b) => {
        // A whole double would come in as an int; as bindings are values already, halves stay doubles.
        fc.pre(!Number.isInteger(b));
        expect(program.evaluate({ a, b })).toEqual([a < b, false, a > b]);
      }),
    );
  });

  it("gives back through JSON what went in", () => {
    const program = createEnvironment({ variables: { value: DYN } }).compile("[value][0]");
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        expect(fromCel(program.evaluate({ value: plain }))).toEqual(plain);
      }),
    );
  });
});
