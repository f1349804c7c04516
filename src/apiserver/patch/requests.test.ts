import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawClient, rawClient } from "../../../test/support/raw.ts";
import { startEmbedded, type TestServer } from "../../../test/support/servers.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";

const definition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { replicas: { type: "integer" } } } },
          },
        },
      },
    ],
  },
};

const deployment = (name: string) => ({
  metadata: { name },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          { name: "a", image: "a:1" },
          { name: "b", image: "b:1" },
        ],
      },
    },
  },
});

describe("patch requests", () => {
  let server: TestServer;
  let admin: RawClient;
  beforeAll(async () => {
    server = await startEmbedded("patch");
    admin = await rawClient(server);
    await admin.post(DEFINITIONS, definition);
    await admin.post(WIDGETS, {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "w" },
      spec: { replicas: 1 },
    });
  });
  afterAll(async () => {
    admin?.close();
    await server?.close();
  });

  async function made(name: string): Promise<string> {
    expect((await admin.post(DEPLOYMENTS, deployment(name))).code).toBe(201);
    return `${DEPLOYMENTS}/${name}`;
  }

  it("merge containers by name, in the newest state, and count the generation", async () => {
    const path = await made("merged");
    const changed = { spec: { template: { spec: { containers: [{ name: "b", image: "b:2" }] } } } };
    const { code, body } = await admin.patch(path, changed, "strategic");
    expect(code).toBe(200);
    expect(body.metadata.generation).toBe(2);
    expect(body).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              { name: "a", image: "a:1" },
              { name: "b", image: "b:2" },
            ],
          },
        },
      },
    });
    const again = await admin.patch(path, changed, "strategic");
    expect(again.body.metadata.generation).toBe(2);
  });

  it("merge conditions on /status, and nothing else there", async () => {
    const path = `${await made("status")}/status`;
    const conditions = (...types: string[]) => types.map((type) => ({ type, status: "True" }));
    await admin.patch(path, { status: { conditions: conditions("One") } }, "strategic");
    const { body } = await admin.patch(
      path,
      { spec: { replicas: 9 }, status: { conditions: conditions("Two") } },
      "strategic",
    );
    expect(body.spec).toMatchObject({ replicas: 0 });
    const merged = (body.status as { conditions: { type: string }[] }).conditions.map(({ type }) => type);
    expect(merged).toEqual(expect.arrayContaining(["One", "Two"])); // beside those of the controller
  });

  it.each(["strategic", "merge"] as const)("read /scale as a kind of its own: %s", async (type) => {
    const path = `${await made(`scale-${type}`)}/scale`;
    const scaled = await admin.patch(path, { spec: { replicas: 4 } }, type);
    expect(scaled.body).toMatchObject({ kind: "Scale", spec: { replicas: 4 } });
    const wrong = await admin.patch(path, { spec: { replicas: "x" } }, type);
    expect([wrong.code, wrong.body.details?.causes?.[0]?.field]).toEqual([422, "patch"]);
    expect((await admin.patch(path, { metadata: { name: "other" } }, type)).code).toBe(400);
    expect((await admin.patch(path, { spec: { odd: 1 } }, type)).headers.warning).toContain("spec.odd");
  });

  it("are strategic for definitions, because those have a type in the table", async () => {
    const path = `${DEFINITIONS}/widgets.example.com`;
    const { code, body } = await admin.patch(path, { spec: { names: { shortNames: ["wd"] } } }, "strategic");
    expect(code).toBe(200);
    expect(body).toMatchObject({ spec: { names: { plural: "widgets", shortNames: ["wd"] } } });
  });

  it.each(["", "/status", "/scale"])("are not strategic for custom resources: w%s", async (subresource) => {
    const { code, body } = await admin.patch(`${WIDGETS}/w${subresource}`, { spec: { replicas: 2 } }, "strategic");
    expect([code, body.reason]).toEqual([415, "UnsupportedMediaType"]);
    expect(body.message).toContain("application/merge-patch+json");
    expect(body.message).not.toContain("strategic");
  });

  it.each(["strategic", "merge", "json"] as const)("tell that the object is missing first: %s", async (type) => {
    expect((await admin.patch(`${DEPLOYMENTS}/nope`, "5", type)).code).toBe(404);
  });

  it.each<[because: string, patch: unknown, code: number, reason: string | undefined, field: string | undefined]>([
    ["a value of the wrong type", { spec: { replicas: "x" } }, 422, "Invalid", "patch"],
    ["no merge key", { spec: { template: { spec: { containers: [{ image: "x" }] } } } }, 500, undefined, undefined],
    ["another name", { metadata: { name: "other" } }, 400, "BadRequest", undefined],
    ["another uid", { metadata: { uid: "other" } }, 422, "Invalid", "metadata.uid"],
    ["another state", { metadata: { resourceVersion: "1" } }, 409, "Conflict", undefined],
    ["no name at all", { metadata: null }, 400, "BadRequest", undefined],
  ])("are refused for %s", async (because, patch, code, reason, field) => {
    const path = await made(because.replaceAll(" ", "-"));
    const reply = await admin.patch(path, patch, "strategic");
    expect([reply.code, reply.body.reason, reply.body.details?.causes?.[0]?.field]).toEqual([code, reason, field]);
  });

  it("blame the patch for fields that the type does not have, where the client wants to know", async () => {
    const path = await made("strict");
    const asking = { body: { spec: { odd: 1 } }, type: "application/strategic-merge-patch+json" };
    const { code, body } = await admin.request("PATCH", `${path}?fieldValidation=Strict`, asking);
    expect([code, body.details?.causes]).toEqual([
      422,
      [
        {
          reason: "FieldValueInvalid",
          field: "patch",
          message: 'Invalid value: "map[spec:map[odd:1]]": strict decoding error: unknown field "spec.odd"',
        },
      ],
    ]);
    expect((await admin.request("PATCH", path, asking)).headers.warning).toContain("spec.odd");
  });
});
