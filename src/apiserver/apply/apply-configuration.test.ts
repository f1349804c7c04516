import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { ApiError } from "../errors.ts";
import { pathSet } from "./path-set.ts";
import { configMaps, pods, Subject, THING, thing, things } from "./testing/subject.ts";
import { customVersions } from "./versions.ts";

function refusal(act: () => unknown): ApiError["status"] {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  throw new Error("nothing was refused");
}

const FORCE = { force: true };

describe("an apply", () => {
  it("creates what is not there, and owns what it says", () => {
    const subject = new Subject().apply(
      "m",
      thing({ n: 1, set: ["a"], items: [{ name: "x" }], one: { a: "1" }, map: { a: "1" } }),
    );
    expect(subject.spec).toEqual({ n: 1, set: ["a"], items: [{ name: "x" }], one: { a: "1" }, map: { a: "1" } });
    expect(subject.owners).toEqual({
      "m Apply": {
        "f:spec": {
          "f:items": { 'k:{"name":"x","protocol":"TCP"}': { ".": {}, "f:name": {} } },
          "f:map": { "f:a": {} },
          "f:n": {},
          "f:one": {},
          "f:set": { 'v:"a"': {} },
        },
      },
    });
  });

  it("leaves alone what it does not speak of", () => {
    const subject = new Subject().put("u", thing({ n: 1, map: { a: "1" } })).apply("m", thing({ map: { b: "1" } }));
    expect(subject.spec).toEqual({ n: 1, map: { a: "1", b: "1" } });
  });

  it("shares what others own and it says alike", () => {
    const subject = new Subject().apply("a", thing({ n: 1 })).apply("b", thing({ n: 1, text: "x" }));
    expect(subject.owners).toEqual({
      "a Apply": { "f:spec": { "f:n": {} } },
      "b Apply": { "f:spec": { "f:n": {}, "f:text": {} } },
    });
  });

  it("records who was there before the first apply", () => {
    const subject = new Subject();
    subject.object = thing({ n: 1, text: "x" });
    subject.apply("m", thing({ n: 1 }));
    expect(subject.owners).toEqual({
      "m Apply": { "f:spec": { "f:n": {} } },
      "before-first-apply Update": { "f:spec": { ".": {}, "f:n": {}, "f:text": {} } },
    });
  });

  it("keeps its time when it changes nothing, and has none when it never changed anything", () => {
    const subject = new Subject().apply("a", thing({ n: 1 }));
    subject.now = new Date("2031-01-01T00:00:00Z");
    subject.apply("a", thing({ n: 1 })).apply("b", thing({ n: 1 }));
    expect(subject.entries.map(({ manager, time }) => [manager, time])).toEqual([
      ["b", undefined],
      ["a", "2030-01-01T00:00:00Z"],
    ]);
  });

  it("owns nothing of what the endpoint leaves alone", () => {
    const as = { subresource: "status", ignored: pathSet(["f:spec"]) };
    const subject = new Subject().put("u", thing({ n: 1 })).apply("m", thing({ n: 1 }, { status: { n: 2 } }), { as });
    expect(subject.owners).toMatchObject({ "m Apply status": { "f:status": { "f:n": {} } } });
    expect(subject.object?.status).toEqual({ n: 2 });
  });

  it("in another version is still the same manager's", () => {
    const subject = new Subject().apply("m", thing({ n: 1, text: "x" }));
    subject.apply("m", { ...thing({ n: 1 }), apiVersion: "x.io/v2" }, { as: { apiVersion: "x.io/v2" } });
    expect(subject.spec).toEqual({ n: 1 });
    expect(subject.entries).toMatchObject([{ manager: "m", apiVersion: "x.io/v2" }]);
  });

  it("folds what has become one thing since", () => {
    const subject = new Subject().apply("m", thing({ map: { a: "1", b: "2" } }));
    const whole = structuredClone(THING);
    Object.assign(whole.properties?.spec?.properties?.map ?? {}, { "x-kubernetes-map-type": "atomic" });
    const versions = customVersions("Thing", [{ apiVersion: "x.io/v1", schema: whole }]);
    subject.apply("n", thing({ text: "x" }), { as: { versions } });
    expect(subject.owners).toMatchObject({ "m Apply": { "f:spec": { "f:map": {} } } });
  });
});

describe("lists", () => {
  const rows: [why: string, live: unknown[], config: unknown[], merged: unknown[]][] = [
    ["what is only live stays where it is", ["a", "b"], ["c"], ["a", "b", "c"]],
    ["what both have comes in the order of the configuration", ["a", "b", "c"], ["c", "a"], ["b", "c", "a"]],
    ["what is new goes where the configuration has it", ["a", "c"], ["a", "b", "c"], ["a", "b", "c"]],
    ["repeated live items become one", ["a", "b", "a"], ["a"], ["a", "b"]],
    ["nothing says nothing", ["a"], [], ["a"]],
  ];
  it.each(rows)("%s", (_, live, config, merged) => {
    const subject = new Subject().put("u", thing({ set: live }));
    expect(subject.apply("m", thing({ set: config }), FORCE).spec).toEqual({ set: merged });
  });

  it("of items merge item by item", () => {
    const subject = new Subject().put(
      "u",
      thing({
        items: [
          { name: "a", protocol: "TCP", v: 1 },
          { name: "b", protocol: "TCP" },
        ],
      }),
    );
    subject.apply(
      "m",
      thing({
        items: [
          { name: "b", v: 2 },
          { name: "a", protocol: "UDP" },
        ],
      }),
    );
    expect(subject.spec).toEqual({
      items: [
        { name: "a", protocol: "TCP", v: 1 },
        { name: "b", protocol: "TCP", v: 2 },
        { name: "a", protocol: "UDP" },
      ],
    });
  });

  it("that are one thing are replaced", () => {
    const subject = new Subject().apply("m", thing({ whole: ["a", "b"] })).apply("m", thing({ whole: ["c"] }));
    expect(subject.spec).toEqual({ whole: ["c"] });
  });

  it("of ports are told apart by protocol, and TCP need not be said", () => {
    const pod = (ports: unknown[]) =>
      ({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: { containers: [{ name: "a", ports }] },
      }) as unknown as DynamicObject;
    const subject = new Subject(pods, "v1").put("u", pod([{ containerPort: 53, protocol: "TCP" }]));
    subject.apply(
      "m",
      pod([
        { containerPort: 53, name: "dns" },
        { containerPort: 53, protocol: "UDP" },
      ]),
    );
    expect(subject.spec).toEqual(
      pod([
        { containerPort: 53, protocol: "TCP", name: "dns" },
        { containerPort: 53, protocol: "UDP" },
      ]).spec,
    );
  });
});

describe("what is no longer applied", () => {
  const rows: [why: string, subject: () => Subject, spec: unknown][] = [
    ["goes", () => new Subject().apply("m", thing({ n: 1, text: "x" })).apply("m", thing({ n: 1 })), { n: 1 }],
    [
      "goes from sets",
      () => new Subject().apply("m", thing({ set: ["a", "b"] })).apply("m", thing({ set: ["b"] })),
      { set: ["b"] },
    ],
    [
      "goes from lists with keys",
      () =>
        new Subject()
          .apply("m", thing({ items: [{ name: "a" }, { name: "b", v: 1 }] }))
          .apply("m", thing({ items: [{ name: "b" }] })),
      { items: [{ name: "b" }] },
    ],
    [
      "takes the map along that it leaves empty",
      () => new Subject().apply("m", thing({ n: 1, map: { a: "1" } })).apply("m", thing({ n: 1 })),
      { n: 1 },
    ],
    [
      "takes everything along, in the end",
      () => new Subject().apply("m", thing({ map: { a: "1" } })).apply("m", thing()),
      undefined,
    ],
    [
      "stays when somebody else applies it, too",
      () =>
        new Subject()
          .apply("m", thing({ n: 1, text: "x" }))
          .apply("o", thing({ text: "x" }))
          .apply("m", thing({ n: 1 })),
      { n: 1, text: "x" },
    ],
    [
      "stays when somebody else has changed it since",
      () =>
        new Subject()
          .apply("m", thing({ n: 1, text: "x" }))
          .put("u", thing({ n: 1, text: "y" }))
          .apply("m", thing({ n: 1 })),
      { n: 1, text: "y" },
    ],
    [
      "stays when it was never the manager's own",
      () =>
        new Subject()
          .put("u", thing({ n: 1, free: { a: { b: 1 } } }))
          .apply("m", thing({ free: { a: { c: 1 } } }))
          .apply("m", thing()),
      { n: 1, free: { a: { b: 1 } } },
    ],
  ];
  it.each(rows)("%s", (_, subject, spec) => {
    expect(subject().spec).toEqual(spec);
  });
});

describe("a conflict", () => {
  const contested = () => new Subject().apply("a", thing({ n: 1, text: "x" })).put("u", thing({ n: 1, text: "y" }));

  it("names the manager and the field", () => {
    expect(refusal(() => contested().apply("m", thing({ text: "z" })))).toMatchObject({
      code: 409,
      reason: "Conflict",
      message: 'Apply failed with 1 conflict: conflict with "u" using x.io/v1: .spec.text',
      details: {
        causes: [{ reason: "FieldManagerConflict", message: 'conflict with "u" using x.io/v1', field: ".spec.text" }],
      },
    });
  });

  it("names them all, by manager", () => {
    const subject = contested().put("s", thing({ n: 1, text: "y", one: {} }), { as: { subresource: "status" } });
    expect(refusal(() => subject.apply("m", thing({ text: "z", n: 2, one: { a: "1" } }))).message).toBe(
      'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.n\nconflicts with "s" with subresource "status" using x.io/v1:\n- .spec.one\nconflicts with "u" using x.io/v1:\n- .spec.text',
    );
  });

  it("is over when it is forced, and the field is the winner's alone", () => {
    const subject = contested().apply("m", thing({ text: "z" }), FORCE);
    expect(subject.spec).toEqual({ n: 1, text: "z" });
    expect(subject.owners).toEqual({
      "a Apply": { "f:spec": { "f:n": {} } },
      "m Apply": { "f:spec": { "f:text": {} } },
    });
  });
});

describe("a configuration of the wrong type", () => {
  const rows: [spec: Record<string, unknown>, why: string][] = [
    [{ x: 1 }, ".spec.x: field not declared in schema"],
    [{ n: "1" }, ".spec.n: expected numeric (int or float), got string"],
    [{ text: 1 }, ".spec.text: expected string, got &value.valueUnstructured{Value:1}"],
    [{ set: ["a", "a"] }, '.spec.set: duplicate entries for key [="a"]'],
    [
      { items: [{ name: "a" }, { name: "a", protocol: "TCP" }] },
      '.spec.items: duplicate entries for key [name="a",protocol="TCP"]',
    ],
    [{ items: [null] }, ".spec.items: element 0: associative list with keys may not have a null element"],
    [{ set: {} }, ".spec.set: expected list, got &{{}}"],
    [{ map: [] }, ".spec.map: expected map, got &{[]}"],
    [
      { n: "1", text: true },
      "errors:\n  .spec.n: expected numeric (int or float), got string\n  .spec.text: expected string, got &value.valueUnstructured{Value:true}",
    ],
  ];
  it.each(rows)("%j", (spec, why) => {
    expect(refusal(() => new Subject().apply("m", thing(spec)))).toMatchObject({
      code: 500,
      message: `failed to create typed patch object (/t; x.io/v1, Kind=Thing): ${why}`,
    });
  });

  it("is fine where nobody described the fields", () => {
    expect(new Subject().apply("m", thing({ free: { a: [{ b: 1 }], c: null } })).owners).toEqual({
      "m Apply": { "f:spec": { "f:free": { "f:a": {}, "f:c": {} } } },
    });
  });
});

describe("kubectl, after client-side apply", () => {
  const LAST = "kubectl.kubernetes.io/last-applied-configuration";
  const configMap = (data: Record<string, string>, metadata: Record<string, unknown> = {}) =>
    ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", ...metadata }, data }) as unknown as DynamicObject;
  const applied = configMap({ a: "1", b: "1" });
  const annotated = (data: Record<string, string>) =>
    configMap(data, { annotations: { [LAST]: JSON.stringify(applied) } });
  const migrated = () => new Subject(configMaps, "v1").put("kubectl-client-side-apply", annotated({ a: "1", b: "1" }));

  it("may change what it had applied, without a conflict", () => {
    const subject = migrated().apply("kubectl", configMap({ a: "2", b: "2" }));
    expect(subject.object?.data).toEqual({ a: "2", b: "2" });
    expect(subject.object?.metadata.annotations?.[LAST]).toBe(
      '{"apiVersion":"v1","data":{"a":"2","b":"2"},"kind":"ConfigMap","metadata":{"name":"c"}}\n',
    );
  });

  it("may not change what somebody else has changed since", () => {
    const subject = migrated().put("other", annotated({ a: "1", b: "2" }));
    expect(refusal(() => subject.apply("kubectl", configMap({ a: "2", b: "3" }))).message).toBe(
      'Apply failed with 1 conflict: conflict with "other" using v1: .data.b',
    );
  });

  it("is the only one who may", () => {
    expect(refusal(() => migrated().apply("someone", configMap({ a: "2" }))).code).toBe(409);
  });
});

describe("whatever is applied", () => {
  /** The same numbers in every run. */
  function random(seed: number): () => number {
    let state = seed;
    return () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
  }

  function someSpec(next: () => number): Record<string, unknown> {
    const pick = (count: number) => Math.floor(next() * count);
    const some = <T>(values: readonly T[]) => values.filter(() => next() < 0.5);
    const spec: Record<string, unknown> = {};
    if (next() < 0.5) spec.n = pick(3);
    if (next() < 0.5) spec.text = String(pick(3));
    if (next() < 0.5) spec.whole = some(["a", "b"]);
    if (next() < 0.6) spec.set = some(["a", "b", "c", "d"]);
    if (next() < 0.6) spec.items = some(["a", "b", "c"]).map((name) => ({ name, ...(next() < 0.5 && { v: pick(3) }) }));
    if (next() < 0.5) spec.map = Object.fromEntries(some(["a", "b", "c"]).map((key) => [key, String(pick(2))]));
    if (next() < 0.5) spec.free = { a: { [some(["x", "y"])[0] ?? "z"]: pick(2) } };
    return spec;
  }

  const runs = Array.from({ length: 60 }, (_, index) => index + 1);

  it("twice is applied once", () => {
    for (const seed of runs) {
      const next = random(seed);
      const subject = new Subject().put("u", thing(someSpec(next))).apply("o", thing(someSpec(next)), FORCE);
      const config = thing(someSpec(next));
      subject.apply("m", config, FORCE);
      const before = subject.object;
      subject.now = new Date("2031-01-01T00:00:00Z");
      expect(subject.apply("m", config).object).toEqual(before);
    }
  });

  it("by force is there, and in the hands of whoever forced it", () => {
    for (const seed of runs) {
      const next = random(seed);
      const subject = new Subject().put("u", thing(someSpec(next))).apply("o", thing(someSpec(next)), FORCE);
      const config = someSpec(next);
      subject.apply("m", thing(config), FORCE);
      expect(subject.spec ?? {}).toMatchObject({ ...scalarsOf(config) });
      const alone = new Subject().apply("m", thing(config)).owners["m Apply"];
      expect(subject.owners["m Apply"]).toEqual(alone);
    }
  });

  it("and then withdrawn leaves what others said as they said it", () => {
    for (const seed of runs) {
      const next = random(seed);
      const [others, ours] = [someSpec(next), someSpec(next)];
      const subject = new Subject().apply("o", thing(others));
      const alone = subject.spec;
      try {
        subject.apply("m", thing(ours));
      } catch (error) {
        if (error instanceof ApiError) continue; // they disagree; that is another test's matter
        throw error;
      }
      subject.apply("m", thing());
      expect(sorted(subject.spec)).toEqual(sorted(alone));
      expect(Object.keys(subject.owners)).toEqual(Object.keys(new Subject().apply("o", thing(others)).owners));
    }
  });

  function scalarsOf({ n, text }: Record<string, unknown>): Record<string, unknown> {
    return { ...(n !== undefined && { n }), ...(text !== undefined && { text }) };
  }

  /** Without lists and maps that hold nothing, and without the order of sets. */
  function sorted(spec: unknown): unknown {
    const entries = Object.entries((spec ?? {}) as Record<string, unknown>)
      .filter(([, value]) => value !== null && !equal(value, []) && !equal(value, {}))
      .map(([key, value]) => [
        key,
        key === "set" || key === "items" ? [...(value as unknown[])].map((item) => JSON.stringify(item)).sort() : value,
      ]);
    return Object.fromEntries(entries);
  }
});

it("knows every version of a kind, and no other", () => {
  expect(things("x.io/v2")).toBeDefined();
  expect(things("x.io/v3")).toBeUndefined();
});
