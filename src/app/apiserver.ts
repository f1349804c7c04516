/** Composition root of `capstan apiserver`: clusters in one process, each with its nodes, and their files. */
import { rm } from "node:fs/promises";
import {
  type Durability,
  type EmbeddedCluster,
  openCluster,
  openSharedPort,
  PortTaken,
  type SharedPort,
  StoreError,
} from "#apiserver";
import { createClient, type Kubeconfig, kubeconfigFor } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { FleetDirectory } from "./fleet-directory.ts";
import { nodeNames, type OwnPrograms, type RunningNodes, startNodes } from "./node.ts";
import { candidatePorts, holderOfPort, PortTurns } from "./ports.ts";
import { loggingTo } from "./program-logs.ts";
import { reasonOf, UserError } from "./user-error.ts";

export interface ApiServerOptions {
  readonly directory: FleetDirectory;
  /** Served beside those that the folder has already. */
  readonly clusters: readonly string[];
  readonly firstPort: number;
  /** Whether the person asked for that port: then a kept port that disagrees is an error. */
  readonly portIsWish: boolean;
  /** Whether all clusters serve on one port; a folder that has clusters stays with what it has. */
  readonly sharedPort?: boolean;
  readonly durability: Durability;
  readonly signingDurationMs: number;
  /** How many nodes each cluster has. */
  readonly nodes: number;
  /** How they run the containers of Capstan's own image; without it these are simulated as all others. */
  readonly own?: OwnPrograms;
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
    await server.sharePort();
    await server.openAll([...names]);
  } catch (error) {
    await server.close();
    throw error;
  }
  await server.writeKubeconfigs();
  await server.nodesRegistered();
  return server;
}

/** So many open side by side: while one waits for the disk, others make keys. */
const OPENED_AT_ONCE = 8;

/** Every cluster has its nodes when they have had so much time, or will have them later: a server works without. */
const NODE_PATIENCE_MS = 30_000;

/** Clusters that serve, and their files. */
export class RunningApiServer {
  readonly #options: ApiServerOptions;
  readonly #clusters = new Map<string, EmbeddedCluster>();
  readonly #nodes = new Map<string, RunningNodes>();
  readonly #ports: PortTurns;
  #shared: SharedPort | undefined;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#ports = new PortTurns(options.firstPort);
  }

  /** Takes the one port of all clusters, if that is how the folder has it or shall have it. */
  async sharePort(): Promise<void> {
    const { directory, sharedPort = false, durability, firstPort, clock } = this.#options;
    const isKept = await directory.sharesPort();
    if (!isKept && !sharedPort) return;
    const others = await directory.clusters();
    if (!isKept && others.length > 0) throw new UserError(mixing(directory, others));
    try {
      this.#shared = await openSharedPort({
        ...(durability !== "memory" && { file: directory.sharedPort }),
        ports: await candidatePorts(firstPort, new Set()),
        now: clock.now(),
      });
    } catch (error) {
      throw await explained("the shared port", directory, error);
    }
    this.#refusePortBelow("the shared port", this.#shared.port);
  }

  /** Several at a time; which is which by order of the names, in ports and in lists. */
  async openAll(names: readonly string[]): Promise<void> {
    const left = [...names];
    const failures: unknown[] = [];
    const openNext = async (): Promise<void> => {
      for (let name = left.shift(); name !== undefined && failures.length === 0; name = left.shift()) {
        await this.open(name).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openNext));
    if (failures.length > 0) throw failures[0];
    const opened = new Map(this.#clusters);
    this.#clusters.clear();
    for (const name of names) this.#clusters.set(name, opened.get(name) as EmbeddedCluster);
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

  async add(name: string, firstPort?: number): Promise<EmbeddedCluster> {
    if (this.#clusters.has(name)) {
      throw new UserError(`there is a cluster ${name} in ${this.#options.directory.path} already; choose another name`);
    }
    const cluster = await this.open(name, firstPort);
    await this.writeKubeconfigs();
    await this.nodesRegistered();
    return cluster;
  }

  /** Stops a cluster and its nodes, and removes all that it kept. */
  async remove(name: string): Promise<void> {
    this.cluster(name);
    await this.#stop(name);
    await forgetCluster(this.#options.directory, name);
    await this.writeKubeconfigs();
  }

  /** `firstPort` is the first to try for it, if not the one for all. */
  async open(name: string, firstPort?: number): Promise<EmbeddedCluster> {
    const { directory, durability, signingDurationMs, version, clock, log } = this.#options;
    const turn = this.#ports.next(firstPort);
    try {
      const cluster = await openCluster({
        name,
        dir: directory.dataOf(name),
        durability,
        ports: turn.ports,
        onBound: turn.done,
        ...(this.#shared && { shared: this.#shared }),
        signingDurationMs,
        version,
        clock,
        log: log.with({ cluster: name }),
      });
      this.#clusters.set(name, cluster);
      if (!this.#shared) this.#refusePortBelow(`cluster ${name}`, cluster.port);
      await this.#startNodes(cluster);
      return cluster;
    } catch (error) {
      throw await explained(`cluster ${name}`, directory, error);
    } finally {
      turn.done();
    }
  }

  #refusePortBelow(whose: string, port: number): void {
    const { portIsWish, firstPort } = this.#options;
    if (portIsWish && port < firstPort) throw new UserError(disagreeing(whose, port, this.#options));
  }

  async writeKubeconfigs(): Promise<void> {
    const names = this.clusters.map(({ name }) => name);
    await this.#options.directory.writeKubeconfigs(new Map(names.map((name) => [name, this.kubeconfig(name)])));
  }

  async nodesRegistered(): Promise<void> {
    const registered = [...this.#nodes.values()].map((nodes) => nodes.registered.catch(() => {})); // told by their log
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#options.clock.after(NODE_PATIENCE_MS, resolve);
    });
    await Promise.race([Promise.all(registered), late]);
    cancel();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clusters.keys()].map((name) => this.#stop(name)));
    await this.#shared?.close();
  }

  /** Nodes are known to their cluster under names of their own, so that the audit log tells them from its people. */
  async #startNodes(cluster: EmbeddedCluster): Promise<void> {
    const { nodes: count, own: programs, directory, version, clock } = this.#options;
    if (count === 0) return;
    const { name, url, authority } = cluster;
    const log = this.#options.log.with({ cluster: name });
    const names = nodeNames(`${name}-node`, count);
    const { certificate } = cluster.identify({
      commonName: `system:node:${names[0]}`,
      organizations: ["system:nodes", "system:masters"],
    });
    const client = createClient({ connection: { server: new URL(url).origin }, direct: cluster.connect(certificate) });
    const own = programs && {
      ...programs,
      run: loggingTo(directory.logs, name, programs.run),
      root: directory.podsOf(name),
      server: { url, ca: authority },
    };
    const nodes = startNodes({ client, names, version, clock, log, ...(own && { own }) });
    nodes.stopped.catch((error: unknown) => log.error("the nodes of a cluster failed", { error }));
    this.#nodes.set(name, nodes);
  }

  async #stop(name: string): Promise<void> {
    await this.#nodes
      .get(name)
      ?.stop()
      .catch(() => {}); // why they failed was told when they did
    this.#nodes.delete(name);
    const cluster = this.#clusters.get(name);
    this.#clusters.delete(name);
    if (!cluster) return;
    await cluster.close();
    this.#ports.release(cluster.port);
  }
}

/** Removes what a cluster that does not run kept in the folder. */
export async function forgetCluster(directory: FleetDirectory, name: string): Promise<void> {
  await rm(directory.dataOf(name), { recursive: true, force: true });
  await rm(directory.podsOf(name), { recursive: true, force: true });
  await rm(directory.kubeconfigOf(name), { force: true });
}

function disagreeing(whose: string, port: number, { directory, firstPort }: ApiServerOptions): string {
  return `${whose} in ${directory.path} keeps port ${port}, which is below --port ${firstPort}; leave --port out, or use another folder`;
}

function mixing({ path }: FleetDirectory, clusters: readonly string[]): string {
  return `the clusters in ${path} (${clusters.join(", ")}) have ports of their own; leave --shared-port out, or use another folder`;
}

async function explained(whose: string, directory: FleetDirectory, error: unknown): Promise<unknown> {
  if (error instanceof UserError) return error;
  if (error instanceof PortTaken) {
    const holder = await holderOfPort(error.port);
    return new UserError(
      `${whose} keeps port ${error.port}, which is taken${holder ? ` by ${holder}` : ""}; stop that program and try again, because the port is part of certificates and kubeconfigs`,
      { cause: error },
    );
  }
  if (error instanceof StoreError) return new UserError(`${whose}: ${error.message}`, { cause: error });
  return new UserError(`${whose} in ${directory.path} cannot start: ${reasonOf(error)}`, { cause: error });
}
