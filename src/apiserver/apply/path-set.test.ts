import { describe, expect, it } from "vitest";
import { compareElements, keyElement, pathText, readElement, valueElement } from "./path-element.ts";
import {
  decodeFields,
  difference,
  differenceWithBelow,
  encodeFields,
  equalSets,
  has,
  intersection,
  isEmpty,
  NO_PATHS,
  type Path,
  type PathSet,
  pathSet,
  pathsOf,
  union,
} from "./path-set.ts";

/** The same numbers in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const ELEMENTS = ["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y","port":1}', 'v:"s"', "v:1", "i:0"];

function someSet(next: () => number): PathSet {
  const paths = Array.from({ length: Math.floor(next() * 8) }, () =>
    Array.from({ length: 1 + Math.floor(next() * 3) }, () => ELEMENTS[Math.floor(next() * ELEMENTS.length)] as string),
  );
  return pathSet(...paths);
}

const texts = (set: PathSet) => new Set(pathsOf(set).map((path) => path.join("/")));

describe("sets of paths", () => {
  const next = random(7);
  const pairs = Array.from({ length: 300 }, () => [someSet(next), someSet(next)] as const);

  it("are united, intersected and subtracted path by path", () => {
    for (const [a, b] of pairs) {
      const [left, right] = [texts(a), texts(b)];
      expect(texts(union(a, b))).toEqual(new Set([...left, ...right]));
      expect(texts(intersection(a, b))).toEqual(new Set([...left].filter((path) => right.has(path))));
      expect(texts(difference(a, b))).toEqual(new Set([...left].filter((path) => !right.has(path))));
    }
  });

  it("lose what is below a path when asked to", () => {
    for (const [a, b] of pairs) {
      const isBelow = (path: Path) => path.some((_, index) => has(b, path.slice(0, index + 1)));
      expect(pathsOf(differenceWithBelow(a, b))).toEqual(pathsOf(a).filter((path) => !isBelow(path)));
    }
  });

  it("come back from the form that managedFields keeps", () => {
    for (const [a] of pairs) expect(equalSets(decodeFields(JSON.parse(JSON.stringify(encodeFields(a)))), a)).toBe(true);
  });

  it("come back themselves when nothing changed, so that nobody writes them again", () => {
    for (const [a, b] of pairs) {
      expect(union(a, intersection(a, b))).toBe(a);
      expect(difference(a, difference(b, a))).toBe(a);
    }
  });

  it("keep no empty branches", () => {
    for (const [a, b] of pairs) {
      expect(isEmpty(difference(difference(a, b), a))).toBe(true);
      expect(isEmpty(difference(a, a))).toBe(true);
    }
  });
});

describe("FieldsV1", () => {
  it("says of an item that it is there, beside what it holds", () => {
    const set = pathSet(["f:metadata", "f:finalizers"], ["f:metadata", "f:finalizers", 'v:"example.com/f"']);
    expect(encodeFields(set)).toEqual({ "f:metadata": { "f:finalizers": { ".": {}, 'v:"example.com/f"': {} } } });
  });

  it("is written in order: fields, keys, values, places", () => {
    const set = pathSet(["i:1"], ["v:2"], ['k:{"a":1}'], ["f:b"], ["f:a"], ["v:10"], ["i:0"]);
    expect(Object.keys(encodeFields(set))).toEqual(["f:a", "f:b", 'k:{"a":1}', "v:2", "v:10", "i:0", "i:1"]);
  });

  it("takes an empty object for no fields", () => {
    expect(decodeFields({})).toBe(NO_PATHS);
    expect(isEmpty(decodeFields({ ".": {} }))).toBe(true);
  });

  it.each([
    [[]],
    [null],
    [{ "f:a": 1 }],
    [{ "x:a": {} }],
    [{ a: {} }],
    [{ "k:[]": {} }],
    [{ "v:{": {} }],
    [{ "i:x": {} }],
  ])("refuses %j", (fields) => {
    expect(() => decodeFields(fields)).toThrow(SyntaxError);
  });
});

describe("steps of a path", () => {
  it("are the same however somebody spaced and ordered their keys", () => {
    expect(readElement('k:{ "port": 80, "name":"a" }')).toBe(keyElement(["name", "port"], ["a", 80]));
  });

  it("escape what Go escapes, because equal items must have equal texts", () => {
    expect(valueElement("a<b&c")).toBe('v:"a\\u003cb\\u0026c"');
    expect(readElement('v:"a<b&c"')).toBe(valueElement("a<b&c"));
  });

  it("read well in messages", () => {
    const path = ["f:spec", "f:ports", keyElement(["port", "protocol"], [80, "TCP"]), "f:name"];
    expect(pathText(path)).toBe('.spec.ports[port=80,protocol="TCP"].name');
    expect(pathText(["f:finalizers", valueElement("x")])).toBe('.finalizers[="x"]');
    expect(pathText(["f:list", "i:3"])).toBe(".list[3]");
  });

  it("have an order that does not contradict itself", () => {
    const sorted = [...ELEMENTS].sort(compareElements);
    expect([...sorted].reverse().sort(compareElements)).toEqual(sorted);
  });
});
