/** Looking whether clusters can be reached as every consumer of the inventory reaches them: through their profiles. */
import {
  clusterProfilesProvider,
  createInventoryAccess,
  followProviderFile,
  type OwnProgram,
} from "#features/inventory";
import { type Client, createExecEngine } from "#kube";
import type { Clock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { connectedCluster, createFleet, type Fleet, isUnreachable } from "#runtime";
import { UserError } from "./user-error.ts";

export interface ReachabilityOptions {
  readonly hub: Client;
  /** Where the profiles are, which are called after their clusters. */
  readonly namespace: string;
  readonly clusters: readonly string[];
  readonly providerFile: string;
  /** How the provider file starts Capstan's plugins; here they need no process. */
  readonly own: OwnProgram;
  readonly patienceMs: number;
  /** Where people find out more about a cluster that lets nobody in. */
  readonly logs: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Ends when every cluster lets us in. Throws what stands in the way of one that does not in time. */
export async function untilReachable(options: ReachabilityOptions): Promise<void> {
  const { hub, namespace, clusters, providerFile, own, clock, signal } = options;
  const source = await followProviderFile({ path: providerFile, clock, log: silentLog });
  const exec = createExecEngine({ env: {}, policy: { type: "DenyAll" } });
  const access = createInventoryAccess({ source, exec, hub: { client: hub, namespace }, own, clock });
  const cluster = connectedCluster({ name: "hub", client: hub, clock, log: silentLog });
  const provider = clusterProfilesProvider({ hub: cluster, access, namespace, log: silentLog });
  const fleet = createFleet({ provider, clock, log: silentLog });
  const stop = new AbortController();
  const ended = fleet.run(stop.signal);
  try {
    const reached = Promise.all(clusters.map((name) => reach(fleet, name, options)));
    await Promise.race([reached, rejectsWhenFired(signal, stop.signal)]);
  } finally {
    stop.abort();
    await ended;
    source.close();
    exec.close();
  }
}

async function reach(fleet: Fleet, name: string, options: ReachabilityOptions): Promise<void> {
  const { namespace, patienceMs, logs } = options;
  const found = await fleet.reach({ namespace, name }, { patience: patienceMs });
  if (!isUnreachable(found)) return;
  throw new UserError(
    `${name} cannot be reached through ClusterProfile ${namespace}/${name}: ${found.message} (${found.reason}); see ${logs}`,
  );
}

/** Until `over` fires, because then nobody listens any more. */
function rejectsWhenFired(signal: AbortSignal, over: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: over });
  });
}
