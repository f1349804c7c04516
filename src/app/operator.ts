/** Composition roots of the operators: each keeps what its objects ask for, on one cluster. */
import { clusterManagerControllers } from "#features/operator/cluster-manager";
import { klusterletControllers, managedClustersProvider } from "#features/operator/klusterlet";
import { type Client, type Connection, createClient } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import {
  type Cluster,
  type Controller,
  connectedCluster,
  createEventRecorder,
  createFleet,
  createManager,
  type Fleet,
  runTogether,
} from "#runtime";
import { electionFor, type HubEndpoints, type HubLease } from "./hub.ts";
import type { ProgramMetrics } from "./metrics.ts";

export interface OperatorOptions {
  readonly client: Client;
  /** Capstan's own image, where an object names none. */
  readonly image: string;
  /** Copies the labels of the object onto all that is made for it. */
  readonly syncLabels: boolean;
  /** Of several operators that name the same Lease only its holder works. */
  readonly lease?: HubLease;
  readonly endpoints?: HubEndpoints;
  readonly metrics?: ProgramMetrics;
  /** Called when its caches are filled. */
  readonly onReady?: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Keeps a hub as its ClusterManager says, until the signal. */
export async function runClusterManager(options: OperatorOptions): Promise<void> {
  const { image, syncLabels, clock } = options;
  await runOperator("cluster-manager", options, (cluster) => ({
    controllers: clusterManagerControllers({ cluster, image, syncLabels, clock }),
  }));
}

/** Keeps the agents of a spoke as its Klusterlets say, until the signal. */
export async function runKlusterlet(options: OperatorOptions): Promise<void> {
  const { image, syncLabels, metrics, clock, log } = options;
  await runOperator("klusterlet", options, (cluster) => {
    // Klusterlets whose agents run here and manage another cluster.
    const managed = createFleet({
      provider: managedClustersProvider({ cluster }),
      clock,
      log,
      ...(metrics && { metrics: metrics.client }),
    });
    const connect = (connection: Connection) =>
      createClient({ connection, ...(metrics && { metrics: metrics.client }) });
    const controllers = klusterletControllers({ cluster, managed, image, syncLabels, connect, clock });
    return { controllers, fleet: managed };
  });
}

async function runOperator(
  name: string,
  options: OperatorOptions,
  partsOn: (cluster: Cluster) => { controllers: Controller[]; fleet?: Fleet },
): Promise<void> {
  const { client, lease, endpoints, metrics, onReady, clock, log, signal } = options;
  const cluster = connectedCluster({ name: "local", client, clock, log });
  const recorder = createEventRecorder({ client, controller: name, clock, log });
  const { controllers, fleet } = partsOn(cluster);
  const manager = createManager({
    controllers,
    clock,
    log,
    recorder,
    ...(fleet && { fleet }),
    ...(lease && { election: electionFor(lease, options, recorder) }),
    ...(endpoints && { endpoints: { ...endpoints, ...(metrics && { registry: metrics.registry }) } }),
    ...(metrics && { metrics: metrics.runtime }),
    ...(onReady && { onReady }),
  });
  await runTogether(manager, fleet, signal);
}
