/** Composition root of `capstan apiserver`: clusters in one process, and their files. */
import { rm } from "node:fs/promises";
import { type Durability, type EmbeddedCluster, openCluster, PortTaken, StoreError } from "#apiserver";
import { type Kubeconfig, kubeconfigFor } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { FleetDirectory } from "./fleet-directory.ts";
import { candidatePorts, holderOfPort } from "./ports.ts";
import { reasonOf, UserError } from "./user-error.ts";

export interface ApiServerOptions {
  readonly directory: FleetDirectory;
  /** Served beside those that the folder has already. */
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

/** Starts every cluster, or none: one that fails takes the others down again. */
export async function startApiServer(options: ApiServerOptions): Promise<RunningApiServer> {
  const server = new RunningApiServer(options);
  // Those that keep a port go first, so that no new one takes it.
  const names = new Set([...(await options.directory.clusters()), ...options.clusters]);
  try {
    for (const name of names) await server.open(name);
  } catch (error) {
    await server.close();
    throw error;
  }
  await server.writeKubeconfigs();
  return server;
}

/** Clusters that serve, and their files. */
export class RunningApiServer {
  readonly #options: ApiServerOptions;
  readonly #clusters = new Map<string, EmbeddedCluster>();

  constructor(options: ApiServerOptions) {
    this.#options = options;
  }

  get clusters(): readonly EmbeddedCluster[] {
    return [...this.#clusters.values()];
  }

  cluster(name: string): EmbeddedCluster {
    const found = this.#clusters.get(name);
    if (!found) throw new UserError(`there is no cluster ${name} in ${this.#options.directory.path}`);
    return found;
  }

  /** Of the administrator. */
  kubeconfig(name: string): Kubeconfig {
    const { url, authority, administrator } = this.cluster(name);
    return kubeconfigFor({ name, server: url, ca: authority, cert: administrator.certificate, key: administrator.key });
  }

  async add(name: string): Promise<EmbeddedCluster> {
    if (this.#clusters.has(name)) {
      throw new UserError(`there is a cluster ${name} in ${this.#options.directory.path} already; choose another name`);
    }
    const cluster = await this.open(name);
    await this.writeKubeconfigs();
    return cluster;
  }

  /** Stops a cluster and removes all that it kept. */
  async remove(name: string): Promise<void> {
    const cluster = this.cluster(name);
    this.#clusters.delete(name);
    await cluster.close();
    await forgetCluster(this.#options.directory, name);
    await this.writeKubeconfigs();
  }

  async open(name: string): Promise<EmbeddedCluster> {
    const { directory, firstPort, portIsWish, durability, signingDurationMs, version, clock, log } = this.#options;
    try {
      const cluster = await openCluster({
        name,
        dir: directory.dataOf(name),
        durability,
        ports: await candidatePorts(firstPort, new Set(this.clusters.map(({ port }) => port))),
        signingDurationMs,
        version,
        clock,
        log: log.with({ cluster: name }),
      });
      this.#clusters.set(name, cluster);
      if (portIsWish && cluster.port < firstPort) throw new UserError(disagreeing(name, cluster.port, this.#options));
      return cluster;
    } catch (error) {
      throw await explained(name, directory, error);
    }
  }

  async writeKubeconfigs(): Promise<void> {
    const names = this.clusters.map(({ name }) => name);
    await this.#options.directory.writeKubeconfigs(new Map(names.map((name) => [name, this.kubeconfig(name)])));
  }

  async close(): Promise<void> {
    await Promise.all(this.clusters.map((cluster) => cluster.close()));
  }
}

/** Removes what a cluster that does not run kept in the folder. */
export async function forgetCluster(directory: FleetDirectory, name: string): Promise<void> {
  await rm(directory.dataOf(name), { recursive: true, force: true });
  await rm(directory.kubeconfigOf(name), { force: true });
}

function disagreeing(name: string, port: number, { directory, firstPort }: ApiServerOptions): string {
  return `cluster ${name} in ${directory.path} keeps port ${port}, which is below --port ${firstPort}; leave --port out, or use another folder`;
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
