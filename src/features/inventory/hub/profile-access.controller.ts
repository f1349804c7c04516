/**
 * Tells on every ClusterProfile how its cluster is reached, where a token for the cluster lies on the hub.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, Secret, ClusterProfile; the CustomResourceDefinition of ClusterProfiles
 * Writes  ClusterProfile: one entry of status.accessProviders, under a field manager of its own
 *         (the entries of others are left alone)
 */
import { CLUSTER_ACCESS, ManagedCluster } from "#api/cluster";
import { Secret } from "#api/core";
import { type AccessProvider, ClusterProfile } from "#api/inventory";
import { equal } from "#lib/json";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done, forEach } from "#runtime";
import { tokenAccessProvider } from "../access/index.ts";
import { applyStatus, profileDefinition } from "./definition.ts";
import { clusterNameOf, isManagedHere } from "./manager.ts";

const FIELD_MANAGER = "capstan-cluster-access";

export function profileAccessController({ hub }: { hub: Cluster }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const secrets = hub.cache(Secret, { fieldSelector: `metadata.name=${CLUSTER_ACCESS.secret}` });
  const profiles = hub.cache(ClusterProfile);
  const definition = profileDefinition(hub);
  const profilesOf = profiles.indexBy(clusterNameOf);

  return {
    name: "cluster-profile-access",
    triggers: [
      clusters.keyedBy(({ metadata }) => metadata.name),
      secrets.keyedBy(({ metadata }) => metadata.namespace),
      profiles.keyedBy(clusterNameOf),
    ],
    reads: [definition.cache],

    async reconcile(clusterName) {
      const cluster = clusters.get(clusterName);
      if (!cluster) return done; // profile-lifecycle removes the profiles of a departed cluster

      const secret = secrets.get(`${clusterName}/${CLUSTER_ACCESS.secret}`);
      await forEach(profilesOf.at(clusterName).filter(isManagedHere), async (profile) => {
        const step = nextStep(profile, cluster, secret);
        if (step.is === "write") await write(profile, step.entry);
        if (step.is === "remove") await replace(profile, []);
      });
      return done;
    },
  };

  async function write(profile: ClusterProfile, entry: AccessProvider): Promise<void> {
    if (!definition.listsAreMaps()) return replace(profile, [entry]);
    await applyStatus(hub, profile, FIELD_MANAGER, { accessProviders: [entry] });
  }

  /** On condition that nobody wrote meanwhile. An entry that goes has to go as a whole, whoever added to it. */
  async function replace(profile: ClusterProfile, entries: AccessProvider[]): Promise<void> {
    const others = (profile.status?.accessProviders ?? []).filter((entry) => !isOurs(entry, clusterNameOf(profile)));
    const status = { ...profile.status, accessProviders: [...others, ...entries] };
    await hub.commit(ClusterProfile, profile, { ...profile, status }, { fieldManager: FIELD_MANAGER });
  }
}

type Step = { is: "nothing" | "remove" } | { is: "write"; entry: AccessProvider };

/**
 * What has to be done about a profile's entry. A Secret that is still empty is offered to nobody; one that was
 * emptied is filled again in a moment, and takes nothing from those who have the entry already.
 */
export function nextStep(profile: ClusterProfile, cluster: ManagedCluster, secret: Secret | undefined): Step {
  const { name } = cluster.metadata;
  const place = { secretNamespace: name, secretName: CLUSTER_ACCESS.secret, key: CLUSTER_ACCESS.key };
  const [endpoint] = (cluster.spec?.managedClusterClientConfigs ?? []).filter(({ url }) => isSafe(url));
  const present = profile.status?.accessProviders?.find((entry) => isOurs(entry, name));

  if (!secret || isDeleting(secret) || !endpoint) return { is: present ? "remove" : "nothing" };
  const authority = endpoint.caBundle && Buffer.from(endpoint.caBundle, "base64").toString("utf8");
  const entry = tokenAccessProvider({ server: endpoint.url, ...(authority && { authority }), ...place });
  const isTaken = profile.status?.accessProviders?.some((other) => other.name === entry.name && other !== present);
  if (isTaken || (!present && !secret.data?.[CLUSTER_ACCESS.key])) return { is: "nothing" };
  return present && saysTheSame(present, entry) ? { is: "nothing" } : { is: "write", entry };
}

/** A token is not sent where everybody on the way could read it. */
function isSafe(url: string): boolean {
  return URL.canParse(url) && new URL(url).protocol === "https:";
}

/** Somebody else may offer a token of their own by the same plugin; ours is the one that lies in our Secret. */
function isOurs({ name, cluster }: AccessProvider, clusterName: string): boolean {
  const own = tokenAccessProvider({
    server: "",
    secretNamespace: clusterName,
    secretName: CLUSTER_ACCESS.secret,
    key: CLUSTER_ACCESS.key,
  });
  return name === own.name && equal(cluster?.extensions, own.cluster?.extensions);
}

/** In what we say about it; others may have added to the entry. */
function saysTheSame({ cluster: a }: AccessProvider, { cluster: b }: AccessProvider): boolean {
  return (["server", "certificate-authority-data"] as const).every((field) => a?.[field] === b?.[field]);
}
