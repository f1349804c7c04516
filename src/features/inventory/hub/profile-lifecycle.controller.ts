/**
 * Keeps one ClusterProfile for every cluster of every set that a namespace is bound to.
 *
 * Key     ClusterProfile key, whose name is that of the cluster
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
import { keyOf, splitKey } from "#api/meta";
import type { Draft } from "#kube";
import { isTrue } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type LabelMatcher, labelSelector, SelectorError } from "#lib/selectors";
import { type Cluster, type Controller, done, predicates } from "#runtime";
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
      clusters.keyedBy(profilesThatMayShow, { when: membershipChanged }),
      profiles.keyedBy(keyOf, { when: predicates.labelsChanged }),
      bindings.keyedBy(({ metadata }) => allIn(metadata.namespace ?? ""), { when: bindingChanged }),
      sets.keyedBy((set) => namespacesBoundTo(set.metadata.name).flatMap(allIn), {
        when: predicates.generationChanged,
      }),
      namespaces.keyedBy(({ metadata }) => (bindingsIn.at(metadata.name).length > 0 ? allIn(metadata.name) : []), {
        when: namespaceChanged,
      }),
    ],

    async reconcile(key) {
      const { namespace = "", name } = splitKey(key);
      const home = namespaces.get(namespace);
      if (!home || isDeleting(home)) return done;

      const profile = profiles.get(key);
      const cluster = clusters.get(name);
      const wished = isWished(namespace, cluster);
      if (wished && cluster && !profile) await hub.commit(ClusterProfile, undefined, newProfile(namespace, cluster));
      if (wished === false && profile && isOurs(profile)) await hub.remove(ClusterProfile, profile);
      return done;
    },
  };

  /** Undefined where nobody can say: a selector that cannot be understood leaves profiles as they are. */
  function isWished(namespace: string, cluster: ManagedCluster | undefined): boolean | undefined {
    if (!cluster || isDeleting(cluster)) return false;
    const bound = bindingsIn.at(namespace).filter(isBound);
    const holding = bound.flatMap(({ spec }) => sets.get(spec?.clusterSet ?? "") ?? []).map(setMatcher);
    if (holding.some((set) => set?.matches(cluster.metadata.labels))) return true;
    return holding.includes(undefined) ? undefined : false;
  }

  function namespacesBoundTo(set: string): string[] {
    return bindingsTo.at(set).flatMap((binding) => namespaceOf(binding) ?? []);
  }

  /** Of a cluster: in each namespace that is bound to anything. */
  function profilesThatMayShow({ metadata }: ManagedCluster): string[] {
    return [...new Set(bindings.list().flatMap((binding) => namespaceOf(binding) ?? []))].map(
      (namespace) => `${namespace}/${metadata.name}`,
    );
  }

  /** All that a namespace shows, or may show. */
  function allIn(namespace: string): string[] {
    const names = [...clusters.list(), ...profilesIn.at(namespace)].map(({ metadata }) => metadata.name);
    return [...new Set(names)].map((name) => `${namespace}/${name}`);
  }
}

const membershipChanged = predicates.changed<ManagedCluster>(({ metadata }) => [
  metadata.labels ?? {},
  metadata.deletionTimestamp !== undefined,
]);
const namespaceChanged = predicates.changed<Namespace>(isDeleting);
const bindingChanged = predicates.changed<ManagedClusterSetBinding>((binding) => [
  binding.spec?.clusterSet ?? "",
  isBound(binding),
]);

/** Chooses the clusters of a set; undefined if its selector cannot be understood. */
function setMatcher(set: ManagedClusterSet): LabelMatcher | undefined {
  try {
    return labelSelector(selectorOfSet(set));
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}

/** The profile as it is born; its status follows from what the cluster reports. */
function newProfile(namespace: string, { metadata: { name, labels } }: ManagedCluster): Draft<ClusterProfile> {
  return {
    metadata: {
      name,
      namespace,
      labels: {
        [ProfileLabel.manager]: MANAGER,
        [ProfileLabel.set]: labels?.[ClusterLabel.set] ?? "",
        [ClusterLabel.name]: name,
      },
    },
    spec: { displayName: name, clusterManager: { name: MANAGER } },
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
