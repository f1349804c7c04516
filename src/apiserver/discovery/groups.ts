import type { Catalog, Resource } from "../resource.ts";
import { compareGroups, compareText, compareVersions } from "./order.ts";

export interface Group {
  /** Empty for the legacy group. */
  readonly name: string;
  /** The preferred one first. */
  readonly versions: readonly GroupVersion[];
}

export interface GroupVersion {
  readonly version: string;
  /** `apps/v1`, or `v1` for the legacy group. */
  readonly groupVersion: string;
  /** By name. */
  readonly resources: readonly Resource[];
}

/** What a catalog serves, sorted as discovery shows it. */
export function groupsOf({ resources }: Catalog): Group[] {
  const groups = new Map<string, Map<string, Resource[]>>();
  for (const resource of resources) {
    const versions = groups.get(resource.group) ?? new Map<string, Resource[]>();
    groups.set(resource.group, versions);
    const served = versions.get(resource.version) ?? [];
    versions.set(resource.version, served);
    served.push(resource);
  }
  return [...groups]
    .sort(([a], [b]) => compareGroups(a, b))
    .map(([name, versions]) => ({
      name,
      versions: [...versions]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, served]) => ({
          version,
          groupVersion: name ? `${name}/${version}` : version,
          resources: served.sort((a, b) => compareText(a.plural, b.plural)),
        })),
    }));
}
