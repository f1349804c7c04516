/** One document per group and per group version: what clients read that do not ask for everything at once. */
import type { Resource, Subresource } from "../resource.ts";
import type { Group, GroupVersion } from "./groups.ts";
import { subresourcesOf } from "./order.ts";

export type Document = Record<string, unknown>;

export function apiVersions(group: Group | undefined, serverAddress: string): Document {
  return {
    kind: "APIVersions",
    versions: group?.versions.map(({ version }) => version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

export function apiGroupList(groups: readonly Group[]): Document {
  return { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(groupEntry) };
}

export function apiGroup(group: Group): Document {
  return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
}

export function apiResourceList({ groupVersion, resources }: GroupVersion): Document {
  return {
    kind: "APIResourceList",
    ...(groupVersion.includes("/") && { apiVersion: "v1" }), // the list of the legacy group has never had one
    groupVersion,
    resources: resources.flatMap((resource) => [
      resourceEntry(resource),
      ...subresourcesOf(resource).map((subresource) => subresourceEntry(resource, subresource)),
    ]),
  };
}

function groupEntry({ name, versions }: Group): Document {
  const entries = versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

function resourceEntry({ plural, singular, namespaced, kind, verbs, shortNames, categories }: Resource): Document {
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: [...verbs],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
  };
}

/** The group version of the answer is said only where it is another one. */
function subresourceEntry(resource: Resource, { name, responseKind, verbs }: Subresource): Document {
  const { group, version, kind } = responseKind;
  const isForeign = group !== resource.group || version !== resource.version;
  return {
    name: `${resource.plural}/${name}`,
    singularName: "",
    namespaced: resource.namespaced,
    ...(isForeign && { ...(group && { group }), version }),
    kind,
    verbs: [...verbs],
  };
}
