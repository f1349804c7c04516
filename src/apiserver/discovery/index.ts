/**
 * Discovery: the documents under /api and /apis that tell a client which resources there are. Pure functions of
 * a catalog; whoever serves them keeps the result for as long as the catalog's generation stays the same.
 */
import { createHash } from "node:crypto";
import type { Catalog, Resource } from "../resource.ts";
import { apiGroupDiscoveryList } from "./aggregated.ts";
import { type Group, groupsOf } from "./groups.ts";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Document,
  type StorageVersionOf,
} from "./legacy.ts";

export { compareGroups, compareVersions } from "./order.ts";

/** The content type of an aggregated document. */
export const AGGREGATED_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

export interface Discovery {
  /** `/api`, `/api/v1`, `/apis`, `/apis/<group>` or `/apis/<group>/<version>`; undefined for what is not served. */
  legacy(path: string): Document | undefined;
  /** `/api` or `/apis`, as JSON text with its strong ETag (in quotes). */
  aggregated(path: string): { body: string; etag: string } | undefined;
}

export interface DiscoveryOptions {
  /** Host and port. */
  readonly serverAddress?: string;
  /** The version that objects of a custom kind are stored in. */
  storageVersionOf?(resource: Resource): string | undefined;
}

export function discoveryOf(catalog: Catalog, options: DiscoveryOptions = {}): Discovery {
  const { serverAddress = "" } = options;
  const groups = groupsOf(catalog);
  // Built-in kinds are stored in the version that their group prefers.
  const storageVersionOf: StorageVersionOf = (resource) =>
    options.storageVersionOf?.(resource) ??
    groups
      .find(({ name }) => name === resource.group)
      ?.versions.find(({ resources }) => resources.some(({ plural }) => plural === resource.plural))?.version ??
    resource.version;
  const core = groups.find(({ name }) => name === "");
  const named = groups.filter(({ name }) => name !== "");
  const documents = new Map<string, () => Document>([
    ["/api", () => apiVersions(core, serverAddress)],
    ["/apis", () => apiGroupList(named)],
  ]);
  for (const group of groups) {
    const base = group.name ? `/apis/${group.name}` : "/api";
    if (group.name) documents.set(base, () => apiGroup(group));
    for (const version of group.versions) {
      documents.set(`${base}/${version.version}`, () => apiResourceList(version, storageVersionOf));
    }
  }
  const aggregates = new Map([
    ["/api", once(() => aggregate(core ? [core] : []))],
    ["/apis", once(() => aggregate(named))],
  ]);

  return {
    legacy: (path) => documents.get(trimmed(path))?.(),
    aggregated: (path) => aggregates.get(trimmed(path))?.(),
  };
}

function aggregate(groups: readonly Group[]): { body: string; etag: string } {
  const body = JSON.stringify(apiGroupDiscoveryList(groups));
  return { body, etag: `"${createHash("sha512").update(body).digest("hex").toUpperCase()}"` };
}

function trimmed(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
