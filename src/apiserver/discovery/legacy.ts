/** One document per group and per group version: what clients read that do not ask for everything at once. */
import { createHash } from "node:crypto";
import type { Resource, Subresource } from "../resource.ts";
import type { Group, GroupVersion } from "./groups.ts";
import { subresourcesOf } from "./order.ts";

export type Document = Record<string, unknown>;

/** The version that objects of a resource are stored in. */
export type StorageVersionOf = (resource: Resource) => string;

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

export function apiResourceList(
  { groupVersion, resources }: GroupVersion,
  storageVersionOf: StorageVersionOf,
): Document {
  return {
    kind: "APIResourceList",
    ...(groupVersion.includes("/") && { apiVersion: "v1" }), // the list of the legacy group has never had one
    groupVersion,
    resources: resources.flatMap((resource) => [
      resourceEntry(resource, storageVersionOf),
      ...subresourcesOf(resource).map((subresource) => subresourceEntry(resource, subresource)),
    ]),
  };
}

function groupEntry({ name, versions }: Group): Document {
  const entries = versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

function resourceEntry(resource: Resource, storageVersionOf: StorageVersionOf): Document {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories } = resource;
  return {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: [...verbs],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
    ...(!resource.answer && { storageVersionHash: storageVersionHash(resource, storageVersionOf(resource)) }),
  };
}

const HASH_BYTES = 8;

/** Tells migrators, by changing, that objects are stored in another version than before. */
function storageVersionHash({ storage, kind }: Resource, version: string): string {
  const [group = ""] = storage.split("/");
  const stored = `${group === "core" ? "" : group}/${version}/${kind}`;
  return createHash("sha256").update(stored).digest().subarray(0, HASH_BYTES).toString("base64");
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
