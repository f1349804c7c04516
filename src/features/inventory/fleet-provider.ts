/**
 * The clusters of the inventory as a fleet: every ClusterProfile is one, called `namespace/name`, reached by the way
 * in that this consumer's provider file and the profile agree on.
 */
import { ClusterProfile, ProfileCondition } from "#api/inventory";
import { keyOf } from "#api/meta";
import { fingerprint } from "#kube";
import { findCondition } from "#lib/conditions";
import type { Logger } from "#lib/log";
import { type Cluster, changesFrom, type FleetChange, type FleetProvider, FleetReason, type Offer } from "#runtime";
import { accessFailureOf, type InventoryAccess, isAccessFailure } from "./access/index.ts";

export interface ProfilesProviderOptions {
  readonly hub: Cluster;
  readonly access: InventoryAccess;
  /** Where to look for profiles; everywhere unless told. */
  readonly namespace?: string;
  readonly log: Logger;
}

export function clusterProfilesProvider(options: ProfilesProviderOptions): FleetProvider {
  const { hub, access, namespace } = options;
  return {
    name: `ClusterProfiles in ${namespace ?? "all namespaces"} of ${hub.name}`,
    follow: (signal) =>
      changesFrom(signal, (tell, fail) => {
        const cache = hub.cache(ClusterProfile, namespace === undefined ? {} : { namespace });
        const offers = new Offers(options, tell);
        const stopProfiles = cache.onChange((before, after) => {
          if (after) offers.changed(after);
          else if (before) offers.removed(keyOf(before));
        });
        // Another provider file may lead into clusters whose profiles have not changed.
        const stopAccess = access.onChange(() => {
          for (const profile of cache.list()) offers.changed(profile);
        });
        cache.start(signal);
        cache.whenSynced().then(() => tell({ type: "listed" }), fail);
        return () => {
          stopProfiles();
          stopAccess();
        };
      }),
  };
}

class Offers {
  readonly #options: ProfilesProviderOptions;
  readonly #tell: (change: FleetChange) => void;
  /** The clusters that were offered with a way in, and its fingerprint. */
  readonly #open = new Map<string, string>();

  constructor(options: ProfilesProviderOptions, tell: (change: FleetChange) => void) {
    this.#options = options;
    this.#tell = tell;
  }

  changed(profile: ClusterProfile): void {
    this.#tell({ type: "offered", offer: this.#offerOf(profile) });
  }

  removed(name: string): void {
    this.#open.delete(name);
    this.#tell({ type: "removed", name });
  }

  #offerOf(profile: ClusterProfile): Offer {
    const { access, log } = this.#options;
    const name = keyOf(profile);
    const way = access.accessTo(profile);
    if (isAccessFailure(way)) {
      this.#open.delete(name);
      return closedOffer(name, way);
    }
    // Whoever is connected already sees for themselves how the cluster fares.
    if (isUnhealthy(profile) && !this.#open.has(name)) {
      const message = `ClusterProfile ${name} says that the control plane is not healthy`;
      return closedOffer(name, { reason: FleetReason.unhealthy, message });
    }
    if (this.#open.get(name) !== way.fingerprint) {
      for (const note of way.notes) log.warn(note, { component: "fleet", cluster: name });
    }
    this.#open.set(name, way.fingerprint);
    return {
      name,
      fingerprint: way.fingerprint,
      connect: () => access.connectionTo(way),
      explain: accessFailureOf,
    };
  }
}

function closedOffer(name: string, problem: { reason: string; message: string }): Offer {
  return { name, fingerprint: fingerprint(problem), connect: () => problem };
}

/** A profile that says nothing of its health is tried: it may come from a manager that never does. */
function isUnhealthy({ status }: ClusterProfile): boolean {
  return findCondition(status?.conditions, ProfileCondition.ControlPlaneHealthy)?.status === "False";
}
