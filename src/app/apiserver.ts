/** Composition root of `capstan apiserver`: clusters in one process, and their files. */
import { type Durability, type EmbeddedCluster, openCluster, PortTaken, StoreError } from "#apiserver";
import type { Kubeconfig } from "#kube";
import { kubeconfigFor } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { FleetDirectory } from "./fleet-directory.ts";
import { candidatePorts, holderOfPort } from "./ports.ts";
import { reasonOf, UserError } from "./user-error.ts";

export interface ApiServerOptions {
  readonly directory: FleetDirectory;
  readonly clusters: readonly string[];
  readonly firstPort: number;
  /** Whether the person asked for that port: then a kept port that disagrees is an error. */
  readonly portIsWish: boolean;
  readonly durability: Durability;
  readonly signingDurationMs: number;
  /** The version of Capstan, which the clusters report. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RunningApiServer {
  readonly clusters: ReadonlyMap<string, EmbeddedCluster>;
  readonly kubeconfigs: ReadonlyMap<string, Kubeconfig>;
  close(): Promise<void>;
}

/** Starts every cluster, or none: one that fails takes the others down again. */
export async function startApiServer(options: ApiServerOptions): Promise<RunningApiServer> {
  const { directory } = options;
  const clusters = new Map<string, EmbeddedCluster>();
  const close = async () => {
    await Promise.all([...clusters.values()].map((cluster) => cluster.close()));
  };
  try {
    for (const name of options.clusters) clusters.set(name, await startCluster(name, options, clusters));
  } catch (error) {
    await close();
    throw error;
  }
  const kubeconfigs = new Map([...clusters].map(([name, cluster]) => [name, administratorKubeconfig(cluster)]));
  await directory.writeKubeconfigs(kubeconfigs);
  return { clusters, kubeconfigs, close };
}

async function startCluster(
  name: string,
  options: ApiServerOptions,
  others: ReadonlyMap<string, EmbeddedCluster>,
): Promise<EmbeddedCluster> {
  const { directory, firstPort, portIsWish, durability, signingDurationMs, version, clock, log } = options;
  const taken = new Set([...others.values()].map(({ port }) => port));
  try {
    const cluster = await openCluster({
      name,
      dir: directory.dataOf(name),
      durability,
      ports: await candidatePorts(firstPort, taken),
      signingDurationMs,
      version,
      clock,
      log: log.with({ cluster: name }),
    });
    if (portIsWish && cluster.port < firstPort) {
      await cluster.close();
      throw new UserError(
        `cluster ${name} in ${directory.path} keeps port ${cluster.port}, which is below --port ${firstPort}; leave --port out, or use another folder`,
      );
    }
    return cluster;
  } catch (error) {
    throw await explained(name, directory, error);
  }
}

async function explained(name: string, directory: FleetDirectory, error: unknown): Promise<unknown> {
  if (error instanceof UserError) return error;
  if (error instanceof PortTaken) {
    const holder = await holderOfPort(error.port);
    return new UserError(
      `cluster ${name} keeps port ${error.port}, which is taken${holder ? ` by ${holder}` : ""}; stop that program and try again, because the port is part of the cluster's certificates and kubeconfigs`,
      { cause: error },
    );
  }
  if (error instanceof StoreError) return new UserError(`cluster ${name}: ${error.message}`, { cause: error });
  return new UserError(`cluster ${name} in ${directory.path} cannot start: ${reasonOf(error)}`, { cause: error });
}

function administratorKubeconfig({ name, url, authority, administrator }: EmbeddedCluster): Kubeconfig {
  return kubeconfigFor({ name, server: url, ca: authority, cert: administrator.certificate, key: administrator.key });
}
