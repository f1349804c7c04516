/** How clients find out what a server serves. */
import { describe, expect, it } from "vitest";
import { refusal, refused, type Staged } from "./stage.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** What every server of this version serves, by group version. */
const SERVED: readonly [groupVersion: string, resources: readonly string[]][] = [
  ["admissionregistration.k8s.io/v1", ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]],
  ["apiextensions.k8s.io/v1", ["customresourcedefinitions", "customresourcedefinitions/status"]],
  ["apiregistration.k8s.io/v1", ["apiservices", "apiservices/status"]],
  [
    "apps/v1",
    [
      "controllerrevisions",
      "daemonsets",
      "daemonsets/status",
      "deployments",
      "deployments/scale",
      "deployments/status",
      "replicasets",
      "replicasets/scale",
      "replicasets/status",
      "statefulsets",
      "statefulsets/scale",
      "statefulsets/status",
    ],
  ],
  ["authentication.k8s.io/v1", ["selfsubjectreviews", "tokenreviews"]],
  [
    "authorization.k8s.io/v1",
    ["localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"],
  ],
  ["autoscaling/v1", ["horizontalpodautoscalers", "horizontalpodautoscalers/status"]],
  ["autoscaling/v2", ["horizontalpodautoscalers", "horizontalpodautoscalers/status"]],
  ["batch/v1", ["cronjobs", "cronjobs/status", "jobs", "jobs/status"]],
  [
    "certificates.k8s.io/v1",
    ["certificatesigningrequests", "certificatesigningrequests/approval", "certificatesigningrequests/status"],
  ],
  ["coordination.k8s.io/v1", ["leases"]],
  ["discovery.k8s.io/v1", ["endpointslices"]],
  ["events.k8s.io/v1", ["events"]],
  [
    "flowcontrol.apiserver.k8s.io/v1",
    ["flowschemas", "flowschemas/status", "prioritylevelconfigurations", "prioritylevelconfigurations/status"],
  ],
  [
    "networking.k8s.io/v1",
    [
      "ingressclasses",
      "ingresses",
      "ingresses/status",
      "ipaddresses",
      "networkpolicies",
      "servicecidrs",
      "servicecidrs/status",
    ],
  ],
  ["node.k8s.io/v1", ["runtimeclasses"]],
  ["policy/v1", ["poddisruptionbudgets", "poddisruptionbudgets/status"]],
  ["rbac.authorization.k8s.io/v1", ["clusterrolebindings", "clusterroles", "rolebindings", "roles"]],
  ["scheduling.k8s.io/v1", ["priorityclasses"]],
  [
    "storage.k8s.io/v1",
    [
      "csidrivers",
      "csinodes",
      "csistoragecapacities",
      "storageclasses",
      "volumeattachments",
      "volumeattachments/status",
      "volumeattributesclasses",
    ],
  ],
  [
    "v1",
    [
      "bindings",
      "componentstatuses",
      "configmaps",
      "endpoints",
      "events",
      "limitranges",
      "namespaces",
      "namespaces/finalize",
      "namespaces/status",
      "nodes",
      "nodes/status",
      "persistentvolumeclaims",
      "persistentvolumeclaims/status",
      "persistentvolumes",
      "persistentvolumes/status",
      "pods",
      "pods/attach",
      "pods/binding",
      "pods/eviction",
      "pods/exec",
      "pods/log",
      "pods/portforward",
      "pods/status",
      "podtemplates",
      "replicationcontrollers",
      "replicationcontrollers/scale",
      "replicationcontrollers/status",
      "resourcequotas",
      "resourcequotas/status",
      "secrets",
      "serviceaccounts",
      "serviceaccounts/token",
      "services",
      "services/status",
    ],
  ],
];

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly verbs: string[];
  readonly shortNames?: string[];
  readonly categories?: string[];
  readonly group?: string;
  readonly version?: string;
}

interface GroupDiscovery {
  readonly metadata: { readonly name?: string };
  readonly versions: {
    readonly version: string;
    readonly freshness: string;
    readonly resources: {
      readonly resource: string;
      readonly scope: string;
      readonly verbs: string[];
      readonly responseKind: object;
      readonly subresources?: { readonly subresource: string; readonly responseKind: object }[];
    }[];
  }[];
}

export function discoverySuite(stage: Staged): void {
  describe("one document per group version", () => {
    it("discovery.groups: names versions and groups", async () => {
      const core = await stage().admin.get("/api");
      expect(core.body).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
      const groups = await stage().admin.get("/apis");
      expect(groups.body).toMatchObject({ kind: "APIGroupList", apiVersion: "v1" });
      const names = (groups.body.groups as { name: string }[]).map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(["apps", "batch", "rbac.authorization.k8s.io", "apiextensions.k8s.io"]),
      );
      const apps = await stage().admin.get("/apis/apps");
      expect(apps.body).toMatchObject({
        kind: "APIGroup",
        name: "apps",
        versions: [{ groupVersion: "apps/v1", version: "v1" }],
        preferredVersion: { groupVersion: "apps/v1", version: "v1" },
      });
    });

    it("discovery.resources: describes resources and their parts", async () => {
      const { body } = await stage().admin.get("/apis/apps/v1");
      expect(body).toMatchObject({ kind: "APIResourceList", apiVersion: "v1", groupVersion: "apps/v1" });
      const resources = body.resources as ApiResource[];
      expect(resources.find(({ name }) => name === "deployments")).toMatchObject({
        kind: "Deployment",
        singularName: "deployment",
        namespaced: true,
        shortNames: ["deploy"],
        categories: ["all"],
        verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      });
      expect(resources.find(({ name }) => name === "deployments/scale")).toMatchObject({
        kind: "Scale",
        group: "autoscaling",
        version: "v1",
        verbs: ["get", "patch", "update"],
      });
      const core = (await stage().admin.get("/api/v1")).body;
      expect(core).toMatchObject({ kind: "APIResourceList", groupVersion: "v1" });
      const names = (core.resources as ApiResource[]).map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(["serviceaccounts/token", "namespaces/finalize", "pods/eviction", "pods/binding"]),
      );
    });
  });

  it.each(SERVED)("discovery.built-in: %s holds what it holds everywhere", async (groupVersion, expected) => {
    const { body } = await stage().admin.get(groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`);
    const names = (body.resources as ApiResource[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...expected]));
  });

  describe("everything at once", () => {
    it("aggregated-discovery.tag: comes with a tag, and not again while it stands", async () => {
      for (const path of ["/api", "/apis"]) {
        const first = await stage().admin.get(path, { accept: `${AGGREGATED},application/json` });
        expect(first.headers["content-type"]).toBe(AGGREGATED);
        expect(first.headers.vary).toContain("Accept");
        const { etag = "" } = first.headers;
        expect(etag).toMatch(/^"[0-9A-F]+"$/);
        const again = await stage().admin.get(path, { accept: AGGREGATED, headers: { "If-None-Match": etag } });
        expect([again.code, again.text]).toEqual([304, ""]);
      }
    });

    it("aggregated-discovery.resources: describes the same resources", async () => {
      const { body } = await stage().admin.get("/apis", { accept: AGGREGATED });
      expect(body).toMatchObject({ kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2" });
      const groups = body.items as unknown as GroupDiscovery[];
      const apps = groups.find(({ metadata }) => metadata.name === "apps")?.versions[0];
      expect(apps).toMatchObject({ version: "v1", freshness: "Current" });
      const deployments = apps?.resources.find(({ resource }) => resource === "deployments");
      expect(deployments).toMatchObject({
        scope: "Namespaced",
        singularResource: "deployment",
        responseKind: { kind: "Deployment" },
      });
      expect(deployments?.subresources?.map(({ subresource }) => subresource)).toEqual(["scale", "status"]);
    });

    it("aggregated-discovery.unknown-version: is answered in the old way to who asks for an unknown version of it", async () => {
      const old = AGGREGATED.replace("v=v2", "v=v2beta1");
      const { body } = await stage().admin.get("/apis", { accept: `${old},application/json` });
      expect(body.kind).toBe("APIGroupList");
    });
  });

  describe("OpenAPI", () => {
    it("openapi.documents: lists a document per group version, under the hash of its content", async () => {
      const { text } = await stage().admin.get("/openapi/v3"); // real servers call this JSON plain text
      const { paths } = JSON.parse(text) as { paths: Record<string, { serverRelativeURL: string }> };
      const url = paths["apis/apps/v1"]?.serverRelativeURL ?? "";
      expect(url).toMatch(/^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]+$/);

      const document = await stage().admin.get(url);
      expect(document.headers["cache-control"]).toContain("immutable");
      const { etag = "" } = document.headers;
      expect(etag).toBe(`"${url.split("=")[1]}"`);
      const kept = await stage().admin.get("/openapi/v3/apis/apps/v1", { headers: { "If-None-Match": etag } });
      expect(kept.code).toBe(304);
      const stale = await stage().admin.get("/openapi/v3/apis/apps/v1?hash=00");
      expect([stale.code, stale.headers.location]).toEqual([301, url]);
    });

    it("openapi.kubectl: says what kubectl looks for: kinds, parameters of writes, and types of patches", async () => {
      const { body } = await stage().admin.get("/openapi/v3/apis/apps/v1");
      const { schemas } = body.components as { schemas: Record<string, Record<string, unknown>> };
      expect(schemas["io.k8s.api.apps.v1.Deployment"]?.["x-kubernetes-group-version-kind"]).toEqual([
        { group: "apps", version: "v1", kind: "Deployment" },
      ]);
      const paths = body.paths as Record<
        string,
        Record<string, { parameters?: { name: string }[]; requestBody?: { content: object } }>
      >;
      const item = paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"];
      expect(item?.patch?.parameters?.map(({ name }) => name)).toEqual(
        expect.arrayContaining(["dryRun", "fieldManager", "fieldValidation", "force"]),
      );
      expect(Object.keys(item?.patch?.requestBody?.content ?? {})).toEqual(
        expect.arrayContaining([
          "application/json-patch+json",
          "application/merge-patch+json",
          "application/strategic-merge-patch+json",
        ]),
      );
    });
  });

  describe("pages of the server", () => {
    it.each(["/healthz", "/livez", "/readyz"])("http.health: %s is well, for everybody", async (path) => {
      const { code, text, headers } = await stage().admin.as({}).get(path);
      expect([code, text]).toEqual([200, "ok"]);
      expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
    });

    it("http.version: tells its version to everybody", async () => {
      const { body } = await stage().admin.as({}).get("/version");
      expect(body.major).toBe("1");
      expect(body.gitVersion).toMatch(/^v1\.\d+\.\d+/);
    });

    it("http.audit-id: puts an id on every answer, and takes the client's", async () => {
      const { headers } = await stage().admin.get("/version");
      expect(headers["audit-id"]).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers["cache-control"]).toBe("no-cache, private");
      const mine = await stage().admin.get("/version", {
        headers: { "Audit-Id": "6bafcbb1-6a45-4b2c-9b8e-000000000001" },
      });
      expect(mine.headers["audit-id"]).toBe("6bafcbb1-6a45-4b2c-9b8e-000000000001");
    });

    it("authentication.published-keys: publishes the keys of its tokens", async () => {
      const configuration = await stage().admin.get("/.well-known/openid-configuration");
      expect(configuration.body).toMatchObject({
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
      });
      const keys = await stage().admin.get("/openid/v1/jwks");
      expect(keys.headers["content-type"]).toBe("application/jwk-set+json");
      expect(JSON.parse(keys.text)).toMatchObject({ keys: [{ use: "sig", kid: expect.any(String) }] });
    });

    it.each(["/nosuch", "/apis/nosuch.example/v1/things"])("http.unknown-path: %s is no page", async (path) => {
      const { code, headers, text } = await stage().admin.get(path);
      expect([code, headers["content-type"], text]).toEqual([404, "text/plain; charset=utf-8", "404 page not found\n"]);
    });

    it.each([
      "/api/v1/nosuchs",
      "/apis/apps/v9/deployments",
      "/apis/apps/v1/namespaces/default/deployments/x/nosuch",
      "/api/v1/configmaps/x",
      "/api/v1/namespaces/default/nodes",
    ])("http.unknown-resource: %s is unknown inside of a known group", async (path) => {
      expect(refusal(await stage().admin.get(path))).toEqual(refused(404, "NotFound"));
    });

    it.each([
      ["POST", "/api/v1/namespaces/default/configmaps/x"],
      ["PUT", "/api/v1/namespaces/default/configmaps"],
      ["PATCH", "/api/v1/namespaces/default/configmaps"],
      ["POST", "/api/v1/configmaps"],
      ["DELETE", "/api/v1/configmaps"],
      ["HEAD", "/api/v1/namespaces/default"],
      ["OPTIONS", "/api/v1/namespaces/default"],
      ["GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"],
    ])("http.unknown-method: %s %s is no method", async (method, path) => {
      const reply = await stage().admin.request(
        method,
        path,
        ["POST", "PUT", "PATCH"].includes(method) ? { body: {} } : {},
      );
      expect(reply.code).toBe(405);
      if (method !== "HEAD") expect(reply.body.reason).toBe("MethodNotAllowed");
    });
  });
}
