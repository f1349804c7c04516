/**
 * Repeats on a cluster how its add-ons are, so that placements can choose by it; and on the add-ons of a cluster of which
 * nothing is heard that nobody knows.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, ManagedClusterAddOn where it is served, its CustomResourceDefinition
 * Writes  ManagedCluster labels `feature.open-cluster-management.io/addon-*`; ManagedClusterAddOn condition Available
 *         (only to Unknown)
 * Twin    ocm:pkg/registration/hub/addon/{discovery,healthcheck}_controller.go
 */
import { ManagedClusterAddOn } from "#api/addon";
import { CustomResourceDefinition, DefinitionCondition } from "#api/apiextensions";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import type { Clock } from "#lib/clock";
import { findCondition, isTrue, setCondition } from "#lib/conditions";
import { isDeleting, withLabels } from "#lib/meta";
import { type Cache, type Cluster, type Controller, done, forEach, type Trigger } from "#runtime";

const PREFIX = "feature.open-cluster-management.io/addon-";
/** Of the part of a label's key that follows the slash. */
const LONGEST_LABEL = 63;
const AVAILABLE = "Available";
const DEFINITION = `${ManagedClusterAddOn.plural}.${ManagedClusterAddOn.group}`;

export function addonsController({ hub, clock }: { hub: Cluster; clock: Clock }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const addons = hub.cache(ManagedClusterAddOn);
  const definitions = hub.cache(CustomResourceDefinition, {
    fieldSelector: `metadata.name=${DEFINITION}`,
    projection: ["status.conditions"],
  });
  const addonsOf = addons.indexBy(({ metadata }) => metadata.namespace);

  return {
    name: "cluster-addons",
    triggers: [
      clusters.keyedBy(({ metadata }) => metadata.name),
      onceServed({ definitions, addons, all: () => clusters.list().map(({ metadata }) => metadata.name) }),
    ],

    async reconcile(name) {
      const cluster = clusters.get(name);
      if (!cluster || !addons.synced) return done;
      const own = addonsOf.at(name);
      await forEach(own, (addon) => hub.commit(ManagedClusterAddOn, addon, doubted(addon, cluster, clock.now())));
      if (!isDeleting(cluster)) await hub.commit(ManagedCluster, cluster, labelled(cluster, own));
      return done;
    },
  };
}

/** The cluster, labelled by its add-ons. As long as nobody knows how the cluster is, nothing is said of them. */
function labelled(cluster: ManagedCluster, addons: readonly ManagedClusterAddOn[]): ManagedCluster {
  if (!findCondition(cluster.status?.conditions, ClusterCondition.Available)) return cluster;
  const gone = Object.keys(cluster.metadata.labels ?? {}).filter((label) => label.startsWith(PREFIX));
  const labels = new Map<string, string | undefined>(gone.map((label) => [label, undefined]));
  for (const addon of addons) {
    const label = `${PREFIX}${addon.metadata.name}`;
    const isTooLong = label.length - label.indexOf("/") - 1 > LONGEST_LABEL;
    if (!isDeleting(addon) && !isTooLong) labels.set(label, wordFor(addon));
  }
  return withLabels(cluster, Object.fromEntries(labels));
}

function wordFor({ status }: ManagedClusterAddOn): string {
  const available = findCondition(status?.conditions, AVAILABLE)?.status;
  if (available === "True") return "available";
  return available === "False" ? "unhealthy" : "unreachable";
}

/** The add-on, which is as unknown as its cluster. That it is well again its own agent says. */
function doubted(addon: ManagedClusterAddOn, cluster: ManagedCluster, now: Date): ManagedClusterAddOn {
  const cause = findCondition(cluster.status?.conditions, ClusterCondition.Available);
  if (cause?.status !== "Unknown") return addon;
  const { status, reason, message } = cause;
  const conditions = setCondition(addon.status?.conditions ?? [], { type: AVAILABLE, status, reason, message }, now);
  return { ...addon, status: { ...addon.status, conditions } };
}

interface Served {
  readonly definitions: Cache<CustomResourceDefinition>;
  readonly addons: Cache<ManagedClusterAddOn>;
  readonly all: () => readonly string[];
}

/**
 * Follows add-ons, by the cluster that they lie in, from the moment in which the server knows what they are; nobody waits
 * for that. When it is known which ones there are, every cluster is looked at once.
 */
function onceServed({ definitions, addons, all }: Served): Trigger<string> {
  return {
    cache: definitions,
    subscribe(enqueue) {
      const stop = new AbortController();
      let isFollowed = false;
      const endDefinitions = definitions.onChange((_, definition) => {
        if (isFollowed || !isTrue(definition?.status?.conditions, DefinitionCondition.Established)) return;
        isFollowed = true;
        addons.start(stop.signal);
        void addons.whenSynced().then(() => {
          if (!stop.signal.aborted) for (const name of all()) enqueue(name, { initial: true });
        });
      });
      const endAddons = addons.onChange((before, after, initial) => {
        const { namespace } = (after ?? before)?.metadata ?? {};
        if (namespace !== undefined) enqueue(namespace, { initial });
      });
      return () => {
        endDefinitions();
        endAddons();
        stop.abort();
      };
    },
  };
}
