/**
 * Repeats what a ManagedCluster reports on every ClusterProfile that stands for it.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, ClusterProfile; the CustomResourceDefinition of ClusterProfiles
 * Writes  ClusterProfile labels; under one field manager status.version and two conditions, under another
 *         status.properties (what others wrote there, and status.accessProviders, is left alone)
 * Twin    ocm:pkg/registration/hub/clusterprofile/status_controller.go
 */
import { ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { ClusterProfile, type ClusterProfileProperty, ProfileCondition, ProfileLabel } from "#api/inventory";
import { keyOf } from "#api/meta";
import { type Clock, timestamp } from "#lib/clock";
import { findCondition, setCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { withLabels } from "#lib/meta";
import { type Cluster, type Controller, done, type EventRecorder, forEach } from "#runtime";
import { applyStatus, profileDefinition } from "./definition.ts";
import { clusterNameOf, isManagedHere, MANAGER } from "./manager.ts";

const FieldManager = { health: "capstan-cluster-health", properties: "capstan-cluster-properties" } as const;

/** Profile condition, and the cluster condition it repeats. */
const REPEATED = [
  [ProfileCondition.ControlPlaneHealthy, ClusterCondition.Available],
  [ProfileCondition.Joined, ClusterCondition.Joined],
] as const;
const OURS: readonly string[] = REPEATED.map(([type]) => type);

export interface ProfileStatusOptions {
  readonly hub: Cluster;
  readonly clock: Clock;
  /** Tells which claims a profile cannot hold; nobody hears of it unless told. */
  readonly recorder?: Pick<EventRecorder, "tell">;
}

export function profileStatusController({ hub, clock, recorder }: ProfileStatusOptions): Controller {
  const clusters = hub.cache(ManagedCluster);
  const profiles = hub.cache(ClusterProfile);
  const definition = profileDefinition(hub);
  const profilesOf = profiles.indexBy(clusterNameOf);
  /** Properties that stayed when ours were said, by profile: they are others', and saying ours again takes none away. */
  const others = new Map<string, string>();
  /** Claims that were told to be left out, by cluster. */
  const told = new Map<string, string>();

  return {
    name: "cluster-profile-status",
    triggers: [clusters.keyedBy((c) => c.metadata.name), profiles.keyedBy(clusterNameOf)],
    reads: [definition.cache],

    async reconcile(clusterName) {
      const cluster = clusters.get(clusterName);
      if (!cluster) return forget(clusterName); // profile-lifecycle removes the profiles of a departed cluster

      tellOmitted(cluster);
      const ours = profilesOf.at(clusterName).filter(isManagedHere);
      const areMaps = definition.listsAreMaps();
      await forEach(ours, async (profile) => {
        const after = reflect(cluster, profile, clock.now());
        if (areMaps) await apply(profile, after);
        else await hub.commit(ClusterProfile, profile, after);
      });
      return done;
    },
  };

  async function apply(profile: ClusterProfile, after: ClusterProfile): Promise<void> {
    const { status: before = {} } = profile;
    const { version, conditions = [], properties = [] } = after.status ?? {};
    await hub.commit(ClusterProfile, profile, { ...profile, metadata: after.metadata });

    if (!equal(before.version, version) || !equal(before.conditions ?? [], conditions)) {
      const own = conditions.filter(({ type }) => OURS.includes(type));
      await applyStatus(hub, profile, FieldManager.health, { ...(version && { version }), conditions: own });
    }
    const wished = new Map(properties.map((each) => [each.name, each]));
    const present = before.properties ?? [];
    const isSaid = present.filter((each) => equal(each, wished.get(each.name))).length === wished.size;
    const rest = JSON.stringify(present.filter(({ name }) => !wished.has(name)).map(({ name }) => name));
    const key = keyOf(profile);
    if (isSaid && (rest === "[]" || others.get(key) === rest)) return;
    await applyStatus(hub, profile, FieldManager.properties, { properties });
    if (rest === "[]") others.delete(key);
    else others.set(key, rest);
  }

  function forget(clusterName: string) {
    told.delete(clusterName);
    for (const key of others.keys()) if (!profiles.get(key)) others.delete(key);
    return done;
  }

  function tellOmitted(cluster: ManagedCluster): void {
    const { name } = cluster.metadata;
    const names = omittedClaims(cluster.status?.clusterClaims).join(", ");
    if (names === (told.get(name) ?? "")) return;
    told.set(name, names);
    if (names === "") return;
    const note = `Claims that a ClusterProfile cannot hold are not in the inventory: ${names}. A value has 1 to ${MOST_VALUE} characters, and a name is told once.`;
    recorder?.tell(cluster, { type: "Warning", reason: "ClaimsNotInInventory", note });
  }
}

/** The profile as it should look, given what the cluster reports. */
export function reflect(cluster: ManagedCluster, profile: ClusterProfile, now: Date): ClusterProfile {
  const { version, clusterClaims, conditions: reported } = cluster.status ?? {};

  let conditions = profile.status?.conditions ?? [];
  for (const [type, source] of REPEATED) {
    const seen = findCondition(reported, source);
    if (!seen) continue; // the cluster has not said; neither do we
    const { status, reason, message } = seen;
    conditions = setCondition(conditions, { type, status, reason, message }, now);
  }

  const known = new Map(profile.status?.properties?.map((each) => [each.name, each]));
  const properties = propertiesOf(clusterClaims).map(({ name, value }): ClusterProfileProperty => {
    const same = known.get(name);
    return same?.value === value ? same : { name, value, lastObservedTime: timestamp(now) };
  });
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

type Claim = { name?: string; value?: string };

const MOST_NAME = 253;
const MOST_VALUE = 1024;

/** A profile is stricter than a cluster: one claim that it cannot hold would void the whole status. */
function propertiesOf(claims: readonly Claim[] = []): { name: string; value: string }[] {
  const values = new Map<string, string>();
  for (const { name, value } of claims) {
    if (name && value && fits(name, MOST_NAME) && fits(value, MOST_VALUE) && !values.has(name)) values.set(name, value);
  }
  return [...values].map(([name, value]) => ({ name, value }));
}

/** The names of claims that have no place in a profile, sorted. */
function omittedClaims(claims: readonly Claim[] = []): string[] {
  const held = new Set(propertiesOf(claims).map(({ name }) => name));
  const isTwice = (name: string) => claims.filter((claim) => claim.name === name).length > 1;
  const names = claims.map(({ name = "" }) => name).filter((name) => !held.has(name) || isTwice(name));
  return [...new Set(names.map((name) => (fits(name, MOST_NAME) ? name : `${name.slice(0, 20)}…`)))].sort();
}

/** Servers count characters, not the units in which JavaScript does. */
function fits(text: string, most: number): boolean {
  return text.length <= most || [...text].length <= most;
}
