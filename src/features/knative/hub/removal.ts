/** Taking an installation away from its cluster. */
import { ConfigMap } from "#api/core";
import { COMPONENT_LABEL } from "#api/knative";
import { isNotFound, type SetInventory, type SetTracking } from "#kube";
import type { Place } from "./installation.ts";
import type { Presence } from "./presence.ts";
import type { InstalledRecord } from "./record.ts";
import { hindranceIn } from "./report.ts";

/** Whoever deletes an installation, or takes a version in place of another, means all of it. */
const NO_LIMIT = { objects: Number.POSITIVE_INFINITY, percent: 100 };

/** What belongs to an installation, and whether what no longer does is removed. Definitions and namespaces stay. */
export function trackingOf(
  { component }: Pick<Place, "component">,
  inventory: SetInventory,
  prune: boolean,
): SetTracking {
  return { inventory, membership: { label: { key: COMPONENT_LABEL, value: component } }, prune, budget: NO_LIMIT };
}

export interface RemovalOptions {
  readonly place: Place;
  readonly presence: Presence;
  readonly record: InstalledRecord;
  /** Whether another installation uses what is there; it inherits the list of it. */
  readonly isShared: boolean;
  readonly signal: AbortSignal;
}

/** The answer is what keeps it from being complete. */
export async function removeFrom({
  place,
  presence,
  record,
  isShared,
  signal,
}: RemovalOptions): Promise<string | undefined> {
  const { namespace, anchor } = place;
  if (!isShared) {
    const report = await presence.remove({ namespace, tracking: trackingOf(place, record, true) }, { signal });
    const hindrance = hindranceIn(report);
    if (hindrance !== undefined) return hindrance;
    await record.remove({ signal });
  }
  if (anchor === undefined) {
    if (isShared) await record.release({ signal });
    return undefined;
  }
  try {
    // What others share must lose its owner before the owner goes, or the garbage collector would take it along.
    const propagationPolicy = isShared ? "Orphan" : "Background";
    await presence.cluster.client.delete(ConfigMap, `${namespace}/${anchor}`, { propagationPolicy, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return undefined;
}
