import { describe, expect, it } from "vitest";
import { ApiError } from "../errors.ts";
import { strategicMerge } from "./index.ts";

type Fields = Record<string, unknown>;

const POD_SPEC = "core/v1#PodSpec";
const META = "meta/v1#ObjectMeta";

const named = (...names: string[]) => names.map((name) => ({ name }));
const containers = (...names: string[]) => ({ containers: named(...names) });

function errorOf(work: () => unknown): ApiError {
  try {
    work();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

type Row = [because: string, typeKey: string | undefined, original: Fields, patch: Fields, result: Fields];

const rows = (title: string, table: Row[]) =>
  describe(title, () => {
    it.each(table)("%s", (_, typeKey, original, patch, result) => {
      const before = structuredClone({ original, patch });
      expect(strategicMerge(typeKey, original, patch)).toEqual(result);
      expect({ original, patch }).toEqual(before);
    });
  });

rows("objects", [
  [
    "are merged",
    META,
    { labels: { a: "1", b: "2" } },
    { labels: { b: "3", c: "4" } },
    { labels: { a: "1", b: "3", c: "4" } },
  ],
  [
    "lose what is null",
    META,
    { name: "x", labels: { a: "1", b: "2" } },
    { name: null, labels: { a: null } },
    { labels: { b: "2" } },
  ],
  [
    "do not get nulls, because there was nothing to delete",
    META,
    {},
    { labels: { a: null, b: "1" } },
    { labels: { b: "1" } },
  ],
  [
    "are replaced where the type says so",
    "policy/v1#PodDisruptionBudgetSpec",
    { selector: { matchLabels: { a: "1" } } },
    { selector: { matchLabels: { b: "2" } } },
    { selector: { matchLabels: { b: "2" } } },
  ],
  ["give way to other types of values", META, { labels: "x" }, { labels: { a: "1" } }, { labels: { a: "1" } }],
  [
    "of an unknown type are merged, and their lists replaced",
    undefined,
    { a: { b: 1 }, finalizers: ["x"] },
    { a: { c: 2 }, finalizers: ["y"] },
    { a: { b: 1, c: 2 }, finalizers: ["y"] },
  ],
]);

rows("$patch in an object", [
  [
    "replaces all of it",
    META,
    { labels: { a: "1" } },
    { labels: { $patch: "replace", b: "2" } },
    { labels: { b: "2" } },
  ],
  [
    "empties it, and does not remove it",
    META,
    { labels: { a: "1" } },
    { labels: { $patch: "delete" } },
    { labels: {} },
  ],
  ["works for the whole object", META, { name: "x", uid: "u" }, { $patch: "replace", name: "y" }, { name: "y" }],
  [
    "is dropped with its object when there is nothing to patch",
    META,
    {},
    { labels: { $patch: "replace", a: "1" } },
    {},
  ],
]);

rows("lists of objects with a merge key", [
  [
    "merge element by element",
    POD_SPEC,
    {
      containers: [
        { name: "a", image: "1" },
        { name: "b", image: "1" },
      ],
    },
    { containers: [{ name: "b", image: "2" }] },
    {
      containers: [
        { name: "a", image: "1" },
        { name: "b", image: "2" },
      ],
    },
  ],
  [
    "merge at every depth",
    POD_SPEC,
    { containers: [{ name: "a", env: [{ name: "X", value: "1" }, { name: "Y" }] }] },
    { containers: [{ name: "a", env: [{ name: "X", value: "2" }] }] },
    { containers: [{ name: "a", env: [{ name: "X", value: "2" }, { name: "Y" }] }] },
  ],
  ["take new elements ahead of the old", POD_SPEC, containers("a", "b"), containers("c"), containers("c", "a", "b")],
  [
    "follow the patch where it turns the order around",
    POD_SPEC,
    containers("a", "b", "c"),
    containers("c", "a"),
    containers("b", "c", "a"),
  ],
  [
    "weave what the patch does not name by where it stood",
    POD_SPEC,
    containers("a", "b", "c"),
    containers("n", "c"),
    containers("n", "a", "b", "c"),
  ],
  [
    "know numbers as keys",
    "core/v1#ServiceSpec",
    { ports: [{ port: 80, name: "a" }] },
    { ports: [{ port: 80, targetPort: 8080 }] },
    { ports: [{ port: 80, name: "a", targetPort: 8080 }] },
  ],
  [
    "merge into the first of equal keys, because one key is all there is to tell them apart",
    "core/v1#Container",
    {
      ports: [
        { containerPort: 53, protocol: "TCP" },
        { containerPort: 53, protocol: "UDP" },
      ],
    },
    { ports: [{ containerPort: 53, name: "dns" }] },
    {
      ports: [
        { containerPort: 53, protocol: "TCP", name: "dns" },
        { containerPort: 53, protocol: "UDP" },
      ],
    },
  ],
  [
    "merge the patch's own elements of equal keys",
    POD_SPEC,
    containers("a"),
    {
      containers: [
        { name: "b", image: "1" },
        { name: "b", image: "2" },
      ],
    },
    { containers: [{ name: "b", image: "2" }, { name: "a" }] },
  ],
  [
    "take new elements as they are, with directives that mean nothing there",
    POD_SPEC,
    containers("a"),
    { containers: [{ name: "b", env: [{ name: "X", $patch: "delete" }] }] },
    { containers: [{ name: "b", env: [{ name: "X", $patch: "delete" }] }, { name: "a" }] },
  ],
  ["go when they are null", POD_SPEC, { ...containers("a"), volumes: [] }, { containers: null }, { volumes: [] }],
  [
    "are set where there were none, without what was to be deleted",
    POD_SPEC,
    {},
    { containers: [{ name: "a" }, { name: "b", $patch: "delete" }] },
    containers("a"),
  ],
  ["may be empty on both sides", POD_SPEC, { containers: [] }, { containers: [] }, { containers: [] }],
]);

rows("$patch in an element", [
  ["deletes it", POD_SPEC, containers("a", "b"), { containers: [{ name: "a", $patch: "delete" }] }, containers("b")],
  [
    "deletes what is not there without a word",
    POD_SPEC,
    containers("a"),
    { containers: [{ name: "x", $patch: "delete" }] },
    containers("a"),
  ],
  [
    "deletes all of one key",
    "core/v1#Container",
    {
      ports: [
        { containerPort: 53, protocol: "TCP" },
        { containerPort: 53, protocol: "UDP" },
      ],
    },
    { ports: [{ containerPort: 53, $patch: "delete" }] },
    { ports: [] },
  ],
  [
    "deletes before the others are merged",
    POD_SPEC,
    { containers: [{ name: "a", image: "1" }] },
    { containers: [{ name: "a", $patch: "delete" }, { name: "a" }] },
    containers("a"),
  ],
  [
    "replaces the whole list by the other elements",
    POD_SPEC,
    containers("a", "b"),
    { containers: [{ $patch: "replace" }, ...named("c", "b")] },
    containers("c", "b"),
  ],
  [
    "replaces the list by nothing",
    POD_SPEC,
    containers("a"),
    { containers: [{ $patch: "replace" }] },
    { containers: [] },
  ],
]);

rows("$setElementOrder", [
  [
    "orders what is there",
    POD_SPEC,
    containers("a", "b", "c"),
    { "$setElementOrder/containers": named("c", "a", "b") },
    containers("c", "a", "b"),
  ],
  [
    "orders what the patch adds",
    POD_SPEC,
    containers("a", "b"),
    { "$setElementOrder/containers": named("a", "n", "b"), ...containers("n") },
    containers("a", "n", "b"),
  ],
  [
    "leaves alone what it does not name",
    POD_SPEC,
    containers("a", "x", "b"),
    { "$setElementOrder/containers": named("b", "a") },
    containers("x", "b", "a"),
  ],
  [
    "may name what is not there",
    POD_SPEC,
    containers("a"),
    { "$setElementOrder/containers": named("zz", "a") },
    containers("a"),
  ],
  [
    "need not name what is deleted",
    POD_SPEC,
    containers("a", "b"),
    { "$setElementOrder/containers": named("b"), containers: [{ name: "a", $patch: "delete" }] },
    containers("b"),
  ],
  [
    "orders a list that is new",
    POD_SPEC,
    {},
    { "$setElementOrder/containers": named("a", "b"), ...containers("a", "b") },
    containers("a", "b"),
  ],
  ["says nothing when there is no list", POD_SPEC, {}, { "$setElementOrder/containers": named("a") }, {}],
  [
    "orders scalars",
    META,
    { finalizers: ["a", "b"] },
    { "$setElementOrder/finalizers": ["b", "c", "a"], finalizers: ["c"] },
    { finalizers: ["b", "c", "a"] },
  ],
]);

rows("lists of scalars", [
  [
    "are merged as sets, what the patch adds first",
    META,
    { finalizers: ["a", "b"] },
    { finalizers: ["c", "b"] },
    { finalizers: ["c", "a", "b"] },
  ],
  [
    "lose what $deleteFromPrimitiveList names",
    META,
    { finalizers: ["a", "b", "c"] },
    { "$deleteFromPrimitiveList/finalizers": ["a", "c", "zz"] },
    { finalizers: ["b"] },
  ],
  [
    "gain and lose in one patch",
    META,
    { finalizers: ["a", "b"] },
    { finalizers: ["c"], "$deleteFromPrimitiveList/finalizers": ["a"] },
    { finalizers: ["c", "b"] },
  ],
  [
    "gain, lose and are ordered in one patch",
    META,
    { finalizers: ["a", "b"] },
    { "$setElementOrder/finalizers": ["b", "c"], finalizers: ["c"], "$deleteFromPrimitiveList/finalizers": ["a"] },
    { finalizers: ["b", "c"] },
  ],
  ["that are not there have nothing to lose", META, {}, { "$deleteFromPrimitiveList/finalizers": ["a"] }, {}],
  ["are replaced unless the type merges them", "core/v1#Container", { args: ["a"] }, { args: ["b"] }, { args: ["b"] }],
  [
    "lose elements even where the type replaces them",
    "core/v1#Container",
    { args: ["a", "b"] },
    { "$deleteFromPrimitiveList/args": ["a"] },
    { args: ["b"] },
  ],
]);

rows("lists of objects without a merge key", [
  [
    "are replaced, directives and all",
    POD_SPEC,
    { tolerations: [{ key: "a" }] },
    { tolerations: [{ key: "b" }] },
    { tolerations: [{ key: "b" }] },
  ],
]);

rows("$retainKeys", [
  [
    "removes what it does not name",
    "apps/v1#DeploymentSpec",
    { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } },
    { strategy: { $retainKeys: ["type"], type: "Recreate" } },
    { strategy: { type: "Recreate" } },
  ],
  [
    "works in elements",
    POD_SPEC,
    { volumes: [{ name: "v", emptyDir: {} }] },
    { volumes: [{ name: "v", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }] },
    { volumes: [{ name: "v", secret: { secretName: "s" } }] },
  ],
  [
    "works on types that do not ask for it",
    META,
    { labels: { a: "1", b: "2" } },
    { labels: { $retainKeys: ["a"] } },
    { labels: { a: "1" } },
  ],
  [
    "does not mind nulls and lists of directives",
    POD_SPEC,
    { nodeName: "n", ...containers("a", "b") },
    { $retainKeys: ["containers"], nodeName: null, "$setElementOrder/containers": named("b", "a") },
    containers("b", "a"),
  ],
]);

describe("refusals", () => {
  const noKey = "does not contain declared merge key: name";
  it.each<[because: string, typeKey: string, original: Fields, patch: Fields, code: number, message: string]>([
    [
      "an element of the patch without merge key",
      POD_SPEC,
      containers("a"),
      { containers: [{ image: "x", ports: [1, null] }] },
      500,
      `map: map[image:x ports:[1 <nil>]] ${noKey}`,
    ],
    [
      "a deletion without merge key",
      POD_SPEC,
      containers("a"),
      { containers: [{ $patch: "delete" }] },
      500,
      `map: map[$patch:delete] ${noKey}`,
    ],
    [
      "an element of the object without merge key",
      POD_SPEC,
      { containers: [{ image: "x" }] },
      containers("a"),
      500,
      `map: map[image:x] ${noKey}`,
    ],
    [
      "an order without merge key",
      POD_SPEC,
      containers("a"),
      { "$setElementOrder/containers": [{}] },
      500,
      `map: map[] ${noKey}`,
    ],
    [
      "an order of a list of objects that has no merge key",
      POD_SPEC,
      { tolerations: [{ key: "a" }] },
      { "$setElementOrder/tolerations": [] },
      500,
      "map: map[key:a] does not contain declared merge key: ",
    ],
    [
      "$patch: merge in an element",
      POD_SPEC,
      containers("a"),
      { containers: [{ name: "a", $patch: "merge" }] },
      500,
      "merging lists cannot yet be specified in the patch",
    ],
    [
      "$patch: merge in an object",
      META,
      { labels: {} },
      { labels: { $patch: "merge" } },
      500,
      "unknown patch type: merge in map: map[$patch:merge]",
    ],
    [
      "an unknown $patch in an element",
      POD_SPEC,
      containers("a"),
      { containers: [{ name: "a", $patch: "x" }] },
      500,
      "unknown patch type: x in map: map[$patch:x name:a]",
    ],
    [
      "an order that leaves out an element of the patch",
      POD_SPEC,
      containers("a"),
      { "$setElementOrder/containers": named("a"), ...containers("b") },
      500,
      "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
    [
      "an order that contradicts the patch",
      POD_SPEC,
      containers("a", "b"),
      { "$setElementOrder/containers": named("b", "a"), ...containers("a", "b") },
      500,
      "The order in patch list:\n[map[name:a] map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:b] map[name:a]]\n",
    ],
    [
      "an order that is no list",
      POD_SPEC,
      containers("a"),
      { "$setElementOrder/containers": "a" },
      500,
      "expected a []interface {}, but received a string",
    ],
    [
      "an order of a field that the type does not have",
      META,
      {},
      { "$setElementOrder/nope": [] },
      500,
      'unable to find api field in struct ObjectMeta for the json field "nope"',
    ],
    [
      "an order of what is no list",
      META,
      {},
      { "$setElementOrder/labels": [] },
      500,
      "expected slice or array type, but got: struct",
    ],
    [
      "an order without a field",
      META,
      {},
      { $setElementOrder: [] },
      400,
      "invalid patch format of setElementOrder list",
    ],
    [
      "a deletion without a field",
      META,
      {},
      { $deleteFromPrimitiveList: [] },
      400,
      "invalid patch format of primitive list",
    ],
    [
      "keys to retain that are no list",
      META,
      { labels: {} },
      { labels: { $retainKeys: "a" } },
      400,
      "invalid patch format of retainKeys",
    ],
    [
      "setting what is not retained",
      META,
      { labels: {} },
      { labels: { $retainKeys: ["a"], b: "1" } },
      400,
      "invalid patch format of retainKeys",
    ],
    [
      "elements of several types",
      META,
      { finalizers: ["a"] },
      { finalizers: [5] },
      500,
      "list element types are not identical: [[a] [5]]",
    ],
    [
      "an object below a map, as kube-apiserver does not look there",
      "apiextensions.k8s.io/v1#JSONSchemaProps",
      { properties: { a: { type: "string" } } },
      { properties: { a: { type: "integer" } } },
      500,
      "merging an object in json but data type is not struct, instead is: map",
    ],
    [
      "an object below a type that writes its own JSON",
      "apps/v1#ControllerRevision",
      { data: { spec: {} } },
      { data: { spec: {} } },
      500,
      'unable to find api field in struct RawExtension for the json field "spec"',
    ],
  ])("%s", (_, typeKey, original, patch, code, message) => {
    const error = errorOf(() => strategicMerge(typeKey, original, patch));
    expect([error.code, error.message]).toEqual([code, message]);
    expect(error.status.reason).toBe(code === 500 ? undefined : "BadRequest");
  });

  it("lists of lists, as a patch that cannot be applied", () => {
    const { status } = errorOf(() => strategicMerge(META, { finalizers: [["a"]] }, { finalizers: [["b"]] }));
    expect(status).toMatchObject({ code: 422, reason: "Invalid", details: {} });
  });
});

describe("safety", () => {
  it("treats __proto__ and constructor as fields like any other", () => {
    const patch = JSON.parse('{"__proto__":{"polluted":1},"labels":{"__proto__":"x","constructor":"y"}}') as Fields;
    const merged = strategicMerge(META, JSON.parse('{"labels":{"a":"1"}}') as Fields, patch);
    expect(JSON.stringify(merged)).toBe(
      '{"labels":{"a":"1","__proto__":"x","constructor":"y"},"__proto__":{"polluted":1}}',
    );
    expect(({} as Fields).polluted).toBeUndefined();
  });

  it("does not find inherited fields where it looks for a merge key", () => {
    const list = [JSON.parse('{"__proto__":{"name":"a"}}')];
    expect(errorOf(() => strategicMerge(POD_SPEC, containers("a"), { containers: list })).code).toBe(500);
  });
});
