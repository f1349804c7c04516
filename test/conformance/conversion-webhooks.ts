/** Versions of custom kinds that a webhook converts. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { type Answerer, allowed, converted, patching, type Review } from "../support/webhook-server.ts";
import { inGroup, refusal, refused, type Staged } from "./stage.ts";
import { webhookStage } from "./webhook-stage.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = `c${randomBytes(3).toString("hex")}.example.com`;
const TEXT = { type: "string" };
const version = (name: string, properties: object, storage = false) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } },
});
const definition = (conversion: object) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `places.${GROUP}` },
  spec: {
    group: GROUP,
    scope: "Namespaced",
    names: { plural: "places", kind: "Place" },
    versions: [
      version("v1", { address: TEXT, note: { ...TEXT, default: "filled" } }, true),
      version("v2", { host: TEXT, port: TEXT, note: TEXT }),
    ],
    conversion,
  },
});
const place = (in_: string, name: string, spec: object) => ({
  apiVersion: `${GROUP}/${in_}`,
  kind: "Place",
  metadata: { name },
  spec,
});

/** In v1 an address is one text, in v2 it is two fields. */
function translate(object: DynamicObject, apiVersion: string): DynamicObject {
  const { address, host, port, ...rest } = (object.spec ?? {}) as Record<string, string>;
  const [first, second] = address?.split(":") ?? [host, port];
  const spec = apiVersion.endsWith("v1") ? { address: `${first}:${second}` } : { host: first, port: second };
  return { ...object, apiVersion, spec: { ...rest, ...(first !== undefined && spec) } };
}
const good: Answerer = (review) => converted(review, translate);

export function conversionWebhooksSuite(stage: Staged): void {
  const hooks = webhookStage(stage);
  const places = (in_: string, name?: string) => inGroup(GROUP, in_, "places", hooks().space, name);
  let count = 0;
  const fresh = () => `place-${++count}`;
  const post = (in_: string, name: string, spec: object) => stage().admin.post(places(in_), place(in_, name, spec));
  const answers = (convert: Answerer) => hooks().answers({ convert });

  beforeAll(async () => {
    const { url, caBundle } = hooks().server;
    answers(good);
    const made = await stage().admin.post(
      DEFINITIONS,
      definition({
        strategy: "Webhook",
        webhook: { clientConfig: { url: `${url}/convert`, caBundle }, conversionReviewVersions: ["v1"] },
      }),
    );
    expect(made.code).toBe(201);
    for (const in_ of ["v1", "v2"]) {
      // A real server serves a new kind a moment after it says so.
      await eventually(async () => expect([201, 409]).toContain((await post(in_, "ready", {})).code));
    }
  });
  afterAll(async () => {
    answers(good);
    await stage().admin.delete(`${DEFINITIONS}/places.${GROUP}`);
  });
  beforeEach(() => answers(good));

  describe("objects", () => {
    it("conversion-webhooks.read: are shown in the version that is asked for", async () => {
      const name = fresh();
      await post("v1", name, { address: "h:1" });
      const { body } = await stage().admin.get(places("v2", name));
      expect(body).toMatchObject({ apiVersion: `${GROUP}/v2`, spec: { host: "h", port: "1", note: "filled" } });
      const asked = hooks().server.calls.find(({ review }) => review.request.objects[0]?.metadata.name === name);
      expect(asked).toMatchObject({
        path: "/convert",
        query: "timeout=30s",
        review: {
          apiVersion: "apiextensions.k8s.io/v1",
          kind: "ConversionReview",
          request: {
            desiredAPIVersion: `${GROUP}/v2`,
            objects: [{ apiVersion: `${GROUP}/v1`, spec: { address: "h:1" } }],
          },
        },
      });
    });

    it("conversion-webhooks.write: are taken in any version and mean the same in all", async () => {
      const name = fresh();
      const { body: made } = await post("v2", name, { host: "h", port: "1" });
      expect(made).toMatchObject({ apiVersion: `${GROUP}/v2`, spec: { host: "h", port: "1" } });
      expect((await stage().admin.get(places("v1", name))).body.spec).toMatchObject({ address: "h:1" });
      const { body: put } = await stage().admin.put(places("v2", name), { ...made, spec: { host: "i", port: "1" } });
      expect(put).toMatchObject({ spec: { host: "i" }, metadata: { generation: 2 } });
      await stage().admin.patch(places("v2", name), { spec: { port: "9" } });
      expect((await stage().admin.get(places("v1", name))).body.spec).toMatchObject({ address: "i:9" });
      expect((await stage().admin.delete(places("v2", name))).code).toBe(200);
    });

    it("conversion-webhooks.list: are all shown in one version, whichever they were written in", async () => {
      const [one, two] = [fresh(), fresh()];
      await post("v1", one, { address: "h:1" });
      await post("v2", two, { host: "i", port: "2" });
      const { body } = await stage().admin.get(places("v2"));
      const hosts = Object.fromEntries(body.items.map(({ metadata, spec }: Body) => [metadata.name, spec]));
      expect(hosts).toMatchObject({ [one]: { host: "h" }, [two]: { host: "i" } });
      expect(new Set(body.items.map(({ apiVersion }: Body) => apiVersion))).toEqual(new Set([`${GROUP}/v2`]));
    });

    it("conversion-webhooks.watch: are shown as they change", async () => {
      const name = fresh();
      const { body } = await stage().admin.get(places("v2"));
      const watch = await stage().admin.watch(
        `${places("v2")}?watch=1&resourceVersion=${body.metadata.resourceVersion}`,
      );
      await post("v1", name, { address: "h:1" });
      await stage().admin.patch(places("v1", name), { spec: { address: "h:2" } });
      await stage().admin.delete(places("v1", name));
      const events = await watch.seen(3);
      expect(events).toMatchObject([
        { type: "ADDED", object: { apiVersion: `${GROUP}/v2`, spec: { port: "1" } } },
        { type: "MODIFIED", object: { spec: { port: "2" } } },
        { type: "DELETED", object: { spec: { port: "2" } } },
      ]);
      watch.close();
    });

    it("conversion-webhooks.apply: have owners in each version, who can be in conflict with those in another", async () => {
      const name = fresh();
      const applied = (in_: string, manager: string, spec: object) =>
        stage().admin.request("PATCH", `${places(in_, name)}?fieldManager=${manager}`, {
          body: place(in_, name, spec),
          type: "application/apply-patch+yaml",
        });
      expect((await applied("v2", "two", { host: "h", port: "1" })).code).toBe(201);
      const conflict = await applied("v1", "one", { address: "other:1" });
      expect(refusal(conflict)).toEqual(refused(409, "Conflict", ".spec.host FieldManagerConflict"));
      const shared = await applied("v1", "one", { address: "h:1" });
      expect(shared.body.metadata.managedFields?.map(({ manager, apiVersion }) => [manager, apiVersion])).toEqual([
        ["one", `${GROUP}/v1`],
        ["two", `${GROUP}/v2`],
      ]);
    });

    it("conversion-webhooks.admission: are converted for a webhook that knows another version", async () => {
      await hooks().configure("mutating", "q", {
        name: "hook",
        rules: [{ operations: ["CREATE"], apiGroups: [GROUP], apiVersions: ["v2"], resources: ["places"] }],
      });
      const seen: unknown[] = [];
      hooks().answers({
        convert: good,
        hook(review) {
          const { object, requestKind } = review.request;
          seen.push([object?.apiVersion, object?.spec, requestKind.version]);
          return allowed(review, patching({ op: "replace", path: "/spec/port", value: "7" }));
        },
      });
      const { body } = await post("v1", fresh(), { address: "h:1" });
      expect(seen).toEqual([[`${GROUP}/v2`, { host: "h", port: "1", note: "filled" }, "v1"]]);
      expect(body.spec).toMatchObject({ address: "h:7" });
      await hooks().clear();
    });

    it("conversion-webhooks.metadata: get labels and annotations from the webhook, and nothing else of their metadata", async () => {
      const name = fresh();
      await post("v1", name, { address: "h:1" });
      answers((review) =>
        converted(review, (object, apiVersion) => {
          const next = translate(object, apiVersion);
          const { metadata } = next;
          return {
            ...next,
            metadata: { ...metadata, labels: { from: "webhook" }, finalizers: ["example.com/stray"], generation: 77 },
            spec: { ...(next.spec as object), unknown: 1 },
          };
        }),
      );
      const { body } = await stage().admin.get(places("v2", name));
      expect(body.metadata).toMatchObject({ labels: { from: "webhook" }, generation: 1 });
      expect(body.metadata.finalizers).toBeUndefined();
      expect(body.spec).toEqual({ host: "h", port: "1", note: "filled" });
    });
  });

  type Converted = ReturnType<typeof converted>;
  const bad =
    (edit: (response: NonNullable<Converted["response"]>, review: Review) => object): Answerer =>
    (review) => {
      const answer = converted(review, translate);
      return answer.response ? { ...answer, response: edit(answer.response, review) } : answer;
    };
  const object = (edit: (object: DynamicObject) => DynamicObject) =>
    bad((response) => ({ ...response, convertedObjects: response.convertedObjects?.map(edit) }));
  it.each<[string, Answerer, string]>([
    ["fails", bad((r) => ({ ...r, result: { status: "Failure", message: "cannot" } })), " failed: cannot"],
    [
      "fails without a word",
      bad((r) => ({ ...r, result: { status: "Failure" } })),
      " failed: response.result.status was 'Failure', not 'Success'",
    ],
    ["answers something else", bad((r) => ({ ...r, uid: "x" })), ' failed: expected response.uid="UID", got "x"'],
    [
      "says nothing",
      () => ({ apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" }),
      " failed: no response provided",
    ],
    ["forgets objects", bad((r) => ({ ...r, convertedObjects: [] })), " returned 0 objects, expected 1"],
    [
      "does not convert",
      (review) => converted(review, (given) => given),
      " returned invalid object at index 0: invalid groupVersion (expected GROUP/v2, received GROUP/v1)",
    ],
    [
      "makes another kind of it",
      object((o) => ({ ...o, kind: "Other" })),
      " returned invalid object at index 0: invalid kind (expected Place, received Other)",
    ],
    [
      "renames",
      object((o) => ({ ...o, metadata: { ...o.metadata, name: "x" } })),
      " returned invalid object: must have the same name: NAME != x",
    ],
    [
      "exchanges",
      object((o) => ({ ...o, metadata: { ...o.metadata, uid: "x" } })),
      " returned invalid object: must have the same UID: UID != x",
    ],
    [
      "gives labels that are none",
      object((o) => ({ ...o, metadata: { ...o.metadata, labels: { "a b": "" } } })),
      ' returned invalid metadata: metadata.labels: Invalid value: "a b": ',
    ],
    [
      "breaks",
      (_review, _call, response) => {
        response.statusCode = 500;
        response.end("boom");
        return undefined;
      },
      ' failed: an error on the server ("boom") has prevented the request from succeeding',
    ],
  ])("conversion-webhooks.failures: a webhook that %s fails the request", async (_, answer, message) => {
    const name = fresh();
    await post("v1", name, { address: "h:1" });
    answers(answer);
    const reply = await stage().admin.get(places("v2", name));
    expect(refusal(reply)).toEqual(refused(500, undefined));
    const text = (reply.body.message ?? "")
      .replaceAll(GROUP, "GROUP")
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "UID")
      .replaceAll(name, "NAME");
    expect(text).toContain(`conversion webhook for GROUP/v1, Kind=Place${message}`);
  });

  it.each<[string, object, string[]]>([
    [
      "no address",
      { strategy: "Webhook" },
      ["conversionReviewVersions FieldValueRequired", "webhookClientConfig FieldValueRequired"],
    ],
    [
      "a bad address",
      { strategy: "Webhook", webhook: { clientConfig: { url: "http://x" }, conversionReviewVersions: ["v1"] } },
      ["webhookClientConfig.url FieldValueInvalid"],
    ],
    [
      "an unknown version",
      { strategy: "Webhook", webhook: { clientConfig: { url: "https://x" }, conversionReviewVersions: ["v9"] } },
      ["conversionReviewVersions FieldValueInvalid"],
    ],
    [
      "a webhook that is not asked",
      { strategy: "None", webhook: { clientConfig: { url: "https://x" }, conversionReviewVersions: ["v1"] } },
      ["conversionReviewVersions FieldValueForbidden", "webhookClientConfig FieldValueForbidden"],
    ],
    ["an unknown strategy", { strategy: "Other" }, ["strategy FieldValueNotSupported"]],
  ])("conversion-webhooks.definition-refusals: a definition with %s is refused", async (_, conversion, causes) => {
    const reply = await stage().admin.post(`${DEFINITIONS}?dryRun=All`, {
      ...definition(conversion),
      metadata: { name: `tried.${GROUP}` },
      spec: { ...definition(conversion).spec, names: { plural: "tried", kind: "Tried" } },
    });
    expect(refusal(reply)).toEqual(refused(422, "Invalid", ...causes.map((cause) => `spec.conversion.${cause}`)));
  });
}
