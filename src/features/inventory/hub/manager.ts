/** Which profiles this hub keeps, and which cluster each of them stands for. */
import { ClusterLabel } from "#api/cluster";
import type { ClusterProfile } from "#api/inventory";

/** The name under which a hub keeps its profiles, as every hub of this kind calls itself. */
export const MANAGER = "open-cluster-management";

/** Profiles of other managers are none of our business. */
export function isManagedHere({ spec }: ClusterProfile): boolean {
  return spec.clusterManager.name === MANAGER;
}

/** A profile carries its cluster's name as a label; without one it is named after the cluster. */
export function clusterNameOf({ metadata }: ClusterProfile): string {
  return metadata.labels?.[ClusterLabel.name] ?? metadata.name;
}
