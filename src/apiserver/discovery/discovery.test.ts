import { describe, expect, it } from "vitest";
import type { Catalog, Resource, Subresource, Verb } from "../resource.ts";
import { compareVersions, discoveryOf } from "./index.ts";

const ALL: Verb[] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const status = (group: string, kind: string): Subresource => ({
  name: "status",
  responseKind: { group, version: "v1", kind },
  verbs: ["get", "patch", "update"],
});
const scale: Subresource = {
  name: "scale",
  responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
  verbs: ["get", "patch", "update"],
};

function resource(group: string, version: string, kind: string, more: Partial<Resource> = {}): Resource {
  const singular = kind.toLowerCase();
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    plural: `${singular}s`,
    singular,
    namespaced: true,
    storage: `${group || "core"}/${singular}s`,
    shortNames: [],
    categories: [],
    verbs: ALL,
    subresources: [],
    ...more,
  } as Resource;
}

function catalog(...resources: Resource[]): Catalog {
  return { resources, generation: 1, find: () => undefined };
}

const deployment = resource("apps", "v1", "Deployment", {
  shortNames: ["deploy"],
  categories: ["all"],
  subresources: [scale, status("apps", "Deployment")],
});

describe("legacy documents", () => {
  const discovery = discoveryOf(
    catalog(
      resource("example.com", "v1alpha1", "Widget"),
      resource("example.com", "v1", "Widget"),
      resource("example.com", "v2beta1", "Widget"),
      resource("about.example", "v1", "Thing"),
      resource("autoscaling", "v1", "HorizontalPodAutoscaler"),
      resource("autoscaling", "v2", "HorizontalPodAutoscaler"),
      deployment,
      resource("", "v1", "Pod"),
      resource("", "v1", "Namespace", { namespaced: false, shortNames: ["ns"] }),
    ),
    { serverAddress: "10.0.0.5:6443" },
  );

  it("tell the versions of the legacy group and where the server is", () => {
    expect(discovery.legacy("/api")).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "10.0.0.5:6443" }],
    });
  });

  it("list groups with the built-in ones first and the preferred version in front", () => {
    const { groups } = discovery.legacy("/apis") as { groups: { name: string; versions: { version: string }[] }[] };
    expect(groups.map(({ name, versions }) => [name, ...versions.map(({ version }) => version)])).toEqual([
      ["apps", "v1"],
      ["autoscaling", "v2", "v1"],
      ["about.example", "v1"],
      ["example.com", "v1", "v2beta1", "v1alpha1"],
    ]);
    expect(discovery.legacy("/apis/apps")).toEqual({
      kind: "APIGroup",
      apiVersion: "v1",
      name: "apps",
      versions: [{ groupVersion: "apps/v1", version: "v1" }],
      preferredVersion: { groupVersion: "apps/v1", version: "v1" },
    });
  });

  it("list resources with their subresources, which name a group only when it is another", () => {
    expect(discovery.legacy("/apis/apps/v1")).toEqual({
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: "apps/v1",
      resources: [
        {
          name: "deployments",
          singularName: "deployment",
          namespaced: true,
          kind: "Deployment",
          verbs: ALL,
          shortNames: ["deploy"],
          categories: ["all"],
          storageVersionHash: "8aSe+NMegvE=",
        },
        {
          name: "deployments/scale",
          singularName: "",
          namespaced: true,
          group: "autoscaling",
          version: "v1",
          kind: "Scale",
          verbs: ["get", "patch", "update"],
        },
        {
          name: "deployments/status",
          singularName: "",
          namespaced: true,
          kind: "Deployment",
          verbs: ["get", "patch", "update"],
        },
      ],
    });
    const { resources } = discovery.legacy("/api/v1") as { resources: { name: string }[] };
    expect(resources.map(({ name }) => name)).toEqual(["namespaces", "pods"]);
  });

  it("tell by a hash which version objects are stored in, the same one in every version", () => {
    const hashes = (found: typeof discovery) =>
      ["v1", "v2beta1"].map((version) => {
        const { resources } = found.legacy(`/apis/example.com/${version}`) as {
          resources: { storageVersionHash: string }[];
        };
        return resources[0]?.storageVersionHash;
      });
    const [v1, v2beta1] = hashes(discovery);
    expect(v1).toBe(v2beta1);
    const widgets = catalog(resource("example.com", "v1", "Widget"), resource("example.com", "v2beta1", "Widget"));
    const moved = hashes(discoveryOf(widgets, { storageVersionOf: () => "v2beta1" }));
    expect(moved[0]).toBe(moved[1]);
    expect(moved[0]).not.toBe(v1);
  });

  it("are not there for groups that are not served", () => {
    expect(discovery.legacy("/apis/nope.io")).toBeUndefined();
    expect(discovery.legacy("/apis/apps/v9")).toBeUndefined();
    expect(discovery.aggregated("/apis/apps")).toBeUndefined();
  });
});

describe("aggregated documents", () => {
  it("hold groups, versions, resources and subresources", () => {
    const { body } = discoveryOf(catalog(deployment)).aggregated("/apis") ?? { body: "" };
    expect(JSON.parse(body)).toEqual({
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      metadata: {},
      items: [
        {
          metadata: { name: "apps" },
          versions: [
            {
              version: "v1",
              freshness: "Current",
              resources: [
                {
                  resource: "deployments",
                  responseKind: { group: "apps", version: "v1", kind: "Deployment" },
                  scope: "Namespaced",
                  singularResource: "deployment",
                  verbs: ALL,
                  shortNames: ["deploy"],
                  categories: ["all"],
                  subresources: [
                    {
                      subresource: "scale",
                      responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
                      verbs: ["get", "patch", "update"],
                    },
                    {
                      subresource: "status",
                      responseKind: { group: "apps", version: "v1", kind: "Deployment" },
                      verbs: ["get", "patch", "update"],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it("carry an ETag that changes with what is served, and with nothing else", () => {
    const etag = (...resources: Resource[]) => discoveryOf(catalog(...resources)).aggregated("/apis")?.etag;
    expect(etag(deployment)).toMatch(/^"[0-9A-F]{128}"$/);
    expect(etag(deployment)).toBe(etag(deployment));
    expect(etag(deployment)).not.toBe(etag(deployment, resource("example.com", "v1", "Widget")));
  });
});

it("sorts versions from stable to alpha, then from new to old, then by name", () => {
  const sorted = ["v1", "foo", "v10", "v2beta1", "v1beta10", "v1beta2", "v3alpha1", "v2", "bar"].sort(compareVersions);
  expect(sorted).toEqual(["v10", "v2", "v1", "v2beta1", "v1beta10", "v1beta2", "v3alpha1", "bar", "foo"]);
});
