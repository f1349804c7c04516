/**
 * Repeats what a ManagedCluster reports on every ClusterProfile that stands for it.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, ClusterProfile
 * Writes  ClusterProfile labels; status.version, .properties, .conditions
 *         (status.accessProviders belongs to whoever gives access and is left alone)
 * Twin    ocm:pkg/registration/hub/clusterprofile/status_controller.go
 */
import { ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { ClusterProfile, type ClusterProfileProperty, ProfileCondition, ProfileLabel } from "#api/inventory";
import type { Clock } from "#lib/clock";
import { findCondition, setCondition } from "#lib/conditions";
import { withLabels } from "#lib/meta";
import { type Cluster, type Controller, done, forEach } from "#runtime";
import { clusterNameOf, isManagedHere, MANAGER } from "./manager.ts";

/** Profile condition, and the cluster condition it repeats. */
const REPEATED = [
  [ProfileCondition.ControlPlaneHealthy, ClusterCondition.Available],
  [ProfileCondition.Joined, ClusterCondition.Joined],
] as const;

export function profileStatusController({ hub, clock }: { hub: Cluster; clock: Clock }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const profiles = hub.cache(ClusterProfile);
  const profilesOf = profiles.indexBy(clusterNameOf);

  return {
    name: "cluster-profile-status",
    triggers: [clusters.keyedBy((c) => c.metadata.name), profiles.keyedBy(clusterNameOf)],

    async reconcile(clusterName) {
      const cluster = clusters.get(clusterName);
      if (!cluster) return done; // profile-lifecycle removes the profiles of a departed cluster

      const ours = profilesOf.at(clusterName).filter(isManagedHere);
      await forEach(ours, (p) => hub.commit(ClusterProfile, p, reflect(cluster, p, clock.now())));
      return done;
    },
  };
}

/** The profile as it should look, given what the cluster reports. */
export function reflect(cluster: ManagedCluster, profile: ClusterProfile, now: Date): ClusterProfile {
  const { version, clusterClaims = [], conditions: reported } = cluster.status ?? {};

  let conditions = profile.status?.conditions ?? [];
  for (const [type, source] of REPEATED) {
    const seen = findCondition(reported, source);
    if (!seen) continue; // the cluster has not said; neither do we
    const { status, reason, message } = seen;
    conditions = setCondition(conditions, { type, status, reason, message }, now);
  }

  const properties = propertiesOf(clusterClaims);
  const status = { ...profile.status, version: { ...version }, properties, conditions };
  return withLabels(
    { ...profile, status },
    {
      [ProfileLabel.manager]: MANAGER,
      [ProfileLabel.set]: cluster.metadata.labels?.[ClusterLabel.set] ?? "",
      [ClusterLabel.name]: cluster.metadata.name,
    },
  );
}

/** A profile is stricter than a cluster: a claim without a value, or a name told twice, would void the whole status. */
function propertiesOf(claims: readonly { name?: string; value?: string }[]): ClusterProfileProperty[] {
  const values = new Map<string, string>();
  for (const { name, value } of claims) if (name && value && !values.has(name)) values.set(name, value);
  return [...values].map(([name, value]) => ({ name, value }));
}
