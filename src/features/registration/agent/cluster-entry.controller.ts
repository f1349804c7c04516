/**
 * Puts the cluster on the hub's list when it asks to join, and tells the hub where it is reached.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster (hub)
 * Writes  ManagedCluster (hub): creates it; later adds to spec.managedClusterClientConfigs
 * Twin    ocm:pkg/registration/spoke/registration/creating_controller.go
 */
import { ManagedCluster } from "#api/cluster";
import { isAlreadyExists } from "#kube";
import { atStart, type Cluster, type Controller, done } from "#runtime";

export interface ClusterEntryOptions {
  hub: Cluster;
  clusterName: string;
  /** Where the spoke's API server is reached. */
  endpoints: readonly SpokeEndpoint[];
  leaseDurationSeconds?: number;
  /** The bootstrap identity may create and not change; the agent's own may change and not create. */
  phase: "bootstrap" | "joined";
}

export interface SpokeEndpoint {
  url: string;
  /** Base64 of PEM. */
  caBundle?: string;
}

export function clusterEntryController(options: ClusterEntryOptions): Controller {
  const { hub, clusterName, endpoints, leaseDurationSeconds, phase } = options;
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });

  return {
    name: "cluster-entry",
    triggers: [clusters.keyedBy(({ metadata }) => metadata.name), atStart(clusterName)],

    async reconcile() {
      const cluster = clusters.get(clusterName);
      if (phase === "bootstrap" && !cluster) await create();
      const completed = phase === "joined" && cluster ? withEndpoints(cluster, endpoints) : undefined;
      // A PUT: agents have the right to update their ManagedCluster, not to patch it.
      if (completed) await hub.client.update(ManagedCluster, completed);
      return done;
    },
  };

  async function create(): Promise<void> {
    try {
      await hub.client.create(ManagedCluster, {
        metadata: { name: clusterName },
        spec: {
          ...(endpoints.length > 0 && { managedClusterClientConfigs: [...endpoints] }),
          ...(leaseDurationSeconds !== undefined && { leaseDurationSeconds }),
        },
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

/** The cluster with the endpoints that it lacks, or nothing if it has them all. */
export function withEndpoints(
  cluster: ManagedCluster,
  endpoints: readonly SpokeEndpoint[],
): ManagedCluster | undefined {
  const known = cluster.spec?.managedClusterClientConfigs ?? [];
  const missing = endpoints.filter(({ url }) => !known.some((config) => config.url === url));
  if (missing.length === 0) return undefined;
  return { ...cluster, spec: { ...cluster.spec, managedClusterClientConfigs: [...known, ...missing] } };
}
