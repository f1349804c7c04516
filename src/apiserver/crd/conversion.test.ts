import { describe, expect, it, onTestFinished } from "vitest";
import type { ConversionReview, CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { LiveCatalog } from "../catalog.ts";
import { systemWriter } from "../controllers/index.ts";
import { ApiError } from "../errors.ts";
import {
  apply,
  create,
  get,
  list,
  listOptions,
  patch,
  type RegistryDependencies,
  remove,
  update,
  type WatchEvent,
  watch,
  watchOptions,
} from "../registry/index.ts";
import { openStore } from "../store/index.ts";
import { CallFailure, type WebhookCaller } from "../webhooks/index.ts";
import { webhookConverter } from "./converter.ts";

const GROUP = "example.com";
const schema = (properties: object) => ({
  openAPIV3Schema: { type: "object" as const, properties: { spec: { type: "object" as const, properties } } },
});
const TEXT = { type: "string" };

/** In v1 an address is one text, in v2 it is two fields; v1 is what is stored. */
const definition = (
  storage = "v1",
  second: object = { host: TEXT, port: TEXT, note: TEXT, extra: { ...TEXT, default: "unused" } },
): CustomResourceDefinition =>
  ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Cluster",
      names: { plural: "things", kind: "Thing", singular: "thing", listKind: "ThingList" },
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: { url: "https://hook" }, conversionReviewVersions: ["v1"] },
      },
      versions: [
        {
          name: "v1",
          served: true,
          storage: storage === "v1",
          schema: schema({ address: TEXT, note: { ...TEXT, default: "filled" } }),
          selectableFields: [{ jsonPath: ".spec.address" }],
        },
        {
          name: "v2",
          served: true,
          storage: storage === "v2",
          schema: schema(second),
          selectableFields: [{ jsonPath: ".spec.host" }],
        },
      ],
    },
    status: { conditions: [{ type: "Established", status: "True" }] },
  }) as unknown as CustomResourceDefinition;

type Spec = { address?: string; host?: string; port?: string };

function converted(object: DynamicObject, apiVersion: string): DynamicObject {
  const { address, host, port, ...rest } = (object.spec ?? {}) as Spec;
  const [first, second] = address?.split(":") ?? [host, port];
  const spec = apiVersion.endsWith("v1") ? { address: `${first}:${second}` } : { host: first, port: second };
  return { ...object, apiVersion, spec: { ...rest, ...(first !== undefined && spec) } };
}

type Answer = NonNullable<ConversionReview["response"]>;
interface Scene {
  readonly registry: RegistryDependencies;
  /** The names of what was sent, one list for each call. */
  readonly calls: string[][];
  /** How the webhook behaves from now on. */
  behave(how: ((response: Answer) => Answer) | "simulated" | Error): void;
  define(definition: CustomResourceDefinition): Promise<void>;
  target(version: string, name?: string): Parameters<typeof get>[1];
}

async function scene(): Promise<Scene> {
  const store = await openStore({ durability: "memory" });
  const calls: string[][] = [];
  let behaviour: ((response: Answer) => Answer) | "simulated" | Error = (response) => response;
  const caller: WebhookCaller = {
    async call(_config, body) {
      const { apiVersion, request } = structuredClone(body) as ConversionReview;
      const { uid = "", objects = [], desiredAPIVersion = "" } = request ?? {};
      calls.push(objects.map(({ metadata }) => metadata.name));
      if (behaviour === "simulated") return { simulated: "allow", service: "space/hook" };
      if (behaviour instanceof Error) throw behaviour;
      const convertedObjects = objects.map((object) => converted(object, desiredAPIVersion));
      const response = behaviour({ uid, convertedObjects, result: { status: "Success" } });
      return { answer: { apiVersion, kind: "ConversionReview", response } };
    },
    simulatedService: () => (behaviour === "simulated" ? "space/hook" : undefined),
  };
  const catalog = new LiveCatalog([], { converterFor: (each) => webhookConverter(each, caller) });
  const unfollow = catalog.follow(store);
  onTestFinished(async () => {
    unfollow();
    await store.close();
  });
  const admission = { admit: () => {}, admitDelete: () => {}, webhooks: () => undefined };
  const define = async (given: CustomResourceDefinition) => {
    await store.write("apiextensions.k8s.io/customresourcedefinitions", given.metadata.name, () => given as never);
  };
  await define(definition());
  return {
    registry: { store, catalog, clock: new ManualClock(), admission, mayCreate: () => true },
    calls,
    behave(how) {
      behaviour = how;
    },
    define,
    target(version, name = "") {
      const resource = catalog.find(GROUP, version, "things");
      if (!resource) throw new Error(`${version} is not served`);
      return { resource, name };
    },
  };
}

const context = (fieldManager = "test") => ({
  user: { username: "alice", groups: [] },
  now: new Date("2026-01-01T00:00:00Z"),
  dryRun: false,
  fieldManager,
  fieldValidation: "Ignore" as const,
  warn: () => {},
});
const thing = (version: string, name: string, spec: object): DynamicObject => ({
  apiVersion: `${GROUP}/${version}`,
  kind: "Thing",
  metadata: { name },
  spec,
});
const made = ({ registry, target }: Scene, version: string, name: string, spec: object) => {
  const { name: _, ...things } = target(version);
  return create(registry, things, thing(version, name, spec), context());
};
const shown = ({ registry, target }: Scene, version: string, name: string) =>
  get(registry, target(version, name), undefined);
const listed = async ({ registry, target }: Scene, version: string, query = "") => {
  const { name: _, ...things } = target(version);
  return (await list(registry, things, listOptions(new URLSearchParams(query)))).items;
};
const failing = (error: unknown): string => {
  if (!(error instanceof ApiError)) throw error;
  expect([error.code, error.status.reason]).toEqual([500, undefined]);
  return error.message;
};
const failure = (asked: Promise<unknown>): Promise<string> => asked.then(() => "nobody failed", failing);

describe("versions that a webhook converts", () => {
  it("are shown in whichever is asked for, with the defaults of the one that is stored", async () => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "h:1" });
    expect(stage.calls).toEqual([]);
    expect(await shown(stage, "v2", "a")).toMatchObject({
      apiVersion: "example.com/v2",
      spec: { host: "h", port: "1", note: "filled" },
    });
    expect((await shown(stage, "v2", "a")).spec).not.toHaveProperty("extra");
  });

  it("are stored in one, whichever they come in", async () => {
    const stage = await scene();
    await made(stage, "v2", "b", { host: "h", port: "2" });
    expect(stage.registry.store.get("example.com/things", "b")).toMatchObject({
      apiVersion: "example.com/v1",
      spec: { address: "h:2" },
    });
  });

  it("are converted together for a list, once for each object, until it changes", async () => {
    const stage = await scene();
    for (const name of ["a", "b", "c"]) await made(stage, "v1", name, { address: `${name}:1` });
    expect((await listed(stage, "v2")).map(({ spec }) => (spec as Spec).host)).toEqual(["a", "b", "c"]);
    await listed(stage, "v2");
    await shown(stage, "v2", "a");
    expect(stage.calls).toEqual([["a", "b", "c"]]);
    await patch(stage.registry, stage.target("v1", "b"), { type: "merge", patch: { spec: { note: "n" } } }, context());
    await listed(stage, "v2");
    expect(stage.calls.slice(1)).toEqual([["b"]]);
  });

  it("are sent in pieces when they are large", async () => {
    const stage = await scene();
    for (const name of ["a", "b", "c"]) await made(stage, "v1", name, { address: "h:1", note: "x".repeat(600_000) });
    expect(await listed(stage, "v2")).toHaveLength(3);
    expect(stage.calls).toEqual([["a"], ["b"], ["c"]]);
  });

  it("are selected by what they are in the version that is asked for", async () => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "one:1" });
    await made(stage, "v1", "b", { address: "two:1" });
    const found = await listed(stage, "v2", "fieldSelector=spec.host%3Dtwo");
    expect(found.map(({ metadata }) => metadata.name)).toEqual(["b"]);
  });

  it("are patched in the version of the patch", async () => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "h:1" });
    const { object } = await patch(
      stage.registry,
      stage.target("v2", "a"),
      { type: "merge", patch: { spec: { port: "9" } } },
      context(),
    );
    expect(object).toMatchObject({
      apiVersion: "example.com/v1",
      spec: { address: "h:9" },
      metadata: { generation: 2 },
    });
  });

  it("are not written when nothing changes", async () => {
    const stage = await scene();
    await stage.define(definition("v1", { host: TEXT, port: TEXT, note: TEXT }));
    const { metadata } = await made(stage, "v1", "a", { address: "h:1" });
    const { object } = await patch(stage.registry, stage.target("v2", "a"), { type: "merge", patch: {} }, context());
    expect(object.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it("keep account of owners across versions", async () => {
    const stage = await scene();
    const applied = (version: string, manager: string, spec: object) =>
      apply(stage.registry, stage.target(version, "a"), thing(version, "a", spec), {
        ...context(manager),
        force: false,
      });
    await applied("v2", "two", { host: "h", port: "1" });
    const conflict = await applied("v1", "one", { address: "other:1" }).catch((error: unknown) => error);
    expect((conflict as ApiError).status).toMatchObject({
      code: 409,
      details: { causes: [{ reason: "FieldManagerConflict", field: ".spec.host" }] },
    });
    const { object } = await applied("v1", "one", { address: "h:1", note: "n" });
    expect(object.metadata.managedFields?.map(({ manager, apiVersion }) => [manager, apiVersion])).toEqual([
      ["one", "example.com/v1"],
      ["two", "example.com/v2"],
    ]);
    const taken = await patch(
      stage.registry,
      stage.target("v2", "a"),
      { type: "merge", patch: { spec: { port: "2" } } },
      context("third"),
    );
    const owned = Object.fromEntries(
      taken.object.metadata.managedFields?.map(({ manager, fieldsV1 }) => [manager, JSON.stringify(fieldsV1)]) ?? [],
    );
    expect(owned).toEqual({
      one: '{"f:spec":{"f:note":{}}}',
      two: '{"f:spec":{"f:host":{}}}',
      third: '{"f:spec":{"f:extra":{},"f:port":{}}}',
    });
  });

  it("are converted from whichever version they were stored in", async () => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "h:1" });
    await stage.define(definition("v2"));
    expect(await shown(stage, "v2", "a")).toMatchObject({ spec: { host: "h" } });
    expect(await shown(stage, "v1", "a")).toMatchObject({ spec: { address: "h:1" } });
    await update(
      stage.registry,
      stage.target("v1", "a"),
      { ...(await shown(stage, "v1", "a")), spec: { address: "h:2" } },
      context(),
    );
    expect(stage.registry.store.get("example.com/things", "a")).toMatchObject({
      apiVersion: "example.com/v2",
      spec: { host: "h", port: "2" },
    });
  });

  it("are written by the server's controllers as they are stored", async () => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "h:1" });
    const catalog = stage.registry.catalog as LiveCatalog;
    const writer = systemWriter(stage.registry, (storage) => catalog.byStorage(storage));
    await writer.change("example.com/things", "a", (draft) => {
      draft.metadata.labels = { own: "1" };
      return draft;
    });
    expect(stage.registry.store.get("example.com/things", "a")?.metadata.labels).toEqual({ own: "1" });
    expect(stage.calls).toEqual([]);
  });

  describe("and watches", () => {
    const watching = (stage: Scene, query = "") => {
      const events: WatchEvent[] = [];
      let isOver = false;
      const { name: _, ...things } = stage.target("v2");
      const stop = watch(stage.registry, things, watchOptions(new URLSearchParams(query)), {
        event: (event) => void events.push(event),
        end: () => {
          isOver = true;
        },
      });
      onTestFinished(stop);
      return { events, isOver: () => isOver };
    };
    const settled = () => new Promise((resolve) => setImmediate(resolve));

    it("show what is and what changes, in order", async () => {
      const stage = await scene();
      await made(stage, "v1", "a", { address: "h:1" });
      const { events } = watching(stage);
      await settled();
      await made(stage, "v1", "b", { address: "h:2" });
      await patch(
        stage.registry,
        stage.target("v1", "b"),
        { type: "merge", patch: { spec: { address: "h:3" } } },
        context(),
      );
      await remove(stage.registry, stage.target("v1", "b"), { dryRun: false }, context());
      await settled();
      const seen = events.map(({ type, object }) => {
        const { metadata, spec } = object as DynamicObject;
        return [type, metadata.name, (spec as Spec).port];
      });
      expect(seen).toEqual([
        ["ADDED", "a", "1"],
        ["ADDED", "b", "2"],
        ["MODIFIED", "b", "3"],
        ["DELETED", "b", "3"],
      ]);
    });

    it("see objects come and go by what they are in their version", async () => {
      const stage = await scene();
      await made(stage, "v1", "a", { address: "h:1" });
      const { events } = watching(stage, "fieldSelector=spec.host%3Dother");
      await settled();
      for (const address of ["other:1", "h:1"]) {
        await patch(
          stage.registry,
          stage.target("v1", "a"),
          { type: "merge", patch: { spec: { address } } },
          context(),
        );
      }
      await settled();
      expect(events.map(({ type }) => type)).toEqual(["ADDED", "DELETED"]);
    });

    it("end with the reason when nothing can be converted, whether at the start or later", async () => {
      const stage = await scene();
      await made(stage, "v1", "a", { address: "h:1" });
      const early = watching(stage);
      await settled();
      stage.behave(new CallFailure("nobody is there"));
      await made(stage, "v1", "b", { address: "h:1" });
      const late = watching(stage);
      await settled();
      const last = { type: "ERROR", object: expect.objectContaining({ code: 500 }) };
      expect(early.events).toEqual([expect.objectContaining({ type: "ADDED" }), last]);
      expect(late.events).toEqual([last]);
      expect([early.isOver(), late.isOver()]).toEqual([true, true]);
    });
  });

  it("only change their name while all Pods of the webhook are simulated", async () => {
    const stage = await scene();
    stage.behave("simulated");
    await made(stage, "v1", "a", { address: "h:1", note: "n" });
    expect(await shown(stage, "v2", "a")).toMatchObject({ apiVersion: "example.com/v2", spec: { note: "n" } });
    expect(stage.target("v2").resource.conversion?.notConverted()).toBe(
      "all Pods behind Service space/hook are simulated",
    );
  });

  it("are forgotten when they could not be converted, and asked for again", async () => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "h:1" });
    stage.behave(new CallFailure("nobody is there"));
    expect(await failure(shown(stage, "v2", "a"))).toBe(
      "conversion webhook for example.com/v1, Kind=Thing failed: nobody is there",
    );
    stage.behave((response) => response);
    expect(await shown(stage, "v2", "a")).toMatchObject({ spec: { host: "h" } });
  });

  const first = (edit: (object: DynamicObject) => unknown) => (response: Answer) => {
    const [object] = response.convertedObjects ?? [];
    if (object) edit(object);
    return response;
  };
  it.each<[string, (response: Answer) => Answer, string]>([
    ["that fails", (r) => ({ ...r, result: { status: "Failure", message: "cannot" } }), "failed: cannot"],
    [
      "that fails without a word",
      (r) => ({ ...r, result: { status: "Failure" } }),
      "failed: response.result.status was 'Failure', not 'Success'",
    ],
    ["to another question", (r) => ({ ...r, uid: "x" }), 'got "x"'],
    ["with too few objects", (r) => ({ ...r, convertedObjects: [] }), "returned 0 objects, expected 1"],
    [
      "in another version",
      first((o) => (o.apiVersion = "example.com/v1")),
      "invalid groupVersion (expected example.com/v2, received example.com/v1)",
    ],
    ["of another kind", first((o) => (o.kind = "Other")), "invalid kind (expected Thing, received Other)"],
    ["with another name", first((o) => (o.metadata.name = "x")), "must have the same name: a != x"],
    ["with another uid", first((o) => (o.metadata.uid = "x")), "must have the same UID:"],
    ["with labels that are none", first((o) => (o.metadata.labels = { "a b": "" })), "metadata.labels: Invalid value"],
    [
      "with labels that are numbers",
      first((o) => (o.metadata.labels = { a: 1 } as never)),
      "metadata.labels[a] must be a string",
    ],
  ])("are not taken from an answer %s", async (_, how, complaint) => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "h:1" });
    stage.behave(how);
    const message = await failure(shown(stage, "v2", "a"));
    expect(message).toContain("conversion webhook for example.com/v1, Kind=Thing");
    expect(message).toContain(complaint);
  });

  it("get their labels and annotations from the webhook, and the rest of their metadata from the server", async () => {
    const stage = await scene();
    await made(stage, "v1", "a", { address: "h:1" });
    stage.behave(
      first((object) => {
        object.metadata.labels = { from: "webhook" };
        object.metadata.finalizers = ["example.com/stray"];
        (object.spec as Record<string, unknown>).unknown = 1;
      }),
    );
    const { metadata, spec } = await shown(stage, "v2", "a");
    expect(metadata.labels).toEqual({ from: "webhook" });
    expect(metadata.finalizers).toBeUndefined();
    expect(spec).not.toHaveProperty("unknown");
  });
});
