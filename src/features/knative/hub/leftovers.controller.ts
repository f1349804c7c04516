/**
 * Removes what was left behind on a cluster once it is back, under whatever profile.
 *
 * Key     namespace/name of the ConfigMap that tells of it
 * Reads   ConfigMap, KnativeServing, KnativeEventing; the clusters of the fleet
 * Writes  ConfigMap: deletes it; on the cluster: deletes what is left
 * Twin    none; upstream leaves it there
 */
import { ConfigMap } from "#api/core";
import { keyOf } from "#api/meta";
import type { Clock } from "#lib/clock";
import { isDeleting } from "#lib/meta";
import { again, type Cluster, type Controller, done, type Fleet } from "#runtime";
import { Eventing, type Installation, Note, noteOf, Serving } from "./installation.ts";
import { LEFTOVER_LABEL, type Leftover, leftoverIn } from "./leftovers.ts";
import { Presence } from "./presence.ts";
import { InstalledRecord } from "./record.ts";
import { removeFrom } from "./removal.ts";
import type { Targets } from "./target.ts";

/** A cluster that refuses is asked again after so long. */
const RETRY_MS = 60_000;

export interface LeftoversControllerOptions {
  readonly hub: Cluster;
  readonly fleet: Fleet;
  readonly targets: Pick<Targets, "identityOf">;
  readonly clock: Clock;
}

export function leftoversController({ hub, fleet, targets, clock }: LeftoversControllerOptions): Controller {
  const leftovers = hub.cache(ConfigMap, { labelSelector: LEFTOVER_LABEL });
  const installations = [hub.cache(Serving.kind), hub.cache(Eventing.kind)];

  return {
    name: "knative-leftovers",
    triggers: [leftovers.keyedBy(keyOf), fleet.keyedBy(() => leftovers.list().map(keyOf))],
    reads: installations,

    async reconcile(key, { signal, log }) {
      const note = leftovers.get(key);
      if (!note) return done;
      const leftover = leftoverIn(note);
      const cluster = await clusterOf(leftover);
      if (!cluster) return done; // the fleet tells when it is back
      const hindrance = await removed(leftover, cluster, signal);
      if (hindrance !== undefined) {
        log.warn("what was left behind cannot be removed yet", { cause: hindrance });
        return again(RETRY_MS);
      }
      await hub.remove(ConfigMap, note);
      return done;
    },
  };

  async function clusterOf({ cluster }: Leftover): Promise<Cluster | undefined> {
    for (const { name, state } of fleet.members) {
      const member = state === "Engaged" ? fleet.get(name) : undefined;
      if (member && (await targets.identityOf(member)) === cluster) return member;
    }
    return undefined;
  }

  /** A newer installation on the same cluster has taken over what was there; then only what made it the old one's goes. */
  async function removed({ cluster: identity, place }: Leftover, cluster: Cluster, signal: AbortSignal) {
    const presence = new Presence({ cluster, component: place.component, clock, onChange() {} });
    const { namespace, record: name } = place;
    const record = new InstalledRecord({ cluster, namespace, name, before: nothing, inherited: nothing });
    try {
      const isShared = all().some((other) => isThere(other, identity, place.component));
      return await removeFrom({ place, presence, record, isShared, signal });
    } finally {
      presence.close();
    }
  }

  function all(): readonly Installation[] {
    return installations.flatMap((cache) => cache.list() as Installation[]);
  }
}

async function nothing(): Promise<[]> {
  return [];
}

function isThere(installation: Installation, cluster: string, component: string): boolean {
  const { component: own } = installation.kind === Serving.kind.kind ? Serving : Eventing;
  return own === component && !isDeleting(installation) && noteOf(installation, Note.cluster) === cluster;
}
