/** A hub and its spokes in one process, set up as an administrator would: init, join, accept. */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import {
  ClusterCondition,
  ManagedCluster,
  ManagedClusterSetBinding,
  managedClusterCrd,
  managedClusterSetBindingCrd,
} from "#api/cluster";
import { Namespace } from "#api/core";
import { Klusterlet } from "#api/operator";
import type { EmbeddedCluster } from "#apiserver";
import { type OwnProgram, ownProvider, writeProviderFile } from "#features/inventory";
import type { RunProgram } from "#features/node";
import { type Client, type Connection, connectionOf, createClient } from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { createLogger, type Logger, type LogLevel } from "#lib/log";
import { createOnce, find, untilEstablished } from "./administration/changes.ts";
import { type HubWish, installHub, untilHubWorks } from "./administration/hub-installation.ts";
import { hubToken } from "./administration/hub-tokens.ts";
import { joinCluster } from "./administration/joining.ts";
import type { Task } from "./administration/task.ts";
import { accept, FLEET_NAMESPACE, FLEET_SET, untilWorking } from "./administrator.ts";
import { type RunningApiServer, startApiServer } from "./apiserver.ts";
import { takeOrders } from "./control.ts";
import type { FleetDirectory } from "./fleet-directory.ts";
import { checkChoice, type HubChoice } from "./hub-choice.ts";
import { installDemonstration } from "./knative-demonstration.ts";
import { knativeReleases, type ReleaseChoice, type ReleaseSettings } from "./knative-releases.ts";
import { DEFAULT_FIRST_PORT } from "./ports.ts";
import { untilReachable } from "./reachability.ts";
import { UserError } from "./user-error.ts";

/** What people say about the hub of a fleet. */
export interface FleetHub extends Pick<HubWish, "featureGates" | "autoApprovedIdentities" | "hubArguments"> {
  readonly choice: HubChoice;
  readonly releases: ReleaseSettings;
}

export interface FleetOptions {
  readonly spokes: number;
  readonly hub: FleetHub;
  /** Whether Knative is put on the first spoke. */
  readonly withKnative: boolean;
  /** The first port to try for a new cluster, if the person asked for one. */
  readonly port?: number;
  readonly logLevel: LogLevel;
  /** The version of Capstan, which the clusters report. */
  readonly version: string;
  /** Capstan's own image, of which all programs of the fleet are. */
  readonly image: string;
  /** Runs a program of that image. */
  readonly runProgram: RunProgram;
  /** The words that start Capstan, the first of them an absolute path: consumers of the inventory run its plugins. */
  readonly capstan: readonly [string, ...string[]];
  /** Hears what happens, one step after the other. */
  progress(step: string): void;
  /** Fires when the fleet should stop. */
  readonly signal: AbortSignal;
}

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

export class Fleet {
  readonly #directory: FleetDirectory;
  readonly #options: FleetOptions;
  readonly #clock: Clock = systemClock;
  readonly #clients: Client[] = [];
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
    const { progress, spokes, withKnative, hub: wish } = this.#options;
    const started = this.#clock.now();
    const releases = await knativeReleases(this.#releaseSettings);
    checkChoice(wish.choice);
    const server = await this.#startServer([
      "hub",
      ...Array.from({ length: spokes }, (_, index) => `cluster${index + 1}`),
    ]);
    progress(
      `${server.clusters.length} clusters serve: ${server.clusters.map(({ name, port }) => `${name} on ${port}`).join(", ")}`,
    );

    const hub = await this.#connect("hub");
    const waiting = this.#patience(JOIN_PATIENCE_MS);
    try {
      await this.#installHub({ client: hub, ...waiting });
      const joining = server.clusters.filter(({ name }) => SPOKE.test(name));
      await Promise.all([
        untilHubWorks({ client: hub, ...waiting }).then(() => progress("the hub runs")),
        ...joining.map((spoke) => this.#join(spoke, hub, started, waiting)),
      ]);
      await this.#lookInto(
        hub,
        joining.map(({ name }) => name),
      );
    } catch (error) {
      throw waiting.explained(error);
    }
    if (withKnative) await this.#addKnative(hub, releases);
    this.#refuseOrders = await takeOrders(this.#directory, {
      add: (name, firstPort) => this.#add(name, firstPort),
      remove: (name) => this.#remove(name),
    });
    await this.#sayReady();
  }

  async stop(): Promise<void> {
    await this.#directory.removeReady();
    await this.#refuseOrders();
    for (const client of this.#clients) client.close();
    await this.#server?.close();
  }

  async #startServer(clusters: readonly string[]): Promise<RunningApiServer> {
    const { port, version, image } = this.#options;
    this.#server = await startApiServer({
      directory: this.#directory,
      clusters,
      firstPort: port ?? DEFAULT_FIRST_PORT,
      portIsWish: port !== undefined,
      durability: "sync",
      signingDurationMs: A_YEAR_MS,
      nodes: 1,
      version,
      own: { image, run: this.#options.runProgram },
      clock: this.#clock,
      log: this.#logOf("apiserver"),
    });
    return this.#server;
  }

  /** What `init` does, and what the fleet's consumers of the inventory need. */
  async #installHub(task: Task): Promise<void> {
    const directory = this.#directory;
    const { hub: wish, capstan, image } = this.#options;
    const provider = ownProvider({ plugin: "token-secretreader", capstan, kubeconfig: directory.kubeconfigOf("hub") });
    await writeProviderFile(directory.providerFile, [provider]);
    await directory.writeReleases(this.#releaseSettings);
    await installHub(task, {
      connection: await this.#connectionTo("hub"),
      image,
      useBootstrapToken: false,
      ...(wish.featureGates && { featureGates: wish.featureGates }),
      ...(wish.autoApprovedIdentities && { autoApprovedIdentities: wish.autoApprovedIdentities }),
      ...(wish.hubArguments && { hubArguments: wish.hubArguments }),
      createNamespace: true,
      syncLabels: false,
      force: true,
    });
    for (const definition of [managedClusterCrd, managedClusterSetBindingCrd]) await untilEstablished(task, definition);
    await createOnce(task, Namespace, FLEET_NAMESPACE, { metadata: { name: FLEET_NAMESPACE } });
    await createOnce(task, ManagedClusterSetBinding, `${FLEET_NAMESPACE}/${FLEET_SET}`, {
      metadata: { namespace: FLEET_NAMESPACE, name: FLEET_SET },
      spec: { clusterSet: FLEET_SET },
    });
  }

  /** Without a network there is still something to show. */
  get #releaseSettings(): ReleaseSettings {
    return { ...this.#options.hub.releases, demonstration: true };
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

  /** What `join` and `accept` do; a spoke that has joined before is left alone. */
  async #join({ name }: EmbeddedCluster, hub: Client, since: Date, waiting: Patience): Promise<void> {
    const spoke = await this.#connect(name);
    const task = { client: spoke, ...waiting };
    if (!(await hasJoined(hub, spoke, name))) {
      const { ca, server } = await this.#connectionTo("hub");
      const { token } = await hubToken(hub, false);
      await joinCluster(task, {
        clusterName: name,
        mode: "default",
        hub: { server, token },
        contact: { client: hub, source: "flag", ...(ca !== undefined && { ca }) },
        connection: await this.#connectionTo(name),
        internalEndpoint: false,
        grantAccess: GRANTED_ROLE,
        image: this.#options.image,
        createNamespace: true,
        syncLabels: false,
      });
    }
    await accept(hub, name, waiting.signal);
    await untilWorking(hub, name, since, waiting.signal);
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

  /** So long a start may take; whoever loses patience hears what was waited for. */
  #patience(ms: number): Patience {
    const { signal } = this.#options;
    const over = AbortSignal.timeout(ms);
    let awaited = "the first answer";
    return {
      dryRun: false,
      signal: AbortSignal.any([over, signal]),
      onWait: (what) => {
        awaited = what;
      },
      explained: (error) =>
        over.aborted && !signal.aborted
          ? new UserError(
              `the fleet was not ready after ${ms / 1000} s; it waited for ${awaited}; see ${this.#directory.logs}, and \`capstan doctor --dir ${this.#directory.path}\` while it runs`,
            )
          : error,
    };
  }

  async #add(name: string, firstPort?: number): Promise<void> {
    await this.#running.add(name, firstPort);
    await this.#sayReady();
  }

  /** What the cluster runs ends first; the hub will see it fall silent. */
  async #remove(name: string): Promise<void> {
    if (name === "hub")
      throw new Error("the hub of a fleet cannot be removed; `capstan down --purge` removes the fleet");
    await this.#running.remove(name);
    await this.#sayReady();
  }

  get #running(): RunningApiServer {
    if (!this.#server) throw new Error("the fleet has not started");
    return this.#server;
  }

  #connectionTo(name: string): Promise<Connection> {
    return connectionOf(this.#running.kubeconfig(name));
  }

  async #connect(name: string): Promise<Client> {
    const client = createClient({ connection: await this.#connectionTo(name) });
    this.#clients.push(client);
    return client;
  }

  #logOf(program: string): Logger {
    const file = join(this.#directory.logs, `${program}.log`);
    const write = (line: string) => appendFileSync(file, `${line}\n`, { mode: 0o600 });
    return createLogger({ level: this.#options.logLevel, format: "human", clock: this.#clock, write });
  }

  async #sayReady(): Promise<void> {
    const agents = this.clusters.filter(({ name }) => SPOKE.test(name)).map(({ name }) => `agent-${name}`);
    const programs = ["apiserver", "hub", ...agents].map((name) => ({ name, pid: process.pid }));
    await this.#directory.writeReady({ clusters: this.clusters, programs });
  }
}

interface Patience extends Omit<Task, "client"> {
  /** What to tell of an error that came of losing patience. */
  explained(error: unknown): unknown;
}

async function hasJoined(hub: Client, spoke: Client, name: string): Promise<boolean> {
  const [cluster, klusterlet] = await Promise.all([
    find(hub, ManagedCluster, name),
    find(spoke, Klusterlet, "klusterlet"),
  ]);
  return klusterlet !== undefined && isTrue(cluster?.status?.conditions, ClusterCondition.Joined);
}
