/** Whose hub it is. */
import type { ClusterManager } from "#api/operator";
import { isDeleting } from "#lib/meta";

/** There is one, and the first who asked keeps it. */
export function keeperAmong(managers: readonly ClusterManager[]): ClusterManager | undefined {
  return managers
    .filter((each) => isDeleting(each) || !isHosted(each))
    .sort(byAge)
    .at(0);
}

export function isHosted({ spec }: ClusterManager): boolean {
  return spec?.deployOption?.mode === "Hosted";
}

function byAge(a: ClusterManager, b: ClusterManager): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`);
  return (left ?? "") < (right ?? "") ? -1 : 1;
}
