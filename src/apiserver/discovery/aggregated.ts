/** Everything in one document, as `Accept: …;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList` asks for it. */
import type { GroupVersionKind, Resource } from "../resource.ts";
import type { Group } from "./groups.ts";
import type { Document } from "./legacy.ts";
import { subresourcesOf } from "./order.ts";

export function apiGroupDiscoveryList(groups: readonly Group[]): Document {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name ? { name } : {},
      versions: versions.map(({ version, resources }) => ({
        version,
        resources: resources.map(resourceEntry),
        freshness: "Current",
      })),
    })),
  };
}

function resourceEntry(resource: Resource): Document {
  const { plural, singular, namespaced, verbs, shortNames, categories, subresources } = resource;
  return {
    resource: plural,
    responseKind: gvk(resource),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: [...verbs],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
    ...(subresources.length > 0 && {
      subresources: subresourcesOf(resource).map((subresource) => ({
        subresource: subresource.name,
        responseKind: gvk(subresource.responseKind),
        verbs: [...subresource.verbs],
      })),
    }),
  };
}

function gvk({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind };
}
