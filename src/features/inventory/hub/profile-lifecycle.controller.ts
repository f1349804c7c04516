/**
 * Keeps one ClusterProfile for every cluster of every set that a namespace is bound to.
 *
 * Key     namespace
 * Reads   Namespace, ManagedClusterSetBinding, ManagedClusterSet, ManagedCluster, ClusterProfile
 * Writes  ClusterProfile: creates and deletes those of this manager
 * Twin    ocm:pkg/registration/hub/clusterprofile/lifecycle_controller.go
 */
import {
  BindingCondition,
  ClusterLabel,
  ManagedCluster,
  ManagedClusterSet,
  ManagedClusterSetBinding,
  selectorOfSet,
} from "#api/cluster";
import { Namespace } from "#api/core";
import { ClusterProfile, ProfileLabel } from "#api/inventory";
import type { Draft } from "#kube";
import { isTrue } from "#lib/conditions";
import { describe, isDeleting } from "#lib/meta";
import { type LabelMatcher, labelSelector, SelectorError } from "#lib/selectors";
import { type Cluster, type Controller, done, forEach, Terminal } from "#runtime";
import { MANAGER } from "./manager.ts";

export function profileLifecycleController({ hub }: { hub: Cluster }): Controller {
  const namespaces = hub.cache(Namespace);
  const bindings = hub.cache(ManagedClusterSetBinding);
  const sets = hub.cache(ManagedClusterSet);
  const clusters = hub.cache(ManagedCluster);
  const profiles = hub.cache(ClusterProfile);
  const bindingsIn = bindings.indexBy(namespaceOf);
  const bindingsTo = bindings.indexBy((binding) => binding.spec?.clusterSet);
  const profilesIn = profiles.indexBy(namespaceOf);

  return {
    name: "cluster-profile-lifecycle",
    triggers: [
      bindings.keyedBy(namespaceOf),
      // The sets count their members in their status, so a cluster that comes, goes or moves shows here.
      sets.keyedBy((set) => namespacesBoundTo(set.metadata.name)),
      clusters.keyedBy(namespacesThatMayShow),
      profiles.keyedBy(namespaceOf),
      namespaces.keyedBy(({ metadata }) => (bindingsIn.at(metadata.name).length > 0 ? metadata.name : undefined)),
    ],

    async reconcile(namespace) {
      const home = namespaces.get(namespace);
      if (!home || isDeleting(home)) return done;

      const bound = bindingsIn.at(namespace).filter(isBound);
      const wished = membersOf(clusters.list(), bound.flatMap(matcherOf));
      const ours = profilesIn.at(namespace).filter(isOurs);

      await forEach(
        ours.filter(({ metadata }) => !wished.has(metadata.name)),
        (profile) => hub.remove(ClusterProfile, profile),
      );
      await forEach(
        [...wished].filter((name) => !profiles.get(`${namespace}/${name}`)),
        (name) => hub.commit(ClusterProfile, undefined, newProfile(namespace, name)),
      );
      return done;
    },
  };

  /** A selector that cannot be understood selects nobody knows what: better keep the profiles as they are. */
  function matcherOf(binding: ManagedClusterSetBinding): LabelMatcher[] {
    const set = sets.get(binding.spec?.clusterSet ?? "");
    const matcher = set && setMatcher(set);
    if (set && !matcher) throw new Terminal(`${describe(set)} has a selector that cannot be understood; correct it`);
    return matcher ? [matcher] : [];
  }

  function namespacesBoundTo(set: string): string[] {
    return bindingsTo.at(set).flatMap((binding) => namespaceOf(binding) ?? []);
  }

  function namespacesThatMayShow({ metadata }: ManagedCluster): string[] {
    const holding = sets.list().filter((set) => setMatcher(set)?.matches(metadata.labels));
    return holding.flatMap((set) => namespacesBoundTo(set.metadata.name));
  }
}

/** Chooses the clusters of a set; undefined if its selector cannot be understood. */
function setMatcher(set: ManagedClusterSet): LabelMatcher | undefined {
  try {
    return labelSelector(selectorOfSet(set));
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** The names of the clusters that any of the sets holds and that are not on their way out. */
function membersOf(clusters: readonly ManagedCluster[], sets: readonly LabelMatcher[]): Set<string> {
  const staying = clusters.filter((cluster) => !isDeleting(cluster));
  const held = staying.filter(({ metadata }) => sets.some((set) => set.matches(metadata.labels)));
  return new Set(held.map(({ metadata }) => metadata.name));
}

/** The profile as it is born; its status follows from what the cluster reports. */
function newProfile(namespace: string, cluster: string): Draft<ClusterProfile> {
  return {
    metadata: {
      name: cluster,
      namespace,
      labels: { [ProfileLabel.manager]: MANAGER, [ClusterLabel.name]: cluster },
    },
    spec: { displayName: cluster, clusterManager: { name: MANAGER } },
  };
}

function isBound(binding: ManagedClusterSetBinding): boolean {
  return !isDeleting(binding) && isTrue(binding.status?.conditions, BindingCondition.Bound);
}

/** Profiles of other managers in the same namespace are none of our business. */
function isOurs({ metadata }: ClusterProfile): boolean {
  return metadata.labels?.[ProfileLabel.manager] === MANAGER;
}

function namespaceOf({ metadata }: { metadata: { namespace?: string } }): string | undefined {
  return metadata.namespace;
}
