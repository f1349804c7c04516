import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CelError, createEnvironment, DYN, fromCel, toCel } from "./index.ts";

const env = createEnvironment({ variables: { a: DYN, b: DYN } });

/** Runs what may fail, but only as an expression fails. */
function onlyCelErrors(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
  }
}

const words = [
  ..."+-*/%!?:.,()[]{}<>",
  ...["&&", "||", "==", "!=", "in", "has(", ".?a", "[?", ".all(x,", ".map(x,", "a", "b", "x", "1", "1u", "1.5", "'s'"],
  ...[
    "b'b'",
    "true",
    "null",
    "size(",
    "cel.bind(x,",
    "optional.of(",
    ".orValue(",
    "string(",
    "type(",
    "`q`",
    "r'",
    '"""',
  ],
];

describe("whatever is written", () => {
  it("is understood or refused, and never breaks the reader", () => {
    const text = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((parts) => parts.join(" "));
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ unit: "grapheme" })), (source) => {
        onlyCelErrors(() => env.compile(source).evaluate({ a: 1, b: [1, "x"] }));
      }),
      { numRuns: 2000 },
    );
  });

  const { expression } = fc.letrec<{ expression: string }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("a", "b", "1", "-2", "3u", "0.5", "'t'", "b'u'", "true", "null", "[]", "{}", "duration('1s')"),
      fc
        .tuple(
          tie("expression"),
          fc.constantFrom("+", "-", "*", "/", "%", "==", "<", ">=", "&&", "||", "in"),
          tie("expression"),
        )
        .map(([l, o, r]) => `(${l} ${o} ${r})`),
      fc
        .tuple(
          fc.constantFrom("size", "string", "int", "double", "type", "dyn", "optional.of", "!", "-"),
          tie("expression"),
        )
        .map(([f, e]) => `${f}(${e})`),
      fc
        .tuple(
          tie("expression"),
          fc.constantFrom(
            ".k",
            ".?k",
            "[0]",
            "[?'k']",
            ".size()",
            ".sum()",
            ".sort()",
            ".join()",
            ".distinct()",
            ".lowerAscii()",
          ),
        )
        .map(([e, s]) => `dyn(${e})${s}`),
      fc
        .tuple(tie("expression"), fc.constantFrom("all", "exists", "exists_one", "map", "filter"), tie("expression"))
        .map(([r, m, e]) => `dyn(${r}).${m}(x, ${e})`),
      fc.tuple(tie("expression"), tie("expression")).map(([l, r]) => `[${l}, ${r}]`),
      fc
        .tuple(tie("expression"), tie("expression"), tie("expression"))
        .map(([c, l, r]) => `(dyn(${c}) ? dyn(${l}) : dyn(${r}))`),
    ),
  }));

  it("gives the same value at the same cost twice, and an estimate that is a range", () => {
    fc.assert(
      fc.property(expression, fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }), (source, a, b) => {
        onlyCelErrors(() => {
          const program = env.compile(source);
          expect(program.estimatedCost.min).toBeLessThanOrEqual(program.estimatedCost.max);
          const first = program.run({ a, b });
          const second = program.run({ a, b });
          expect(second.cost).toBe(first.cost);
          expect(shown(second.value)).toBe(shown(first.value));
        });
      }),
      { numRuns: 1500 },
    );
  });
});

/** Values as text, whatever they are. */
function shown(value: unknown): string {
  try {
    return JSON.stringify(fromCel(value as never), (_, inner) => (typeof inner === "bigint" ? String(inner) : inner));
  } catch {
    return String(value);
  }
}

describe("keys that JavaScript has plans for", () => {
  it("are keys like others", () => {
    const raw = JSON.parse('{"__proto__": 1, "constructor": 2}');
    const program = env.compile("a['__proto__'] == 1 && a.constructor == 2 && !has(a.toString) && !('valueOf' in a)");
    expect(program.evaluate({ a: raw })).toBe(true);
    expect(() => env.compile("toString").evaluate()).toThrow(CelError);
    expect(fromCel(toCel(raw))).toEqual(raw);
    expect(Object.keys(fromCel(env.compile("{'__proto__': 1}").evaluate()) as object)).toEqual(["__proto__"]);
  });
});
