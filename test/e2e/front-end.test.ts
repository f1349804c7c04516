/** What the embedded API server does around its verbs: protobuf, OpenAPI v2, metrics, audit, aggregated roles. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { type AuditEvent, openCluster } from "#apiserver";
import { connectionOf, kubeconfigFor } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { decodeProtobuf } from "../../src/apiserver/types/index.ts";
import { eventually } from "../support/eventually.ts";
import { type RawClient, rawClient } from "../support/raw.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const SWAGGER = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

let server: TestServer;
let admin: RawClient;
beforeAll(async () => {
  server = await startEmbedded("front-end");
  admin = await rawClient(server);
});
afterAll(async () => {
  admin?.close();
  await server?.close();
});

/** The bytes of an answer; of one without end, as many as `until` wants. */
async function bytesOf(path: string, accept: string, until?: (bytes: Buffer) => boolean) {
  const { cert, key } = await connectionOf(server.kubeconfig);
  const agent = new Agent({ ca: server.authority, ...(cert && { cert }), ...(key && { key }) });
  return new Promise<{ code: number; type: string; bytes: Buffer }>((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    const sent = httpsRequest({ agent, hostname, port, path, headers: { Accept: accept } }, (response) => {
      let bytes = Buffer.alloc(0);
      const done = () => {
        resolve({ code: response.statusCode ?? 0, type: response.headers["content-type"] ?? "", bytes });
        sent.destroy();
        agent.destroy();
      };
      response.on("data", (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        if (until?.(bytes)) done();
      });
      response.on("end", done);
    });
    sent.on("error", reject);
    sent.end();
  });
}

const WIDGETS = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};

describe("protobuf answers", () => {
  it("hold every built-in kind that can be listed, as JSON shows it", async () => {
    const { body } = await admin.get("/apis");
    const groups = (body.groups as { versions: { groupVersion: string }[] }[]).flatMap(({ versions }) => versions);
    const roots = ["/api/v1", ...groups.map(({ groupVersion }) => `/apis/${groupVersion}`)];
    let compared = 0;
    for (const root of roots.filter((each) => !each.includes("example.com"))) {
      const resources = (await admin.get(root)).body.resources as { name: string; verbs: string[] }[];
      for (const { name } of resources.filter(({ verbs }) => verbs.includes("list"))) {
        const listed = (await admin.get(`${root}/${name}`)).body;
        // The cluster's own controllers are at work, so both must be of one moment.
        const moment = `resourceVersion=${listed.metadata.resourceVersion}&resourceVersionMatch=Exact`;
        const { code, type, bytes } = await bytesOf(`${root}/${name}?${moment}`, PROTOBUF);
        expect([name, code, type]).toEqual([name, 200, PROTOBUF]);
        const { object } = decodeProtobuf(bytes);
        expect(object.kind).toBe(listed.kind);
        expect((object.items as unknown[] | undefined) ?? []).toHaveLength(listed.items.length);
        compared++;
      }
    }
    expect(compared).toBeGreaterThan(20);
  });

  it("hold a Status when something is wrong", async () => {
    const { code, bytes } = await bytesOf("/api/v1/namespaces/nowhere", PROTOBUF);
    expect(code).toBe(404);
    expect(decodeProtobuf(bytes).object).toMatchObject({ kind: "Status", reason: "NotFound", code: 404 });
  });

  it("are frames when watching", async () => {
    const path = "/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault";
    const whole = (bytes: Buffer) => bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE();
    const { type, bytes } = await bytesOf(path, PROTOBUF, whole);
    expect(type).toBe(`${PROTOBUF};stream=watch`);
    expect(bytes.toString("latin1")).toContain("ADDED");
    expect(bytes.toString("latin1")).toContain("default");
  });

  it("do not exist of custom resources, except for their metadata", async () => {
    await admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS);
    const path = "/apis/example.com/v1/widgets";
    expect((await admin.get(path, { accept: PROTOBUF })).code).toBe(406);
    expect((await admin.get(path, { accept: `${PROTOBUF},application/json` })).body.kind).toBe("WidgetList");
    const metadata = await bytesOf(path, `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`);
    expect(decodeProtobuf(metadata.bytes).object.kind).toBe("PartialObjectMetadataList");
  });
});

describe("OpenAPI v2", () => {
  it("comes as protobuf or as JSON, and not again when it is known", async () => {
    const asJson = await admin.get("/openapi/v2", { accept: "application/json" });
    const definitions = asJson.body.definitions as Record<string, { properties?: unknown }>;
    expect(definitions["io.k8s.api.apps.v1.Deployment"]?.properties).toBeDefined();
    const asProtobuf = await bytesOf("/openapi/v2", SWAGGER);
    expect(asProtobuf.type).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    expect(asProtobuf.bytes.includes("io.k8s.api.apps.v1.Deployment")).toBe(true);
    const again = await admin.get("/openapi/v2", { headers: { "If-None-Match": asJson.headers.etag } });
    expect(again.code).toBe(304);
    expect((await admin.get("/openapi/v2", { accept: "text/html" })).code).toBe(406);
  });

  it("has only references that lead somewhere", async () => {
    const { text, body } = await admin.get("/openapi/v2");
    const named = new Set(Object.keys(body.definitions as object));
    const targets = [...text.matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name = ""]) => name);
    expect(targets.filter((name) => !named.has(name))).toEqual([]);
    expect(text).not.toContain("#/components/");
  });
});

describe("metrics", () => {
  it("count what was asked", async () => {
    await admin.get("/api/v1/namespaces/default");
    const { text, headers } = await admin.get("/metrics");
    expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(
      /apiserver_request_total\{verb="GET",group="",version="v1",resource="namespaces".*code="200"\} \d/,
    );
    expect(text).toContain('apiserver_storage_objects{resource="namespaces"} 4');
    expect(text).toMatch(/process_resident_memory_bytes \d/);
  });

  it("are for those who may see them", async () => {
    expect((await admin.as({}).get("/metrics")).code).toBe(403);
    const headers = { "Impersonate-User": "prometheus", "Impersonate-Group": "system:monitoring" };
    expect((await admin.get("/metrics", { headers })).code).toBe(200);
  });
});

describe("aggregated roles", () => {
  const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const rule = { verbs: ["get"], apiGroups: ["example.com"], resources: ["widgets"] };

  it("gain the rules of a new role, up to admin", async () => {
    const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
    await admin.post(ROLES, { metadata: { name: "view-widgets", labels }, rules: [rule] });
    for (const name of ["view", "edit", "admin"]) {
      await eventually(async () => expect((await admin.get(`${ROLES}/${name}`)).body.rules).toContainEqual(rule));
    }
    await admin.delete(`${ROLES}/view-widgets`);
    await eventually(async () => expect((await admin.get(`${ROLES}/admin`)).body.rules).not.toContainEqual(rule));
  });
});

describe("the audit log", () => {
  it("tells in memory and in a file who did what, without secrets", async () => {
    const dir = await mkdtemp(join(tmpdir(), "capstan-audited-"));
    const cluster = await openCluster({
      name: "audited",
      dir,
      durability: "os",
      ports: [0],
      signingDurationMs: 3_600_000,
      version: "0.0.0-test",
      clock: systemClock,
      log: silentLog,
    });
    const { url, authority, administrator } = cluster;
    const { certificate: cert, key } = administrator;
    const kubeconfig = kubeconfigFor({ name: "audited", server: url, ca: authority, cert, key });
    const client = await rawClient({ kubeconfig });
    try {
      const secret = { metadata: { generateName: "s-" }, stringData: { password: "hunter2" } };
      const made = await client.post("/api/v1/namespaces/default/secrets?token=hunter2", secret);
      await client.get("/api/v1/nodes", { headers: { "Impersonate-User": "bob" } });
      await client.get("/readyz");
      const watch = await client.watch("/api/v1/namespaces?watch=true&timeoutSeconds=1");
      watch.close();

      const isWatched = ({ verb, stage }: AuditEvent) => verb === "watch" && stage === "ResponseComplete";
      await eventually(() => expect(cluster.auditTrail().some(isWatched)).toBe(true));
      const trail = cluster.auditTrail();
      expect(trail.map(({ verb, stage }) => `${verb} ${stage}`).sort()).toEqual([
        "create ResponseComplete",
        "list ResponseComplete",
        "watch ResponseComplete",
        "watch ResponseStarted",
      ]);
      expect(trail.find(({ verb }) => verb === "create")).toMatchObject({
        requestURI: "/api/v1/namespaces/default/secrets?token=REDACTED",
        objectRef: { resource: "secrets", namespace: "default", name: made.body.metadata.name },
        responseStatus: { code: 201 },
        sourceIPs: ["127.0.0.1"],
      });
      expect(trail.find(({ verb }) => verb === "list")).toMatchObject({
        impersonatedUser: { username: "bob" },
        responseStatus: { code: 403, reason: "Forbidden" },
        annotations: { "authorization.k8s.io/decision": "forbid" },
      });

      client.close();
      await cluster.close();
      const written = await readFile(join(dir, "audit.log"), "utf8");
      const lines = written.trim().split("\n");
      expect(lines.map((line) => (JSON.parse(line) as AuditEvent).auditID)).toEqual(
        trail.map(({ auditID }) => auditID),
      );
      expect(written).not.toContain("hunter2");
    } finally {
      client.close();
      await cluster.close().catch(() => {});
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe("one connection", () => {
  it("carries several large lists at once, because the protocol shares it between all requests of a client", async () => {
    const data = { padding: "x".repeat(500_000) };
    const names = Array.from({ length: 16 }, (_, index) => `large-${index}`);
    await Promise.all(
      names.map((name) => server.client.create(ConfigMap, { metadata: { namespace: "default", name }, data })),
    );
    const lists = await Promise.all(
      Array.from({ length: 8 }, () => server.client.list(ConfigMap, { namespace: "default" })),
    );
    expect(lists.every(({ items }) => items.length >= names.length)).toBe(true);
  });
});
