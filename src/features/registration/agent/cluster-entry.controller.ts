/**
 * Puts the cluster on the hub's list when it asks to join, tells the hub where it is reached, and whether the agent
 * keeps a token on the hub for those who want to reach it.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster (hub)
 * Writes  ManagedCluster (hub): creates it; later adds to spec.managedClusterClientConfigs, and keeps one annotation
 * Twin    ocm:pkg/registration/spoke/registration/creating_controller.go
 */
import { ClusterAnnotation, ClusterCondition, ManagedCluster } from "#api/cluster";
import { isAlreadyExists } from "#kube";
import { findCondition } from "#lib/conditions";
import { withAnnotations } from "#lib/meta";
import { atStart, type Cluster, type Controller, done } from "#runtime";

export interface ClusterEntryOptions {
  hub: Cluster;
  clusterName: string;
  /** Where the spoke's API server is reached. */
  endpoints: readonly SpokeEndpoint[];
  leaseDurationSeconds?: number;
  /** Written when the ManagedCluster is created, as far as agents may write them. */
  clusterAnnotations?: Readonly<Record<string, string>>;
  /** The ClusterRole of those who come with the token on the hub; there is no token unless told. */
  grantAccess?: string;
  /** The bootstrap identity may create and not change; the agent's own may change and not create. */
  phase: "bootstrap" | "joined";
}

export interface SpokeEndpoint {
  url: string;
  /** Base64 of PEM. */
  caBundle?: string;
}

export function clusterEntryController(options: ClusterEntryOptions): Controller {
  const { hub, clusterName, endpoints, leaseDurationSeconds, clusterAnnotations, grantAccess, phase } = options;
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });

  return {
    name: "cluster-entry",
    triggers: [clusters.keyedBy(({ metadata }) => metadata.name), atStart(clusterName)],

    async reconcile() {
      const cluster = clusters.get(clusterName);
      if (phase === "bootstrap" && !cluster) await create();
      if (phase === "joined" && cluster && !isDenied(cluster)) await complete(cluster);
      return done;
    },
  };

  async function complete(cluster: ManagedCluster): Promise<void> {
    const access = { [ClusterAnnotation.grantedAccess]: grantAccess };
    const completed = withAnnotations(withEndpoints(cluster, endpoints), access);
    // A PUT: agents have the right to update their ManagedCluster, not to patch it.
    if (completed !== cluster) await hub.client.update(ManagedCluster, completed);
  }

  async function create(): Promise<void> {
    const annotations = {
      ...ofAgents(clusterAnnotations),
      ...(grantAccess !== undefined && { [ClusterAnnotation.grantedAccess]: grantAccess }),
    };
    try {
      await hub.client.create(ManagedCluster, {
        metadata: { name: clusterName, ...(Object.keys(annotations).length > 0 && { annotations }) },
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

/** Whoever configures an agent decides nothing else about its cluster on the hub. */
const AGENT_ANNOTATION = "agent.open-cluster-management.io";

function ofAgents(annotations: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => key.startsWith(AGENT_ANNOTATION)));
}

/** The hub lets a denied agent look and no more. */
function isDenied({ status }: ManagedCluster): boolean {
  return findCondition(status?.conditions, ClusterCondition.HubAccepted)?.status === "False";
}

/**
 * The cluster with the endpoints that it lacks, and with the authority of those that it has; the same object if there
 * is nothing to add. Endpoints of others stay: somebody on the hub may know another way.
 */
function withEndpoints(cluster: ManagedCluster, endpoints: readonly SpokeEndpoint[]): ManagedCluster {
  const known = cluster.spec?.managedClusterClientConfigs ?? [];
  const renewed = known.map((config) => {
    const own = endpoints.find(({ url }) => url === config.url);
    return own?.caBundle === undefined || own.caBundle === config.caBundle ? config : { ...config, ...own };
  });
  const missing = endpoints.filter(({ url }) => !known.some((config) => config.url === url));
  if (missing.length === 0 && renewed.every((config, at) => config === known[at])) return cluster;
  return { ...cluster, spec: { ...cluster.spec, managedClusterClientConfigs: [...renewed, ...missing] } };
}
