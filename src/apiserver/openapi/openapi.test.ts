import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Catalog, Resource, Subresource, Verb } from "../resource.ts";
import { createOpenApi } from "./index.ts";

const ALL: Verb[] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

function resource(group: string, kind: string, more: Partial<Resource> = {}): Resource {
  const singular = kind.toLowerCase();
  return {
    group,
    version: "v1",
    kind,
    listKind: `${kind}List`,
    plural: `${singular}s`,
    singular,
    namespaced: true,
    shortNames: [],
    categories: [],
    verbs: ALL,
    builtin: true,
    subresources: [],
    ...more,
  } as Resource;
}

const sub = (name: string, group: string, kind: string): Subresource => ({
  name,
  responseKind: { group, version: "v1", kind },
  verbs: ["get", "patch", "update"],
});

const deployment = resource("apps", "Deployment", {
  subresources: [sub("scale", "autoscaling", "Scale"), sub("status", "apps", "Deployment")],
});
const review = resource("authorization.k8s.io", "SelfSubjectAccessReview", { namespaced: false, verbs: ["create"] });
const definition = resource("apiextensions.k8s.io", "CustomResourceDefinition", { namespaced: false });
const widget = (color: string): Resource =>
  resource("example.com", "Widget", {
    builtin: false,
    subresources: [sub("status", "example.com", "Widget"), sub("scale", "autoscaling", "Scale")],
    schema: {
      type: "object",
      required: ["spec"],
      properties: { spec: { type: "object", properties: { color: { type: "string", enum: [color] } } } },
    },
  });

/** A catalog that can be changed. */
function catalogOf(...resources: Resource[]) {
  const catalog = { resources, generation: 1, find: () => undefined };
  return {
    read: (): Catalog => catalog,
    change(...next: Resource[]) {
      catalog.resources = next;
      catalog.generation++;
    },
  };
}

interface Document {
  components: { schemas: Record<string, object> };
  paths: Record<string, object>;
}

function documentOf(path: string, ...resources: Resource[]): Document {
  return JSON.parse(createOpenApi(catalogOf(...resources).read).document(path)?.body ?? "null");
}

/** What lies at a path inside of a document. */
function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
}

describe("built-in types", () => {
  const { components, paths } = documentOf("apis/apps/v1", deployment);
  const schemas = components.schemas;

  it("are named after their Go packages and carry their kind", () => {
    expect(at(schemas, "io.k8s.api.apps.v1.Deployment", "x-kubernetes-group-version-kind")).toEqual([
      { group: "apps", version: "v1", kind: "Deployment" },
    ]);
    expect(at(schemas, "io.k8s.api.apps.v1.DeploymentList", "required")).toEqual(["items"]);
    expect(
      at(schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", "x-kubernetes-group-version-kind"),
    ).toEqual([{ group: "apps", version: "v1", kind: "DeleteOptions" }]);
    expect(at(schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.Status", "x-kubernetes-group-version-kind")).toEqual([
      { group: "", version: "v1", kind: "Status" },
    ]);
    expect(at(schemas, "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "format")).toBe("int-or-string");
    expect(at(schemas, "io.k8s.apimachinery.pkg.api.resource.Quantity", "oneOf")).toHaveLength(2);
  });

  it("say what is required and how lists merge, because kubectl computes its patches from it", () => {
    expect(at(schemas, "io.k8s.api.apps.v1.DeploymentSpec", "required")).toEqual(["selector", "template"]);
    expect(at(schemas, "io.k8s.api.core.v1.PodSpec", "properties", "containers")).toEqual({
      type: "array",
      items: { $ref: "#/components/schemas/io.k8s.api.core.v1.Container" },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "name",
    });
    expect(at(schemas, "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", "x-kubernetes-map-type")).toBe("atomic");
    expect(at(schemas, "io.k8s.api.core.v1.ContainerPort", "properties", "protocol", "default")).toBe("TCP");
  });

  it("show the fields of inlined structs as their own", () => {
    expect(at(schemas, "io.k8s.api.core.v1.Volume", "properties", "emptyDir")).toEqual({
      allOf: [{ $ref: "#/components/schemas/io.k8s.api.core.v1.EmptyDirVolumeSource" }],
    });
  });

  it("refer to nothing that is not there", () => {
    const text = JSON.stringify({ components, paths });
    const names = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? "");
    expect(names.length).toBeGreaterThan(100);
    expect(names.filter((name) => !Object.hasOwn(schemas, name))).toEqual([]);
  });
});

describe("operations", () => {
  it("cover collections, objects and subresources", () => {
    const { paths } = documentOf("apis/apps/v1", deployment);
    const base = "/apis/apps/v1/namespaces/{namespace}/deployments";
    const methods = Object.fromEntries(
      Object.entries(paths).map(([path, item]) => [path, Object.keys(item).sort().join(" ")]),
    );
    expect(methods).toEqual({
      "/apis/apps/v1/deployments": "get parameters",
      [base]: "delete get parameters post",
      [`${base}/{name}`]: "delete get parameters patch put",
      [`${base}/{name}/scale`]: "get parameters patch put",
      [`${base}/{name}/status`]: "get parameters patch put",
    });
    expect(at(paths, `${base}/{name}/scale`, "get", "x-kubernetes-group-version-kind")).toEqual({
      group: "autoscaling",
      version: "v1",
      kind: "Scale",
    });
    expect(at(paths, base, "post", "x-kubernetes-action")).toBe("post");
  });

  it("have the query parameters that kubectl looks for before it sends them", () => {
    const { paths } = documentOf("apis/apps/v1", deployment);
    const path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    const parameters = at(paths, path, "patch", "parameters") as { name: string }[];
    expect(parameters.map(({ name }) => name)).toEqual(["dryRun", "fieldManager", "fieldValidation", "force"]);
  });

  it.each([
    ["built-in kinds", deployment, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", true],
    ["definitions of custom kinds", definition, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", true],
    ["custom kinds", widget("red"), "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}", false],
  ])("offer strategic merge where there is a Go type to merge by: %s", (_, served, path, isOffered) => {
    const { paths } = documentOf(`apis/${served.group}/v1`, served);
    const types = Object.keys(at(paths, path, "patch", "requestBody", "content") as object);
    expect(types.includes("application/strategic-merge-patch+json")).toBe(isOffered);
    expect(types).toContain("application/apply-patch+yaml");
  });

  it("of a kind that is only asked are one POST", () => {
    const { paths } = documentOf("apis/authorization.k8s.io/v1", review);
    expect(Object.keys(paths)).toEqual(["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"]);
  });
});

describe("custom types", () => {
  it("show the schema of their definition with the fields that every object has", () => {
    const { components } = documentOf("apis/example.com/v1", widget("red"));
    expect(at(components.schemas, "com.example.v1.Widget")).toEqual({
      type: "object",
      required: ["spec"],
      properties: {
        apiVersion: { type: "string", description: expect.stringContaining("APIVersion defines") },
        kind: { type: "string", description: expect.any(String) },
        metadata: {
          allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }],
          description: expect.any(String),
        },
        spec: { type: "object", properties: { color: { type: "string", enum: ["red"] } } },
      },
      "x-kubernetes-group-version-kind": [{ group: "example.com", version: "v1", kind: "Widget" }],
    });
    expect(at(components.schemas, "com.example.v1.WidgetList", "properties", "items", "items")).toEqual({
      $ref: "#/components/schemas/com.example.v1.Widget",
    });
    expect(components.schemas).toHaveProperty(["io.k8s.api.autoscaling.v1.Scale"]);
  });
});

describe("hashes", () => {
  it("name every document in the index, and are its ETag", () => {
    const openApi = createOpenApi(catalogOf(deployment, widget("red"), resource("", "Pod")).read);
    const { paths } = JSON.parse(openApi.index().body);
    expect(Object.keys(paths)).toEqual(["api/v1", "apis/apps/v1", "apis/example.com/v1"]);
    for (const [path, { serverRelativeURL }] of Object.entries<{ serverRelativeURL: string }>(paths)) {
      const found = openApi.document(path);
      const hash = createHash("sha512")
        .update(found?.body ?? "")
        .digest("hex")
        .toUpperCase();
      expect(found).toMatchObject({ hash, etag: `"${hash}"` });
      expect(serverRelativeURL).toBe(`/openapi/v3/${path}?hash=${hash}`);
    }
  });

  it("decide whether a document may be kept, or is elsewhere by now", () => {
    const openApi = createOpenApi(catalogOf(deployment).read);
    const document = openApi.document("apis/apps/v1");
    expect(openApi.answer("apis/apps/v1")).toEqual({ document, immutable: false });
    expect(openApi.answer("apis/apps/v1", document?.hash)).toEqual({ document, immutable: true });
    expect(openApi.answer("apis/apps/v1", "OLD")).toEqual({
      redirect: `/openapi/v3/apis/apps/v1?hash=${document?.hash}`,
    });
    expect(openApi.answer("apis/nope/v1")).toBeUndefined();
  });
});

describe("when the catalog changes", () => {
  it("only the group versions that changed are written anew", () => {
    const catalog = catalogOf(deployment, widget("red"));
    const openApi = createOpenApi(catalog.read);
    const [index, apps, example] = [
      openApi.index(),
      openApi.document("apis/apps/v1"),
      openApi.document("apis/example.com/v1"),
    ];

    catalog.change(deployment, widget("blue"));

    expect(openApi.document("apis/apps/v1")).toBe(apps);
    expect(openApi.document("apis/example.com/v1")?.hash).not.toBe(example?.hash);
    expect(openApi.index().etag).not.toBe(index.etag);
  });

  it("a definition that is made anew with the same schema changes nothing", () => {
    const catalog = catalogOf(deployment, widget("red"));
    const openApi = createOpenApi(catalog.read);
    const [index, example] = [openApi.index(), openApi.document("apis/example.com/v1")];

    catalog.change(deployment, widget("red"));

    expect(openApi.document("apis/example.com/v1")).toBe(example);
    expect(openApi.index()).toBe(index);
  });

  it("a group version that is gone is no longer served", () => {
    const catalog = catalogOf(deployment, widget("red"));
    const openApi = createOpenApi(catalog.read);
    openApi.index();

    catalog.change(deployment);

    expect(openApi.document("apis/example.com/v1")).toBeUndefined();
    expect(Object.keys(JSON.parse(openApi.index().body).paths)).toEqual(["apis/apps/v1"]);
  });
});
