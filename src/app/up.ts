/**
 * Composition root of `capstan up`: a hub and its spokes in one process. It acts as people would: the
 * administrator of the hub makes it ready and gives out a token, each spoke's agent asks with it, the
 * administrator accepts.
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddedCluster } from "#apiserver";
import { type Client, connectionOf, createClient } from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { createLogger, type Logger, type LogLevel } from "#lib/log";
import { accept, bootstrapKubeconfig, prepareHub, prepareSpoke, untilWorking } from "./administrator.ts";
import { runAgent } from "./agent.ts";
import { type RunningApiServer, startApiServer } from "./apiserver.ts";
import { FleetDirectory } from "./fleet-directory.ts";
import { lockFleet } from "./fleet-lock.ts";
import { runHub } from "./hub.ts";
import { DEFAULT_FIRST_PORT } from "./ports.ts";
import { UserError } from "./user-error.ts";

export interface UpOptions {
  readonly dir: string;
  readonly spokes: number;
  readonly fresh: boolean;
  readonly logLevel: LogLevel;
  /** The version of Capstan, which the clusters report. */
  readonly version: string;
  /** Hears what happens, one step after the other. */
  progress(step: string): void;
  /** Fires when the fleet should stop. */
  readonly signal: AbortSignal;
}

export interface RunningFleet {
  readonly directory: FleetDirectory;
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  /** Ends when the fleet has stopped; rejects when a part of it failed. */
  readonly stopped: Promise<void>;
}

const AGENT_NAMESPACE = "open-cluster-management-agent";
const A_YEAR_MS = 365 * 24 * 3600 * 1000;
/** Far more than a fleet needs, and less than a person waits. */
const JOIN_PATIENCE_MS = 120_000;

/** Returns when every cluster has joined and answers. The fleet runs until the signal. */
export async function up(options: UpOptions): Promise<RunningFleet> {
  const { progress } = options;
  const directory = new FleetDirectory(options.dir);
  if (options.fresh) await directory.assertOwn();
  await directory.create();
  const unlock = await lockFleet(directory);
  const stopping = new AbortController();
  const parts: Promise<void>[] = [];
  let server: RunningApiServer | undefined;
  const clients: Client[] = [];

  const stop = async (): Promise<void> => {
    await directory.removeReady();
    stopping.abort();
    await Promise.allSettled(parts);
    for (const client of clients) client.close();
    await server?.close();
    await unlock();
  };

  try {
    await directory.removeReady();
    if (options.fresh) await directory.clear();
    const names = await clusterNames(directory, options.spokes);
    const clock = systemClock;
    const started = clock.now();
    server = await startServer(
      directory,
      names,
      options.version,
      logTo(directory, "apiserver", options.logLevel, clock),
    );
    progress(
      `${server.clusters.size} clusters serve, ${[...server.clusters.values()].map(({ name, port }) => `${name} on ${port}`).join(", ")}`,
    );

    const connect = async (name: string): Promise<Client> => {
      const kubeconfig = server?.kubeconfigs.get(name);
      if (!kubeconfig) throw new Error(`there is no cluster ${name}`);
      const client = createClient({ connection: await connectionOf(kubeconfig) });
      clients.push(client);
      return client;
    };
    const hub = await connect("hub");
    const hubCluster = server.clusters.get("hub") as EmbeddedCluster;
    await prepareHub(hub);
    parts.push(
      runHub({ client: hub, clock, log: logTo(directory, "hub", options.logLevel, clock), signal: stopping.signal }),
    );
    progress("the hub runs");

    const patience = AbortSignal.any([AbortSignal.timeout(JOIN_PATIENCE_MS), options.signal]);
    const spokes = [...server.clusters.values()].filter(({ name }) => name !== "hub");
    await Promise.all(
      spokes.map(async ({ name, url, authority }) => {
        const spoke = await connect(name);
        await prepareSpoke(spoke, AGENT_NAMESPACE);
        parts.push(
          runAgent({
            clusterName: name,
            spoke,
            endpoint: { url, caBundle: Buffer.from(authority).toString("base64") },
            bootstrap: await bootstrapKubeconfig(hub, hubCluster.authority),
            namespace: AGENT_NAMESPACE,
            clock,
            log: logTo(directory, `agent-${name}`, options.logLevel, clock),
            signal: stopping.signal,
          }),
        );
        await accept(hub, name, patience);
        await untilWorking(hub, name, started, patience);
        progress(`${name} joined and answers`);
      }),
    );

    const clusters = [...server.clusters.values()].map(({ name, url }) => ({ name, url }));
    const programs = ["apiserver", "hub", ...spokes.map(({ name }) => `agent-${name}`)];
    await directory.writeReady({ clusters, programs: programs.map((name) => ({ name, pid: process.pid })) });
    return { directory, clusters, stopped: untilStopped(options.signal, parts).finally(stop) };
  } catch (error) {
    await stop();
    if (options.signal.aborted) throw new UserError("stopped before the fleet was ready; `up` again goes on from here");
    throw error;
  }
}

/** The fleet's clusters so far, and as many spokes more as were asked for. */
async function clusterNames(directory: FleetDirectory, spokes: number): Promise<string[]> {
  const wanted = ["hub", ...Array.from({ length: spokes }, (_, index) => `cluster${index + 1}`)];
  return [...new Set([...(await directory.clusters()), ...wanted])];
}

function startServer(
  directory: FleetDirectory,
  clusters: readonly string[],
  version: string,
  log: Logger,
): Promise<RunningApiServer> {
  return startApiServer({
    directory,
    clusters,
    firstPort: DEFAULT_FIRST_PORT,
    portIsWish: false,
    durability: "sync",
    signingDurationMs: A_YEAR_MS,
    version,
    clock: systemClock,
    log,
  });
}

function logTo(directory: FleetDirectory, program: string, level: LogLevel, clock: Clock): Logger {
  const file = join(directory.logs, `${program}.log`);
  return createLogger({
    level,
    format: "human",
    clock,
    write: (line) => appendFileSync(file, `${line}\n`, { mode: 0o600 }),
  });
}

/** A part that ends on its own has failed, and takes the fleet along: better than half a fleet that looks whole. */
async function untilStopped(signal: AbortSignal, parts: readonly Promise<void>[]): Promise<void> {
  const asked = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([asked, Promise.all(parts).then(() => {})]);
}
