import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { systemWriter } from "../controllers/index.ts";
import { ApiError } from "../errors.ts";
import { create, patch, remove, update } from "../registry/index.ts";
import type { RequestContext } from "../resource.ts";
import { CallFailure } from "../webhooks/index.ts";
import { type Gate, gate, patching, type Say } from "./testing/gate.ts";

const configMap = (name: string, data: Record<string, string> = {}, more: object = {}): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...more },
  data,
});
const dataOf = (object: DynamicObject | null) => (object?.data ?? {}) as Record<string, string>;
/** Adds a key unless it is there. */
const adding =
  (key: string): Say =>
  ({ object }) =>
    dataOf(object)[key] === undefined
      ? patching({ op: "add", path: "/data", value: { ...dataOf(object), [key]: "added" } })
      : {};
/** Is never content. */
const counting: Say = ({ object }) =>
  patching({ op: "add", path: "/data/n", value: String(Number(dataOf(object).n ?? "0") + 1) });
const IF_NEEDED = { reinvocationPolicy: "IfNeeded" };
const immutable = (field: string, value: string, name = value) =>
  `ConfigMap "${name}" is invalid: metadata.${field}: Invalid value: "${value}": field is immutable`;

const made = ({ registry, target, context }: Gate, object: DynamicObject, more?: Partial<RequestContext>) => {
  const { name: _, ...collection } = target("configmaps");
  return create(registry, collection, object, context(more));
};
const changed = ({ registry, target, context }: Gate, body: object, name = "x") =>
  patch(registry, target("configmaps", name), { type: "merge", patch: body }, context()).then(({ object }) => object);

/** The refusal of a write. */
async function refusal(write: Promise<unknown>): Promise<{ code: number; reason?: string; message?: string }> {
  const error = await write.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!(error instanceof ApiError)) throw error ?? new Error("nobody refused");
  const { reason, message = "" } = error.status;
  return { code: error.code, ...(reason !== undefined && { reason }), message };
}

describe("webhooks", () => {
  it("are looked for at next to no cost, and found by what they want to see", async () => {
    const bench = await gate();
    const { admission } = bench.registry;
    expect(admission.webhooks(bench.target("configmaps"), "CREATE")).toBeUndefined();
    await bench.hook("mutating", "pods", () => ({}), {
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
    });
    expect(admission.webhooks(bench.target("configmaps"), "CREATE")).toBeUndefined();
    expect(admission.webhooks(bench.target("pods"), "DELETE")).toBeUndefined();
    expect(admission.webhooks(bench.target("pods"), "CREATE")).toBeDefined();
  });

  it("are never asked about what configures them, because nobody could undo a mistake", async () => {
    const bench = await gate();
    await bench.hook("validating", "all", () => ({ allowed: false }));
    const target = bench.target("validatingwebhookconfigurations", "all", "admissionregistration.k8s.io");
    for (const operation of ["CREATE", "UPDATE", "DELETE"] as const) {
      expect(bench.registry.admission.webhooks(target, operation)).toBeUndefined();
    }
  });

  it("see a new object before the server fills it in, and those that validate after", async () => {
    const bench = await gate();
    const seen: unknown[] = [];
    const look: Say = ({ object, oldObject, name, operation }) => {
      seen.push([operation, name, object?.metadata.name, object?.metadata.uid !== undefined, oldObject]);
      return {};
    };
    await bench.hook("mutating", "m", look);
    await bench.hook("validating", "v", look);
    const { metadata } = await made(bench, configMap("", {}, { generateName: "gen-" }));
    expect(seen).toEqual([
      ["CREATE", undefined, undefined, false, null],
      ["CREATE", metadata.name, metadata.name, true, null],
    ]);
  });

  it("are asked in the order of their configurations, and each sees what the one before made", async () => {
    const bench = await gate();
    await bench.hook("mutating", "b", adding("b"));
    await bench.hook("mutating", "a", adding("a"));
    const seen: string[] = [];
    await bench.hook("validating", "v", ({ object }) => {
      seen.push(Object.keys(dataOf(object)).join());
      return {};
    });
    expect((await made(bench, configMap("x", { z: "1" }))).data).toEqual({ z: "1", a: "added", b: "added" });
    expect(bench.asked).toEqual(["a", "b", "v"]);
    expect(seen).toEqual(["a,b,z"]);
  });

  it.each<[string, [string, Say, object][], string[]]>([
    [
      "not again when nothing changed since",
      [
        ["a", adding("a"), IF_NEEDED],
        ["b", () => ({}), {}],
      ],
      ["a", "b"],
    ],
    [
      "again when a later one changed the object",
      [
        ["a", adding("a"), IF_NEEDED],
        ["b", adding("b"), {}],
      ],
      ["a", "b", "a"],
    ],
    [
      "not again when they do not want to be",
      [
        ["a", adding("a"), {}],
        ["b", adding("b"), {}],
      ],
      ["a", "b"],
    ],
    [
      "once more at most",
      [
        ["a", counting, IF_NEEDED],
        ["b", counting, IF_NEEDED],
      ],
      ["a", "b", "a", "b"],
    ],
  ])("are asked %s", async (_, hooks, expected) => {
    const bench = await gate();
    for (const [name, say, more] of hooks) await bench.hook("mutating", name, say, more);
    await made(bench, configMap("x", { z: "1" }));
    expect(bench.asked).toEqual(expected);
  });

  it("are followed by what the server itself adds, for what they added", async () => {
    const bench = await gate();
    const sidecar = { name: "sidecar", image: "proxy" };
    await bench.hook("mutating", "inject", ({ object }) => {
      const { containers } = (object?.spec ?? {}) as { containers?: unknown[] };
      if (containers?.length !== 1) return {};
      return patching({ op: "add", path: "/spec/containers/-", value: sidecar });
    });
    const { name: _, ...pods } = bench.target("pods");
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p" },
      spec: { containers: [{ name: "c", image: "i" }] },
    };
    const { spec } = await create(bench.registry, pods, pod, bench.context());
    const { containers } = spec as {
      containers: { name: string; volumeMounts: object[]; terminationMessagePath: string }[];
    };
    expect(containers.map(({ name, volumeMounts }) => [name, volumeMounts.length])).toEqual([
      ["c", 1],
      ["sidecar", 1],
    ]);
    expect(containers[1]?.terminationMessagePath).toBe("/dev/termination-log");
  });

  it("that validate are asked together", async () => {
    const bench = await gate();
    let arrive: () => void = () => {};
    const together = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    let waiting = 0;
    const wait: Say = async () => {
      if (++waiting === 2) arrive();
      await together;
      return {};
    };
    await bench.hook("validating", "v", wait);
    await bench.hook("validating", "w", wait);
    await made(bench, configMap("x"));
    expect(waiting).toBe(2);
  });

  it("refuse with the code, reason and details they give, and the first refusal is told", async () => {
    const bench = await gate();
    await bench.hook("validating", "a", () => ({
      allowed: false,
      status: { code: 418, reason: "Teapot", message: "short and stout", details: { kind: "pot" } },
    }));
    await bench.hook("validating", "b", () => ({ allowed: false }));
    const message = 'admission webhook "a.example.com" denied the request: short and stout';
    expect(await refusal(made(bench, configMap("x")))).toEqual({ code: 418, reason: "Teapot", message });
    expect(bench.get("core/configmaps", "default/x")).toBeUndefined();
  });

  it("are heard: warnings go to the client, remarks to the audit log, within bounds", async () => {
    const bench = await gate();
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, "v".repeat(20_000)]));
    await bench.hook("mutating", "m", () => ({ warnings: ["careful"], auditAnnotations: { why: "because" } }));
    await bench.hook("validating", "v", () => ({ auditAnnotations: many }));
    await made(bench, configMap("x"));
    expect(bench.warnings).toEqual(["careful"]);
    expect(bench.remarks["m.example.com/why"]).toBe("because");
    expect(JSON.parse(bench.remarks["mutation.webhook.admission.k8s.io/round_0_index_0"] ?? "")).toEqual({
      configuration: "m",
      webhook: "m.example.com",
      mutated: false,
    });
    expect(JSON.stringify(bench.remarks).length).toBeLessThan(1_000_000);
  });

  describe("that give no answer", () => {
    const failure = new CallFailure("nobody is there");

    it("end the request", async () => {
      const bench = await gate();
      await bench.hook("validating", "v", failure);
      expect(await refusal(made(bench, configMap("x")))).toEqual({
        code: 500,
        reason: "InternalError",
        message:
          'Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: nobody is there',
      });
    });

    it("are left out where they may be, and the audit log tells", async () => {
      const bench = await gate();
      await bench.hook("mutating", "m", failure, { failurePolicy: "Ignore" });
      await bench.hook("validating", "v", failure, { failurePolicy: "Ignore" });
      await made(bench, configMap("x"));
      expect(bench.remarks).toMatchObject({
        "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "m.example.com",
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "v.example.com",
      });
    });

    it("may not take longer than a request, all of them together", async () => {
      const bench = await gate();
      const slow: Say = () => {
        bench.clock.advance(20_000);
        return {};
      };
      for (const name of ["a", "b", "c"]) await bench.hook("mutating", name, slow, { timeoutSeconds: 30 });
      expect(await refusal(made(bench, configMap("x")))).toEqual({
        code: 504,
        reason: "Timeout",
        message: "Timeout: request did not complete within requested timeout",
      });
      expect(bench.asked).toEqual(["a", "b"]);
    });
  });

  it("with Pods that are all simulated say what their Service says, and the audit log tells", async () => {
    const bench = await gate();
    await bench.hook("validating", "v", { simulated: "allow", service: "space/hook" });
    await made(bench, configMap("x"));
    expect(bench.remarks["v.example.com/simulated"]).toBe(
      "allowed, because all Pods behind Service space/hook are simulated",
    );
    await bench.hook("validating", "v", { simulated: "deny", service: "space/hook" });
    expect(await refusal(made(bench, configMap("y")))).toMatchObject({
      code: 400,
      message: 'admission webhook "v.example.com" denied the request: all Pods behind Service space/hook are simulated',
    });
  });

  it("with side effects are not asked about a dry run", async () => {
    const bench = await gate();
    await bench.hook("mutating", "m", () => ({}), { sideEffects: "NoneOnDryRun" });
    await made(bench, configMap("x"), { dryRun: true });
    await bench.hook("mutating", "m", () => ({}), { sideEffects: "Some", failurePolicy: "Ignore" });
    expect(await refusal(made(bench, configMap("x"), { dryRun: true }))).toEqual({
      code: 400,
      reason: "BadRequest",
      message: 'admission webhook "m.example.com" does not support dry run',
    });
    expect(bench.asked).toEqual(["m"]);
  });

  it("are asked about the writes of the server's own controllers", async () => {
    const bench = await gate();
    await bench.hook("mutating", "m", adding("m"));
    const writer = systemWriter(bench.registry, () => bench.target("configmaps").resource);
    await writer.create("core/configmaps", configMap("x", {}, { namespace: "default" }));
    await writer.change("core/configmaps", "default/x", (draft) => ({ ...draft, data: { own: "1" } }));
    expect(bench.get("core/configmaps", "default/x")?.data).toEqual({ own: "1", m: "added" });
  });

  describe("and selectors", () => {
    const select = (matchLabels: object) => ({ matchLabels });
    it.each<[string, object, object, boolean]>([
      ["a namespace with other labels", { namespaceSelector: select({ a: "c" }) }, {}, false],
      ["a namespace with these labels", { namespaceSelector: select({ a: "b" }) }, {}, true],
      ["an object without labels", { objectSelector: select({ l: "1" }) }, {}, false],
      ["an object with these labels", { objectSelector: select({ l: "1" }) }, { labels: { l: "1" } }, true],
    ])("are asked or not about %s", async (_, selectors, metadata, isAsked) => {
      const bench = await gate();
      await bench.hook("validating", "v", () => ({}), selectors);
      await made(bench, configMap("x", {}, metadata));
      expect(bench.asked).toEqual(isAsked ? ["v"] : []);
    });

    it("look at an object by what it was and by what it will be", async () => {
      const bench = await gate();
      await made(bench, configMap("x", {}, { labels: { l: "1" } }));
      await bench.hook("validating", "v", () => ({}), { objectSelector: select({ l: "1" }) });
      await changed(bench, { metadata: { labels: null } });
      await changed(bench, { data: { a: "1" } });
      await changed(bench, { metadata: { labels: { l: "1" } } });
      expect(bench.asked).toEqual(["v", "v"]);
    });

    it("look at a Namespace by its own labels, and at nothing else that lies in no namespace", async () => {
      const bench = await gate();
      await bench.hook("validating", "v", () => ({}), { namespaceSelector: select({ own: "1" }) });
      const { name: _n, ...namespaces } = bench.target("namespaces");
      const namespace = (name: string, labels: object) => ({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name, labels },
      });
      await create(bench.registry, namespaces, namespace("other", {}) as DynamicObject, bench.context());
      expect(bench.asked).toEqual([]);
      await create(bench.registry, namespaces, namespace("own", { own: "1" }) as DynamicObject, bench.context());
      expect(bench.asked).toEqual(["v"]);
      const { name: _c, ...nodes } = bench.target("nodes");
      await create(bench.registry, nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "n" } }, bench.context());
      expect(bench.asked).toEqual(["v", "v"]);
    });
  });

  describe("and conditions", () => {
    const FAILING = [{ name: "c", expression: "object.nope == 1" }];

    it("are asked only when they hold", async () => {
      const bench = await gate();
      await bench.hook("validating", "v", () => ({}), {
        matchConditions: [
          { name: "c", expression: "object.metadata.name == 'x' && request.userInfo.username == 'alice'" },
        ],
      });
      await made(bench, configMap("y"));
      await made(bench, configMap("x"));
      expect(bench.asked).toEqual(["v"]);
    });

    it("end the request or leave the webhook out when that cannot be told", async () => {
      const bench = await gate();
      await bench.hook("validating", "v", () => ({}), { matchConditions: FAILING });
      expect(await refusal(made(bench, configMap("x")))).toEqual({
        code: 403,
        reason: "Forbidden",
        message: "configmaps \"x\" is forbidden: expression 'object.nope == 1' resulted in error: no such key: nope",
      });
      await bench.hook("validating", "v", () => ({}), { matchConditions: FAILING, failurePolicy: "Ignore" });
      await made(bench, configMap("x"));
      expect(bench.asked).toEqual([]);
    });
  });

  describe("that patch what they may not", () => {
    it.each<[string, object[], object]>([
      ["an object into another kind", [{ op: "replace", path: "/kind", value: "Secret" }], { code: 500 }],
      ["an object into a list", [{ op: "replace", path: "", value: [] }], { code: 500 }],
      ["a field into another type", [{ op: "add", path: "/data", value: 1 }], { code: 500 }],
      ["metadata away", [{ op: "remove", path: "/metadata" }], { code: 500 }],
      ["what is not there", [{ op: "remove", path: "/data/none" }], { code: 500 }],
      ["an object into another namespace", [{ op: "replace", path: "/metadata/namespace", value: "y" }], { code: 400 }],
      [
        "an object into what is invalid",
        [{ op: "add", path: "/metadata/labels", value: { "a b": "" } }],
        { code: 422 },
      ],
      [
        "the name of an object",
        [{ op: "replace", path: "/metadata/name", value: "y" }],
        { code: 422, message: immutable("name", "y") },
      ],
      [
        "the uid of an object",
        [{ op: "replace", path: "/metadata/uid", value: "y" }],
        { code: 422, message: immutable("uid", "y", "x") },
      ],
      ["its resourceVersion", [{ op: "replace", path: "/metadata/resourceVersion", value: "1" }], { code: 409 }],
    ])("are refused: %s", async (_, operations, expected) => {
      const bench = await gate();
      await made(bench, configMap("x", { a: "1" }));
      await bench.hook("mutating", "m", () => patching(...operations), { failurePolicy: "Ignore" });
      expect(await refusal(changed(bench, { data: { b: "2" } }))).toMatchObject(expected);
      expect(bench.get("core/configmaps", "default/x")?.data).toEqual({ a: "1" });
    });

    it("are ignored where the server knows better", async () => {
      const bench = await gate();
      const before = await made(bench, configMap("x", { z: "1" }));
      await bench.hook("mutating", "m", () =>
        patching(
          { op: "replace", path: "/metadata/creationTimestamp", value: "2000-01-01T00:00:00Z" },
          { op: "add", path: "/metadata/managedFields", value: [{ manager: "m", operation: "Guess" }] },
          { op: "add", path: "/nonsense", value: 1 },
        ),
      );
      const after = await changed(bench, { data: { a: "1" } });
      expect(after.metadata.creationTimestamp).toBe(before.metadata.creationTimestamp);
      expect(after.metadata.managedFields?.map(({ manager }) => manager)).toEqual(["test"]);
      expect(after).not.toHaveProperty("nonsense");
      expect(bench.warnings[0]).toContain(".metadata.managedFields was in an invalid state after admission");
    });

    it("are refused when they patch what is deleted", async () => {
      const bench = await gate();
      await made(bench, configMap("x"));
      await bench.hook("mutating", "m", () => patching({ op: "add", path: "/data", value: {} }));
      const gone = remove(bench.registry, bench.target("configmaps"), { dryRun: false }, bench.context());
      expect(await refusal(gone)).toMatchObject({ code: 500, message: expect.stringContaining("not supported") });
    });
  });

  describe("that take their time", () => {
    it("lose no change that somebody else makes meanwhile", async () => {
      const bench = await gate();
      await made(bench, configMap("x", { a: "1" }));
      let isFirst = true;
      await bench.hook("mutating", "m", async () => {
        if (isFirst) {
          isFirst = false;
          await changed(bench, { data: { other: "1" } });
        }
        return {};
      });
      const { data } = await changed(bench, { data: { mine: "1" } });
      expect(data).toEqual({ a: "1", other: "1", mine: "1" });
      // The other's change asked, too; ours was decided twice.
      expect(bench.asked).toEqual(["m", "m", "m"]);
    });

    it("make a conflict of a PUT that names the state before", async () => {
      const bench = await gate();
      const before = await made(bench, configMap("x"));
      let isFirst = true;
      await bench.hook("validating", "v", async () => {
        if (isFirst) {
          isFirst = false;
          await changed(bench, { data: { other: "1" } });
        }
        return {};
      });
      const put = update(
        bench.registry,
        bench.target("configmaps"),
        { ...before, data: { mine: "1" } },
        bench.context(),
      );
      expect(await refusal(put)).toMatchObject({ code: 409, reason: "Conflict" });
      expect(bench.get("core/configmaps", "default/x")?.data).toEqual({ other: "1" });
    });

    it("end in a conflict when the object never stands still", async () => {
      const bench = await gate();
      await made(bench, configMap("x"));
      let count = 0;
      await bench.hook("validating", "v", async () => {
        await bench.registry.store.write("core/configmaps", "default/x", (current) => ({
          ...(current as DynamicObject),
          data: { count: String(++count) },
        }));
        return {};
      });
      expect(await refusal(changed(bench, { data: { mine: "1" } }))).toMatchObject({ code: 409, reason: "Conflict" });
      expect(bench.get("core/configmaps", "default/x")?.data).toEqual({ count: String(count) });
    });

    it("decide again about a deletion, and find that there is nothing left to delete", async () => {
      const bench = await gate();
      await made(bench, configMap("x"));
      const removal = () => remove(bench.registry, bench.target("configmaps"), { dryRun: false }, bench.context());
      let isFirst = true;
      await bench.hook("validating", "v", async () => {
        if (isFirst) {
          isFirst = false;
          await removal();
        }
        return {};
      });
      expect(await refusal(removal())).toMatchObject({ code: 404 });
    });

    it("put nothing into a namespace that went meanwhile, and over nothing that came", async () => {
      const bench = await gate();
      const { store } = bench.registry;
      await bench.hook("validating", "v", async ({ name }) => {
        if (name === "taken")
          await store.write("core/configmaps", "default/taken", () => configMap("taken", { first: "1" }));
        else await store.write("core/namespaces", "default", () => undefined);
        return {};
      });
      expect(await refusal(made(bench, configMap("taken")))).toMatchObject({ code: 409, reason: "AlreadyExists" });
      expect(bench.get("core/configmaps", "default/taken")?.data).toEqual({ first: "1" });
      expect(await refusal(made(bench, configMap("lost")))).toMatchObject({ code: 404 });
      expect(bench.get("core/configmaps", "default/lost")).toBeUndefined();
    });
  });
});
