import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equal, isObject } from "#lib/json";
import { applyMergePatch } from "#lib/patch";
import { structOf } from "../types/index.ts";
import { strategicMerge } from "./index.ts";

type Fields = Record<string, unknown>;

const POD = "core/v1#Pod";

const text = fc.constantFrom("a", "b", "c", "d", "e", "__proto__", "constructor");
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const keyed = <T>(value: fc.Arbitrary<T>, key: (item: T) => unknown) =>
  fc.uniqueArray(value, { selector: key, minLength: 1, maxLength: 5 });

const container = fc.record({
  name: text,
  image: optional(text),
  args: optional(fc.array(text, { minLength: 1, maxLength: 3 })),
  env: optional(keyed(fc.record({ name: text, value: optional(text) }), ({ name }) => name)),
  ports: optional(keyed(fc.record({ containerPort: fc.integer({ min: 1, max: 6 }) }), (port) => port.containerPort)),
  securityContext: optional(fc.record({ runAsUser: optional(fc.nat(3)), privileged: optional(fc.boolean()) })),
});

const pod = fc
  .record({
    metadata: fc.record({
      labels: optional(fc.dictionary(text, text, { minKeys: 1 })),
      finalizers: optional(fc.uniqueArray(text, { minLength: 1 })),
    }),
    spec: fc.record({
      containers: keyed(container, ({ name }) => name),
      tolerations: optional(fc.array(fc.record({ key: text }), { minLength: 1, maxLength: 3 })),
    }),
  })
  .map((object) => JSON.parse(JSON.stringify(object)) as Fields);

/** A simple two-way diff, the way kubectl makes one: what changed, what goes, and in which order lists should be. */
function difference(typeKey: string | undefined, before: Fields, after: Fields): Fields {
  const patch: [string, unknown][] = [];
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch.push([key, null]);
  for (const [key, to] of Object.entries(after)) {
    const from = Object.hasOwn(before, key) ? before[key] : undefined;
    if (equal(from, to)) continue;
    const field = typeKey === undefined ? undefined : structOf(typeKey)?.byName.get(key);
    const inner = field?.type.kind === "list" ? field.type.of : field?.type;
    const innerKey = inner?.kind === "struct" ? inner.key : undefined;
    if (isObject(from) && isObject(to)) patch.push([key, difference(innerKey, from, to)]);
    else if (Array.isArray(from) && Array.isArray(to) && field?.patchStrategy?.startsWith("merge")) {
      patch.push(...listDifference(key, field.patchMergeKey, innerKey, from, to));
    } else patch.push([key, to]);
  }
  return Object.fromEntries(patch);
}

function listDifference(
  key: string,
  mergeKey: string | undefined,
  typeKey: string | undefined,
  from: unknown[],
  to: unknown[],
): [string, unknown][] {
  const order = `$setElementOrder/${key}`;
  if (mergeKey === undefined) {
    return [
      [order, to],
      [key, to.filter((item) => !from.includes(item))],
      [`$deleteFromPrimitiveList/${key}`, from.filter((item) => !to.includes(item))],
    ];
  }
  const byKey = (list: unknown[]) => new Map((list as Fields[]).map((item) => [item[mergeKey], item]));
  const [old, wanted] = [byKey(from), byKey(to)];
  const changed = [...wanted].map(([value, item]) => {
    const known = old.get(value);
    return known ? { ...difference(typeKey, known, item), [mergeKey]: value } : item;
  });
  const gone = [...old.keys()].filter((value) => !wanted.has(value));
  return [
    [order, [...wanted.keys()].map((value) => ({ [mergeKey]: value }))],
    [key, [...changed, ...gone.map((value) => ({ [mergeKey]: value, $patch: "delete" }))]],
  ];
}

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const item of Object.values(Object.freeze(value))) frozen(item);
  return value;
}

const wire = (value: unknown) => JSON.parse(JSON.stringify(value)) as Fields;

describe("laws of strategic merge", () => {
  it("a patch that is the difference of two objects turns one into the other, and changes neither it nor them", () => {
    fc.assert(
      fc.property(pod, pod, (before, after) => {
        const patch = frozen(difference(POD, before, after));
        expect(strategicMerge(POD, frozen(before), patch)).toEqual(after);
      }),
    );
  });

  it("such a patch changes nothing the second time", () => {
    fc.assert(
      fc.property(pod, pod, (before, after) => {
        const patch = difference(POD, before, after);
        const once = strategicMerge(POD, before, patch);
        expect(strategicMerge(POD, once, patch)).toEqual(once);
      }),
    );
  });

  it("an empty patch changes nothing, and a whole object merged into nothing is itself", () => {
    fc.assert(
      fc.property(pod, (object) => {
        expect(strategicMerge(POD, object, {})).toEqual(object);
        expect(strategicMerge(POD, {}, object)).toEqual(object);
      }),
    );
  });

  it("elements keep the order of the patch where it names them, and theirs where it does not", () => {
    const names = fc.uniqueArray(fc.nat(9).map(String), { maxLength: 8 });
    fc.assert(
      fc.property(names, names, (live, patch) => {
        const merged = strategicMerge(
          POD,
          { spec: { containers: live.map((name) => ({ name })) } },
          { spec: { containers: patch.map((name) => ({ name })) } },
        ) as { spec: { containers: { name: string }[] } };
        const result = merged.spec.containers.map(({ name }) => name);
        expect(new Set(result)).toEqual(new Set([...live, ...patch]));
        expect(result.filter((name) => patch.includes(name))).toEqual(patch);
        expect(result.filter((name) => !patch.includes(name))).toEqual(live.filter((name) => !patch.includes(name)));
      }),
    );
  });

  it("without a type it is a merge patch", () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.array(text, { maxLength: 3 }), tie("object")),
      object: fc.dictionary(text, tie("any"), { maxKeys: 4 }),
      change: fc.oneof({ maxDepth: 4 }, text, fc.constant(null), fc.array(text, { maxLength: 3 }), tie("changes")),
      changes: fc.dictionary(text, tie("change"), { maxKeys: 4 }),
    }));
    fc.assert(
      fc.property(value.object, value.changes, (object, changes) => {
        const [document, patch] = [wire(object), wire(changes)];
        expect(strategicMerge(undefined, document, patch)).toEqual(applyMergePatch(document, patch));
      }),
    );
  });
});
