/** A hub and its spokes in one process: starting, joining, and ending them together. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddedCluster } from "#apiserver";
import { type OwnProgram, ownProvider, writeProviderFile } from "#features/inventory";
import { type Client, connectionOf, createClient } from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { createLogger, type Logger, type LogLevel } from "#lib/log";
import {
  accept,
  bootstrapKubeconfig,
  FLEET_NAMESPACE,
  prepareHub,
  prepareSpoke,
  untilWorking,
} from "./administrator.ts";
import { runAgent } from "./agent.ts";
import { type RunningApiServer, startApiServer } from "./apiserver.ts";
import { takeOrders } from "./control.ts";
import type { FleetDirectory } from "./fleet-directory.ts";
import { type HubEndpoints, type HubLease, runHub } from "./hub.ts";
import type { HubChoice } from "./hub-choice.ts";
import { installDemonstration } from "./knative-demonstration.ts";
import { knativeReleases, type ReleaseChoice, type ReleaseSettings } from "./knative-releases.ts";
import { createProgramMetrics, type ProgramMetrics } from "./metrics.ts";
import { DEFAULT_FIRST_PORT } from "./ports.ts";
import { untilReachable } from "./reachability.ts";
import { UserError } from "./user-error.ts";

/** What people say about a hub, whichever program it is part of. */
export interface HubSettings extends HubChoice {
  readonly autoApproveUsers?: readonly string[];
  readonly lease?: HubLease;
  readonly endpoints?: HubEndpoints;
  /** Which access providers there are. */
  readonly providerFile?: string;
  readonly releases: ReleaseSettings;
  readonly pollInterval?: number;
  readonly removalPatience?: number;
}

export interface FleetOptions {
  readonly spokes: number;
  readonly hub: HubSettings;
  /** Whether Knative is put on the first spoke. */
  readonly withKnative: boolean;
  /** The first port to try for a new cluster, if the person asked for one. */
  readonly port?: number;
  readonly logLevel: LogLevel;
  /** The version of Capstan, which the clusters report. */
  readonly version: string;
  /** The words that start Capstan, the first of them an absolute path: consumers of the inventory run its plugins. */
  readonly capstan: readonly [string, ...string[]];
  /** Hears what happens, one step after the other. */
  progress(step: string): void;
  /** Fires when the fleet should stop. */
  readonly signal: AbortSignal;
}

const AGENT_NAMESPACE = "open-cluster-management-agent";
/** Whoever may read Secrets on the hub of a demonstration fleet may do everything on its spokes. */
const GRANTED_ROLE = "cluster-admin";
const A_YEAR_MS = 365 * 24 * 3600 * 1000;
/** Far more than a fleet needs, and less than a person waits. */
const JOIN_PATIENCE_MS = 120_000;
/** For clusters that have just joined. */
const REACH_PATIENCE_MS = 60_000;
/** For all of Knative's Deployments. */
const KNATIVE_PATIENCE_MS = 180_000;
const KNATIVE_SPOKE = "cluster1";
/** The spokes that `up` makes; clusters that somebody added are served and left alone. */
const SPOKE = /^cluster\d+$/;

interface Part {
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
  readonly clients: Client[];
}

export class Fleet {
  readonly #directory: FleetDirectory;
  readonly #options: FleetOptions;
  readonly #clock: Clock = systemClock;
  /** What runs, by the name under which ready.json shows it. */
  readonly #parts = new Map<string, Part>();
  #server: RunningApiServer | undefined;
  #refuseOrders = async () => {};

  constructor(directory: FleetDirectory, options: FleetOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  get clusters(): { name: string; url: string }[] {
    return (this.#server?.clusters ?? []).map(({ name, url }) => ({ name, url }));
  }

  /** Ends when every spoke has joined, answers, and can be reached through its ClusterProfile. */
  async start(): Promise<void> {
    const { progress, spokes, withKnative } = this.#options;
    const started = this.#clock.now();
    const releases = await knativeReleases(this.#releaseSettings);
    const server = await this.#startServer([
      "hub",
      ...Array.from({ length: spokes }, (_, index) => `cluster${index + 1}`),
    ]);
    progress(
      `${server.clusters.length} clusters serve: ${server.clusters.map(({ name, port }) => `${name} on ${port}`).join(", ")}`,
    );

    const metrics = this.#options.hub.endpoints && createProgramMetrics({ clock: this.#clock });
    const hub = await this.#connect("hub", metrics);
    await prepareHub(hub);
    await this.#startHub(hub, releases, metrics);
    progress("the hub runs");

    const joining = server.clusters.filter(({ name }) => SPOKE.test(name));
    await Promise.race([this.#gather(hub, joining, started), this.#hubEnded()]);
    if (withKnative) await Promise.race([this.#addKnative(hub, releases), this.#hubEnded()]);
    this.#refuseOrders = await takeOrders(this.#directory, {
      add: (name, firstPort) => this.#add(name, firstPort),
      remove: (name) => this.#remove(name),
    });
    await this.#sayReady();
  }

  /** Ends when a part of the fleet fails: better no fleet than half of one that looks whole. */
  async untilBroken(): Promise<void> {
    await Promise.all([...this.#parts.values()].map(({ ended }) => ended));
  }

  async stop(): Promise<void> {
    await this.#directory.removeReady();
    await this.#refuseOrders();
    await Promise.all([...this.#parts.keys()].map((name) => this.#end(name)));
    await this.#server?.close();
  }

  async #startServer(clusters: readonly string[]): Promise<RunningApiServer> {
    this.#server = await startApiServer({
      directory: this.#directory,
      clusters,
      firstPort: this.#options.port ?? DEFAULT_FIRST_PORT,
      portIsWish: this.#options.port !== undefined,
      durability: "sync",
      signingDurationMs: A_YEAR_MS,
      nodes: 1,
      version: this.#options.version,
      clock: this.#clock,
      log: this.#logOf("apiserver"),
    });
    return this.#server;
  }

  /** Ends when it is clear that the hub runs as it was told to. */
  async #startHub(client: Client, releases: ReleaseChoice, metrics: ProgramMetrics | undefined): Promise<void> {
    const directory = this.#directory;
    const { hub: settings, capstan } = this.#options;
    const kubeconfig = directory.kubeconfigOf("hub");
    const provider = ownProvider({ plugin: "token-secretreader", capstan, kubeconfig });
    await writeProviderFile(directory.providerFile, [provider]);
    await directory.writeReleases(this.#releaseSettings);
    const { releases: _, providerFile = directory.providerFile, pollInterval, removalPatience, ...choice } = settings;
    let onStart = () => {};
    const started = new Promise<void>((resolve) => {
      onStart = resolve;
    });
    this.#run("hub", [client], (log, signal) =>
      runHub({
        client,
        ...choice,
        onStart,
        ...(metrics && { metrics }),
        knative: {
          providerFile,
          own: this.#own,
          releases: releases.source,
          fetchManifest: releases.fetchManifest,
          ...(pollInterval !== undefined && { pollInterval }),
          ...(removalPatience !== undefined && { removalPatience }),
        },
        clock: this.#clock,
        log,
        signal,
      }),
    );
    await Promise.race([started, this.#hubEnded()]);
  }

  /** Without a network there is still something to show. */
  get #releaseSettings(): ReleaseSettings {
    return { ...this.#options.hub.releases, demonstration: true };
  }

  /** Nobody joins a hub that has ended; whoever waits for that should hear why. */
  async #hubEnded(): Promise<never> {
    await this.#parts.get("hub")?.ended;
    throw new Error("the hub ended before the fleet was ready");
  }

  /** Lets the spokes join, and looks whether they can be reached. */
  async #gather(hub: Client, joining: readonly EmbeddedCluster[], since: Date): Promise<void> {
    const patience = AbortSignal.any([AbortSignal.timeout(JOIN_PATIENCE_MS), this.#options.signal]);
    await Promise.all(joining.map((spoke) => this.#join(spoke, hub, since, patience)));
    await this.#lookInto(
      hub,
      joining.map(({ name }) => name),
    );
  }

  async #addKnative(hub: Client, { isDemonstration }: ReleaseChoice): Promise<void> {
    const { progress, signal } = this.#options;
    if (!this.clusters.some(({ name }) => name === KNATIVE_SPOKE)) {
      throw new UserError(`Knative goes to ${KNATIVE_SPOKE}, and there is none; give the fleet --spokes 1 or more`);
    }
    const version = await installDemonstration({
      hub,
      profile: { namespace: FLEET_NAMESPACE, name: KNATIVE_SPOKE },
      patienceMs: KNATIVE_PATIENCE_MS,
      logs: this.#directory.logs,
      signal,
    });
    const what = isDemonstration ? " (a demonstration that looks like it; no release of Knative)" : "";
    progress(`Knative Serving ${version}${what} is Ready on ${KNATIVE_SPOKE}`);
  }

  async #join(
    { name, url, authority }: EmbeddedCluster,
    hub: Client,
    since: Date,
    patience: AbortSignal,
  ): Promise<void> {
    const spoke = await this.#connect(name);
    await prepareSpoke(spoke, AGENT_NAMESPACE);
    const bootstrap = await bootstrapKubeconfig(hub, this.#running.cluster("hub").authority);
    this.#run(agentOf(name), [spoke], (log, signal) =>
      runAgent({
        clusterName: name,
        spoke,
        endpoint: { url, caBundle: Buffer.from(authority).toString("base64") },
        bootstrap,
        namespace: AGENT_NAMESPACE,
        grantAccess: GRANTED_ROLE,
        clock: this.#clock,
        log,
        signal,
      }),
    );
    await accept(hub, name, patience);
    await untilWorking(hub, name, since, patience);
    this.#options.progress(`${name} joined and answers`);
  }

  /** Looks whether consumers of the inventory get into the clusters. */
  async #lookInto(hub: Client, clusters: readonly string[]): Promise<void> {
    const { progress, signal } = this.#options;
    const { providerFile, logs } = this.#directory;
    if (clusters.length === 0) return;
    await untilReachable({
      hub,
      namespace: FLEET_NAMESPACE,
      clusters,
      providerFile,
      own: this.#own,
      patienceMs: REACH_PATIENCE_MS,
      logs,
      clock: this.#clock,
      signal,
    });
    progress("all of them can be reached through their ClusterProfiles");
  }

  /** How the fleet's own provider file starts Capstan. */
  get #own(): OwnProgram {
    return { commands: [this.#options.capstan], kubeconfigs: [this.#directory.kubeconfigOf("hub")] };
  }

  async #add(name: string, firstPort?: number): Promise<void> {
    await this.#running.add(name, firstPort);
    await this.#sayReady();
  }

  /** What the cluster runs ends first; the hub will see it fall silent. */
  async #remove(name: string): Promise<void> {
    if (name === "hub")
      throw new Error("the hub of a fleet cannot be removed; `capstan down --purge` removes the fleet");
    this.#running.cluster(name);
    await this.#end(agentOf(name));
    await this.#running.remove(name);
    await this.#sayReady();
  }

  get #running(): RunningApiServer {
    if (!this.#server) throw new Error("the fleet has not started");
    return this.#server;
  }

  async #connect(name: string, metrics?: ProgramMetrics): Promise<Client> {
    const connection = await connectionOf(this.#running.kubeconfig(name));
    return createClient({ connection, ...(metrics && { metrics: metrics.client }) });
  }

  #run(name: string, clients: Client[], program: (log: Logger, signal: AbortSignal) => Promise<void>): void {
    const stopping = new AbortController();
    this.#parts.set(name, { stopping, clients, ended: program(this.#logOf(name), stopping.signal) });
  }

  async #end(name: string): Promise<void> {
    const part = this.#parts.get(name);
    if (!part) return;
    this.#parts.delete(name);
    part.stopping.abort();
    await part.ended.catch(() => {}); // why it failed was told to whoever watched it
    for (const client of part.clients) client.close();
  }

  #logOf(program: string): Logger {
    const file = join(this.#directory.logs, `${program}.log`);
    const write = (line: string) => appendFileSync(file, `${line}\n`, { mode: 0o600 });
    return createLogger({ level: this.#options.logLevel, format: "human", clock: this.#clock, write });
  }

  async #sayReady(): Promise<void> {
    const programs = ["apiserver", ...this.#parts.keys()].map((name) => ({ name, pid: process.pid }));
    await this.#directory.writeReady({ clusters: this.clusters, programs });
  }
}

function agentOf(cluster: string): string {
  return `agent-${cluster}`;
}
