/** Pages for programs that look after the server: OpenAPI v2, metrics, and the log of who did what. */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { at, inGroup, refusal, refused, type Staged } from "./stage.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

interface Swagger {
  readonly swagger: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly definitions: Record<string, Record<string, unknown> | undefined>;
  readonly paths: Record<string, Record<string, Operation | undefined> | undefined>;
  readonly parameters?: Record<string, Parameter | undefined>;
}

/** Parameters that many operations have may be told once, and pointed at. */
interface Parameter {
  readonly name?: string;
  readonly $ref?: string;
}

interface Operation {
  readonly operationId: string;
  readonly consumes?: string[];
  readonly parameters?: Parameter[];
  readonly responses: Record<string, { readonly schema?: { readonly $ref?: string } }>;
  readonly "x-kubernetes-action"?: string;
  readonly "x-kubernetes-group-version-kind"?: object;
}

function nameOf(parameters: Swagger["parameters"], { $ref = "" }: Parameter): string | undefined {
  return parameters?.[$ref.replace("#/parameters/", "")]?.name;
}

interface AuditLine {
  readonly auditID: string;
  readonly stage: string;
  readonly [field: string]: unknown;
}

export function pagesSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
  });

  describe("OpenAPI v2", () => {
    const document = async () => (await stage().admin.get("/openapi/v2")).body as unknown as Swagger;

    it("openapi-v2.document: is one document for all groups, with a tag, and not again while it stands", async () => {
      const { code, body } = await stage().admin.get("/openapi/v2");
      expect(code).toBe(200);
      expect(body).toMatchObject({ swagger: "2.0", info: { title: "Kubernetes" } });
      // A definition that came or went just now may still change it.
      await eventually(async () => {
        const { etag = "" } = (await stage().admin.get("/openapi/v2")).headers;
        expect(etag).toMatch(/^"[0-9A-F]+"$/);
        expect((await stage().admin.get("/openapi/v2", { headers: { "If-None-Match": etag } })).code).toBe(304);
      });
    });

    it("openapi-v2.definitions: describes kinds, by what identifies them", async () => {
      const { definitions } = await document();
      expect(definitions["io.k8s.api.apps.v1.Deployment"]).toMatchObject({
        type: "object",
        "x-kubernetes-group-version-kind": [{ group: "apps", version: "v1", kind: "Deployment" }],
        properties: {
          spec: { $ref: "#/definitions/io.k8s.api.apps.v1.DeploymentSpec" },
          metadata: { $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" },
        },
      });
      expect(definitions["io.k8s.api.core.v1.PodSpec"]).toMatchObject({
        required: ["containers"],
        properties: {
          containers: {
            type: "array",
            items: { $ref: "#/definitions/io.k8s.api.core.v1.Container" },
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
          },
        },
      });
    });

    it("openapi-v2.paths: says what may be asked of a kind, and how", async () => {
      const { paths, parameters } = await document();
      const one = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
      expect(one?.patch).toMatchObject({
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": { group: "apps", version: "v1", kind: "Deployment" },
      });
      expect(one?.patch?.consumes).toEqual(
        expect.arrayContaining(["application/merge-patch+json", "application/strategic-merge-patch+json"]),
      );
      const named = one?.patch?.parameters?.map((parameter) => parameter.name ?? nameOf(parameters, parameter));
      expect(named).toEqual(expect.arrayContaining(["body", "dryRun", "fieldManager", "fieldValidation"]));
      expect(one?.get?.responses["200"]?.schema?.$ref).toBe("#/definitions/io.k8s.api.apps.v1.Deployment");
      const all = paths["/apis/apps/v1/namespaces/{namespace}/deployments"];
      expect([all?.get?.["x-kubernetes-action"], all?.post?.["x-kubernetes-action"]]).toEqual(["list", "post"]);
      expect(paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]?.put).toBeDefined();
    });

    it("openapi-v2.custom: holds the kinds of definitions, and loses them with those", async () => {
      const group = `o${randomBytes(3).toString("hex")}.example.com`;
      const spec = { type: "object", properties: { size: { type: "integer" } } };
      await stage().admin.post(DEFINITIONS, {
        metadata: { name: `boxes.${group}` },
        spec: {
          group,
          scope: "Namespaced",
          names: { plural: "boxes", singular: "box", kind: "Box", listKind: "BoxList" },
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
            },
          ],
        },
      });
      const name = `${group.split(".").toReversed().join(".")}.v1.Box`;
      await eventually(async () =>
        expect((await document()).definitions[name]).toMatchObject({
          "x-kubernetes-group-version-kind": [{ group, version: "v1", kind: "Box" }],
          properties: { spec: { properties: { size: { type: "integer" } } } },
        }),
      );
      await stage().admin.delete(`${DEFINITIONS}/boxes.${group}`);
      await eventually(async () => expect((await document()).definitions[name]).toBeUndefined());
    });

    it("openapi-v2.protobuf: comes in the form that old clients ask for", async () => {
      const { code, headers, text } = await stage().admin.get("/openapi/v2", { accept: PROTOBUF });
      expect(code).toBe(200);
      // Proxies and old clients know it under the name without the at sign.
      expect(headers["content-type"]).toMatch(/^application\/com\.github\.proto-openapi\.spec\.v2[@.]v1\.0\+protobuf$/);
      expect(text).toContain("io.k8s.api.apps.v1.Deployment");
    });

    it("openapi-v2.readers: is for everybody who may log in", async () => {
      expect((await stage().admin.as({}).get("/openapi/v2")).code).toBe(403);
      const reader = await stage().user("reader");
      expect((await reader.get("/openapi/v2")).code).toBe(200);
    });
  });

  describe("metrics", () => {
    /** The value of a counter with these labels and any others; 0 when it was never counted. */
    const counted = async (name: string, labels: Record<string, string>): Promise<number> => {
      const { text } = await stage().admin.get("/metrics");
      const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`));
      const matching = lines.filter((line) =>
        Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)),
      );
      return matching.reduce((all, line) => all + Number(line.split(" ").at(-1)), 0);
    };

    it("metrics.format: are text for Prometheus, each with a type and help", async () => {
      const { code, headers, text } = await stage().admin.get("/metrics");
      expect(code).toBe(200);
      expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
      for (const [name, type] of [
        ["apiserver_request_total", "counter"],
        ["apiserver_request_duration_seconds", "histogram"],
        ["apiserver_longrunning_requests", "gauge"],
        ["apiserver_current_inflight_requests", "gauge"],
      ]) {
        expect(text).toContain(`# TYPE ${name} ${type}\n`);
        expect(text).toContain(`# HELP ${name} `);
      }
    });

    it.each([
      [
        "POST",
        "201",
        "resource",
        () => stage().admin.post(at(space, "configmaps"), { metadata: { generateName: "m-" } }),
      ],
      ["GET", "404", "resource", () => stage().admin.get(at(space, "configmaps", "nobody"))],
      ["LIST", "200", "namespace", () => stage().admin.get(at(space, "configmaps"))],
      ["LIST", "200", "cluster", () => stage().admin.get("/api/v1/configmaps?limit=1")],
      [
        "PUT",
        "404",
        "resource",
        () => stage().admin.put(at(space, "configmaps", "nobody"), { metadata: { name: "nobody" } }),
      ],
      ["PATCH", "404", "resource", () => stage().admin.patch(at(space, "configmaps", "nobody"), {})],
      ["DELETE", "404", "resource", () => stage().admin.delete(at(space, "configmaps", "nobody"))],
      ["DELETE", "200", "namespace", () => stage().admin.delete(`${at(space, "configmaps")}?labelSelector=none`)],
    ])("metrics.requests: count a %s that is answered %s", async (verb, code, scope, ask) => {
      const labels = { verb, code, scope, resource: "configmaps", version: "v1", group: "" };
      const before = await counted("apiserver_request_total", labels);
      await ask();
      await eventually(async () =>
        expect(await counted("apiserver_request_total", labels)).toBeGreaterThanOrEqual(before + 1),
      );
    });

    it("metrics.apply: count an apply as such", async () => {
      const labels = { verb: "APPLY", resource: "configmaps", code: "201" };
      const before = await counted("apiserver_request_total", labels);
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" } };
      await stage().admin.patch(`${at(space, "configmaps", "applied")}?fieldManager=me`, body, "apply");
      await eventually(async () =>
        expect(await counted("apiserver_request_total", labels)).toBeGreaterThanOrEqual(before + 1),
      );
    });

    it("metrics.details: tell dry runs, subresources and groups apart", async () => {
      const dry = { verb: "POST", resource: "configmaps", dry_run: "All", code: "201" };
      const part = { verb: "GET", group: "apps", resource: "deployments", subresource: "scale", code: "404" };
      const before = [await counted("apiserver_request_total", dry), await counted("apiserver_request_total", part)];
      await stage().admin.post(`${at(space, "configmaps")}?dryRun=All`, { metadata: { name: "dry" } });
      await stage().admin.get(`${inGroup("apps", "v1", "deployments", space, "nobody")}/scale`);
      await eventually(async () => {
        expect(await counted("apiserver_request_total", dry)).toBeGreaterThanOrEqual((before[0] ?? 0) + 1);
        expect(await counted("apiserver_request_total", part)).toBeGreaterThanOrEqual((before[1] ?? 0) + 1);
      });
    });

    it("metrics.watches: count the watches that are open", async () => {
      const labels = { verb: "WATCH", resource: "limitranges", scope: "namespace" };
      const before = await counted("apiserver_longrunning_requests", labels);
      const watch = await stage().admin.watch(`${at(space, "limitranges")}?watch=true`);
      await eventually(async () => expect(await counted("apiserver_longrunning_requests", labels)).toBe(before + 1));
      watch.close();
      await eventually(async () => expect(await counted("apiserver_longrunning_requests", labels)).toBe(before));
    });

    it("metrics.readers: are for those who may read them", async () => {
      const reader = await stage().user("reader");
      expect(refusal(await reader.get("/metrics"))).toEqual(refused(403, "Forbidden"));
    });
  });

  describe("the log of who did what", () => {
    /** What the log says of the request with that id at that stage. */
    const logged = (id: string, at: string): Promise<AuditLine> =>
      eventually(async () => {
        const lines = (await readFile(stage().server.auditLog, "utf8")).split("\n").filter(Boolean);
        const found = lines
          .map((line) => JSON.parse(line) as AuditLine)
          .find((line) => line.auditID === id && line.stage === at);
        if (!found) throw new Error(`nothing is logged of ${id} at ${at}`);
        return found;
      });
    const idOf = ({ headers }: { headers: Record<string, unknown> }) => String(headers["audit-id"]);

    it("audit.write: tells who did what to which object, and how it ended", async () => {
      const anna = await stage().user("anna", ["writers"]);
      const reply = await anna.post(`${at(space, "configmaps")}?dryRun=All`, { metadata: { name: "x" } });
      expect(await logged(idOf(reply), "ResponseComplete")).toMatchObject({
        kind: "Event",
        apiVersion: "audit.k8s.io/v1",
        level: "Metadata",
        verb: "create",
        requestURI: `${at(space, "configmaps")}?dryRun=All`,
        user: { username: "anna", groups: ["writers", "system:authenticated"] },
        sourceIPs: ["127.0.0.1"],
        objectRef: { resource: "configmaps", namespace: space, apiVersion: "v1" },
        responseStatus: { code: 403, status: "Failure", reason: "Forbidden" },
        annotations: { "authorization.k8s.io/decision": "forbid" },
      });
    });

    it("audit.allowed: tells why somebody was let in, and the parts of an object by name", async () => {
      const path = `${inGroup("apps", "v1", "deployments", space, "nobody")}/scale`;
      const reply = await stage().admin.get(path, { headers: { "User-Agent": "suite/1" } });
      expect(await logged(idOf(reply), "ResponseComplete")).toMatchObject({
        verb: "get",
        userAgent: "suite/1",
        objectRef: {
          resource: "deployments",
          subresource: "scale",
          namespace: space,
          name: "nobody",
          apiGroup: "apps",
          apiVersion: "v1",
        },
        responseStatus: { code: 404 },
        annotations: { "authorization.k8s.io/decision": "allow" },
      });
    });

    it("audit.impersonation: tells who came and as whom", async () => {
      const reply = await stage().admin.get(at(space, "configmaps"), { headers: { "Impersonate-User": "otto" } });
      expect(await logged(idOf(reply), "ResponseComplete")).toMatchObject({
        verb: "list",
        user: { groups: expect.arrayContaining(["system:masters"]) },
        impersonatedUser: { username: "otto", groups: ["system:authenticated"] },
        responseStatus: { code: 403 },
      });
    });

    it("audit.watch: tells of a watch when it begins and when it ends", async () => {
      const watch = await stage().admin.watch(`${at(space, "configmaps")}?watch=true&timeoutSeconds=1`);
      const id = String(watch.headers["audit-id"]);
      expect(await logged(id, "ResponseStarted")).toMatchObject({ verb: "watch", responseStatus: { code: 200 } });
      await watch.ended;
      expect(await logged(id, "ResponseComplete")).toMatchObject({ verb: "watch", responseStatus: { code: 200 } });
    });

    it("audit.no-bodies: keeps what is in objects to itself", async () => {
      const secret = randomBytes(12).toString("hex");
      const reply = await stage().admin.post(at(space, "secrets"), {
        metadata: { name: "quiet" },
        stringData: { password: secret },
      });
      expect(await logged(idOf(reply), "ResponseComplete")).toMatchObject({
        objectRef: { resource: "secrets", name: "quiet" },
      });
      const text = await readFile(stage().server.auditLog, "utf8");
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString("base64"));
    });
  });
}
