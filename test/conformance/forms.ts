/** The same objects in other forms: tables, metadata, YAML and protobuf. */
import { beforeAll, describe, expect, it } from "vitest";
import * as protobuf from "../support/protobuf.ts";
import { at, inGroup, refusal, refused, type Staged } from "./stage.ts";

const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1";
const METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

export function formsSuite(stage: Staged): void {
  let space: string;
  const secrets = (name?: string) => at(space, "secrets", name);
  beforeAll(async () => {
    space = await stage().namespace();
    for (const name of ["one", "two"]) {
      await stage().admin.post(secrets(), { metadata: { name, labels: { l: name } }, stringData: { a: "b" } });
    }
  });

  describe("tables", () => {
    it("table.rows: have columns, and rows with cells and metadata", async () => {
      const { body } = await stage().admin.get(secrets(), { accept: TABLE });
      expect(body).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
      expect(body.metadata.resourceVersion).toBeTruthy();
      expect(body.columnDefinitions).toMatchObject([
        { name: "Name", type: "string", format: "name", priority: 0 },
        { name: "Type", type: "string", format: "", priority: 0 },
        { name: "Data", type: "string", format: "", priority: 0 },
        { name: "Age", type: "string", format: "", priority: 0 },
      ]);
      const rows = body.rows as { cells: unknown[]; object: { kind: string; metadata: { name: string } } }[];
      expect(rows.map(({ cells }) => cells.slice(0, 3))).toEqual([
        ["one", "Opaque", 1],
        ["two", "Opaque", 1],
      ]);
      expect(rows[0]?.object).toMatchObject({
        kind: "PartialObjectMetadata",
        metadata: { name: "one", labels: { l: "one" } },
      });
    });

    it("table.pages: come in pages, of one object, with whole objects or without", async () => {
      const page = await stage().admin.get(`${secrets()}?limit=1`, { accept: TABLE });
      expect(page.body.metadata).toMatchObject({ continue: expect.any(String), remainingItemCount: 1 });
      const one = await stage().admin.get(secrets("one"), { accept: TABLE });
      expect(one.body).toMatchObject({ kind: "Table", rows: [{ cells: ["one", "Opaque", 1, expect.any(String)] }] });
      const none = await stage().admin.get(`${secrets("one")}?includeObject=None`, { accept: TABLE });
      expect(none.body).toMatchObject({ rows: [{ object: null }] });
      const whole = await stage().admin.get(`${secrets("one")}?includeObject=Object`, { accept: TABLE });
      expect(whole.body).toMatchObject({ rows: [{ object: { kind: "Secret", apiVersion: "v1", type: "Opaque" } }] });
    });

    it("table.refusals: refuse an includeObject that nobody knows", async () => {
      const reply = await stage().admin.get(`${secrets()}?includeObject=Some`, { accept: TABLE });
      expect(reply.code).toBe(400);
    });
  });

  describe("metadata", () => {
    it("metadata.alone: comes alone, for one object and for many", async () => {
      const one = await stage().admin.get(secrets("one"), { accept: METADATA });
      expect(one.body).toMatchObject({
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: { name: "one" },
      });
      expect(one.body).not.toHaveProperty("data");
      const many = await stage().admin.get(secrets(), { accept: METADATA_LIST });
      expect(many.body).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
      expect(many.body.items.map(({ metadata }) => metadata.name)).toEqual(["one", "two"]);
    });

    it("metadata.protobuf: comes as protobuf where that is named first", async () => {
      const inProtobuf = METADATA_LIST.replace("application/json", protobuf.PROTOBUF);
      const { code, headers } = await stage().admin.get(secrets(), { accept: `${inProtobuf},${METADATA_LIST}` });
      expect([code, headers["content-type"]]).toEqual([200, protobuf.PROTOBUF]);
    });

    it("metadata.wrong-form: in the form of one is refused for a list", async () => {
      expect(refusal(await stage().admin.get(secrets(), { accept: METADATA }))).toEqual(refused(406, "NotAcceptable"));
    });
  });

  describe("media types", () => {
    it.each([
      ["application/json", "application/json"],
      ["*/*", "application/json"],
      ["application/vnd.kubernetes.protobuf;q=0, application/json", "application/json"],
      ["application/yaml", "application/yaml"],
      ["application/xml, application/yaml;q=0.5, application/json;q=0.4", "application/yaml"],
      ["application/json;as=Nothing;g=meta.k8s.io;v=v1, application/json", "application/json"],
    ])("http.accept: of %s take %s", async (accept, expected) => {
      const { code, headers } = await stage().admin.get(secrets("one"), { accept });
      expect([code, headers["content-type"]]).toEqual([200, expected]);
    });

    it.each(["application/xml", "application/json;as=Nothing;g=meta.k8s.io;v=v1"])(
      "http.not-acceptable: refuse %s alone",
      async (accept) => {
        expect(refusal(await stage().admin.get(secrets("one"), { accept }))).toEqual(refused(406, "NotAcceptable"));
      },
    );

    it.each([
      ["soon", 400],
      ["5", 400],
      ["0s", 200],
      ["1m30s", 200],
    ])("http.timeout: a wish to wait for %s is answered with %i", async (timeout, code) => {
      expect((await stage().admin.get(`${secrets("one")}?timeout=${timeout}`)).code).toBe(code);
    });

    it("http.content-types: of a body are JSON, YAML and protobuf", async () => {
      const made = await stage().admin.post(secrets(), "metadata:\n  name: yaml\nstringData: {a: b}\n", {
        type: "application/yaml",
      });
      expect([made.code, made.body.data]).toEqual([201, { a: "Yg==" }]);
      const plain = await stage().admin.post(secrets(), "x", { type: "text/plain" });
      expect(refusal(plain)).toEqual(refused(415, "UnsupportedMediaType"));
    });

    it("http.pretty: are indented for people", async () => {
      const { text } = await stage().admin.get(`${secrets("one")}?pretty=true`);
      expect(text).toContain('\n  "kind": "Secret"');
      const curl = await stage().admin.get(secrets("one"), { headers: { "User-Agent": "curl/8.0" } });
      expect(curl.text).toContain('\n  "kind": "Secret"');
    });
  });

  describe("protobuf", () => {
    const type = protobuf.PROTOBUF;

    it("protobuf.config-map: creates a ConfigMap", async () => {
      const { code, body } = await stage().admin.post(
        at(space, "configmaps"),
        protobuf.configMap("binary", { a: "ä", b: "" }),
        {
          type,
          accept: `${type}, application/json;q=0.9`,
          headers: { Accept: "application/json" },
        },
      );
      expect(code).toBe(201);
      expect(body).toMatchObject({
        kind: "ConfigMap",
        metadata: { name: "binary", namespace: space },
        data: { a: "ä", b: "" },
      });
    });

    it("protobuf.namespace: creates a Namespace", async () => {
      const name = `${space}-binary`;
      const { code, body } = await stage().admin.post("/api/v1/namespaces", protobuf.namespace(name), { type });
      expect(code).toBe(201);
      expect(body).toMatchObject({
        metadata: { name },
        spec: { finalizers: ["kubernetes"] },
        status: { phase: "Active" },
      });
      await stage().admin.delete(`/api/v1/namespaces/${name}`);
    });

    it("protobuf.lease: creates and renews a Lease", async () => {
      const leases = inGroup("coordination.k8s.io", "v1", "leases", space);
      const renewed = new Date("2026-01-02T03:04:05.678Z");
      const made = await stage().admin.post(leases, protobuf.lease("l", { holder: "me", seconds: 15, renewed }), {
        type,
      });
      expect(made.code).toBe(201);
      expect(made.body.spec).toEqual({
        holderIdentity: "me",
        leaseDurationSeconds: 15,
        renewTime: "2026-01-02T03:04:05.678000Z",
      });
      const { resourceVersion = "" } = made.body.metadata;
      const next = { holder: "you", seconds: 300, renewed, resourceVersion };
      const put = await stage().admin.put(`${leases}/l`, protobuf.lease("l", next), { type });
      expect(put.body.spec).toMatchObject({ holderIdentity: "you", leaseDurationSeconds: 300 });
    });

    it("protobuf.delete-options: carries the options of a deletion", async () => {
      await stage().admin.post(at(space, "configmaps"), { metadata: { name: "doomed" } });
      const body = protobuf.deleteOptions("Background");
      const { code } = await stage().admin.request("DELETE", at(space, "configmaps", "doomed"), { body, type });
      expect(code).toBe(200);
    });

    it.each([
      ["nothing", Buffer.alloc(0)],
      ["no envelope", Buffer.from("{}")],
      ["a torn envelope", protobuf.configMap("torn", { a: "b" }).subarray(0, 20)],
      ["a length beyond the end", Buffer.from([0x6b, 0x38, 0x73, 0x00, 0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])],
    ])("protobuf.refusals: refuses %s", async (_, body) => {
      const reply = await stage().admin.post(at(space, "configmaps"), body, { type });
      expect(reply.code).toBe(400);
    });
  });
}
