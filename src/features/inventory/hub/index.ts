/** The inventory on the hub: a ClusterProfile for every joined cluster, in every namespace that is bound to its set. */
import type { Clock } from "#lib/clock";
import type { Cluster, Controller, EventRecorder } from "#runtime";
import { profileAccessController } from "./profile-access.controller.ts";
import { profileLifecycleController } from "./profile-lifecycle.controller.ts";
import { profileStatusController } from "./profile-status.controller.ts";

export interface InventoryHubOptions {
  hub: Cluster;
  clock: Clock;
  /** Tells people what cannot be shown. */
  recorder?: Pick<EventRecorder, "tell">;
}

/** Profiles have nothing to do with each other: none waits for the one before. */
const CONCURRENCY = 8;

/** All controllers of the inventory on the hub, in the order in which a joined cluster meets them. */
export function inventoryHubControllers({ hub, clock, recorder }: InventoryHubOptions): Controller[] {
  const controllers: Controller[] = [
    profileLifecycleController({ hub }),
    profileStatusController({ hub, clock, ...(recorder && { recorder }) }),
    profileAccessController({ hub }),
  ];
  return controllers.map((controller) => ({ concurrency: CONCURRENCY, ...controller }));
}
