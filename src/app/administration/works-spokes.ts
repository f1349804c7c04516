/** The way from a hub to one of its clusters for whoever sits at the hub: what its ClusterProfile offers, or their own kubeconfig. */
import { ClusterLabel, type ManagedCluster } from "#api/cluster";
import { ClusterProfile } from "#api/inventory";
import {
  createInventoryAccess,
  followProviderFile,
  type InventoryAccess,
  isAccessFailure,
  type OwnProgram,
  type ProviderSource,
} from "#features/inventory";
import {
  type Client,
  type Connection,
  createClient,
  createExecEngine,
  isForbidden,
  isNotFound,
  type PluginName,
} from "#kube";
import type { Clock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { causeOf } from "./hub-contact.ts";

export interface SpokeWays {
  /** Which access providers can be used; Capstan's own plugins, without a process, unless told. */
  readonly providerFile?: string;
  /** How the provider file starts Capstan's own plugins. */
  readonly own?: OwnProgram;
  /** Somebody's own way to one of these servers, if they have one. */
  readonly connectionTo?: (servers: readonly string[]) => Promise<Connection | undefined>;
}

export interface Spokes {
  /** The cluster, or a sentence that says why it cannot be reached. */
  reach(cluster: ManagedCluster, signal: AbortSignal): Promise<Client | string>;
  close(): void;
}

/** A cluster that does not answer by then is planned for without it. */
const PATIENCE_MS = 5_000;
const OWN_PLUGINS: readonly PluginName[] = ["token-secretreader", "kubeconfig-secretreader", "secretreader"];
const MANAGER = "open-cluster-management";

export async function openSpokes(hub: Client, ways: SpokeWays, clock: Clock): Promise<Spokes> {
  const { providerFile, own, connectionTo = async () => undefined } = ways;
  const source = providerFile ? await followProviderFile({ path: providerFile, clock, log: silentLog }) : OWN;
  const exec = createExecEngine({ env: process.env, clock });
  const access = createInventoryAccess({
    source,
    exec,
    hub: { client: hub, namespace: "default" },
    ...(own && { own }),
    clock,
  });
  let profiles: Promise<readonly ClusterProfile[]> | undefined;
  const opened: Client[] = [];
  return {
    async reach(cluster, signal) {
      profiles ??= profilesOn(hub);
      const offered = wayThrough(access, await profiles, cluster.metadata.name);
      const servers = (cluster.spec?.managedClusterClientConfigs ?? []).map(({ url }) => url);
      const hindrances: string[] = typeof offered === "string" ? [offered] : [];
      for (const way of [async () => offered, () => connectionTo(servers)]) {
        const connection = await way();
        if (connection === undefined || typeof connection === "string") continue;
        const client = createClient({ connection });
        opened.push(client);
        const hindrance = await hindranceTo(client, signal);
        if (hindrance === undefined) return client;
        hindrances.push(hindrance);
      }
      const own = `no context of the kubeconfig leads to ${servers.join(", ") || "it"}`;
      return [...hindrances, ...(hindrances.length < 2 ? [own] : [])].join(", and ");
    },
    close() {
      for (const client of opened) client.close();
      source.close();
      exec.close();
    },
  };
}

async function hindranceTo(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    await client.raw("/version", { timeout: PATIENCE_MS, signal });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return `${client.server} does not let us in: ${causeOf(error as Error)}`;
  }
}

const OWN: ProviderSource = {
  current: () => ({
    providers: OWN_PLUGINS.map((name) => ({ name, builtin: name, argsPolicy: "Ignore", envPolicy: "Ignore" })),
    warnings: [],
  }),
  problem: () => undefined,
  onChange: () => () => {},
  close() {},
};

async function profilesOn(hub: Client): Promise<readonly ClusterProfile[]> {
  try {
    return (await hub.list(ClusterProfile)).items;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return [];
    throw error;
  }
}

/** What the first profile of the cluster leads to that leads anywhere; otherwise why none does. */
function wayThrough(
  access: InventoryAccess,
  profiles: readonly ClusterProfile[],
  cluster: string,
): Connection | string {
  const ours = profiles.filter(
    ({ spec, metadata }) =>
      spec.clusterManager.name === MANAGER && (metadata.labels?.[ClusterLabel.name] ?? metadata.name) === cluster,
  );
  let hindrance = "it has no ClusterProfile that one may read";
  for (const profile of ours) {
    const way = access.accessTo(profile);
    if (!isAccessFailure(way)) return access.connectionTo(way);
    hindrance = `ClusterProfile ${profile.metadata.namespace}/${profile.metadata.name} offers no way in that can be used here`;
  }
  return hindrance;
}
