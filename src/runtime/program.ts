/**
 * A program of one's own around controllers, put together: the hub, a clock, lines on stderr, and an end on Ctrl-C.
 * Whoever wants any of it otherwise passes it in, or uses the parts: `connectedCluster`, `createFleet`,
 * `createManager`.
 */
import { type Connection, createClient, createExecEngine, defaultConnection } from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { createLogger, type Logger } from "#lib/log";
import { connectedCluster } from "./connected-cluster.ts";
import type { Fleet } from "./fleet/index.ts";
import { createManager, type ManagerOptions } from "./manager.ts";
import { runTogether } from "./run-together.ts";
import { stopSignal } from "./stop-signal.ts";
import type { Cluster } from "./types.ts";

export interface ProgramOptions {
  /** How API servers and their audit logs know it. */
  readonly name: string;
  /** Where the hub is; what `defaultConnection` finds unless told. */
  readonly hub?: Connection;
  readonly clock?: Clock;
  /** Lines for people on stderr unless told; `CAPSTAN_LOG=debug` makes them more. */
  readonly log?: Logger;
  /** Ends it; Ctrl-C and SIGTERM unless told. */
  readonly signal?: AbortSignal;
}

/** What runs: controllers, and whatever else a manager looks after. */
export type ProgramParts = Omit<ManagerOptions, "clock" | "log" | "fleet"> & {
  /** The clusters that the controllers work on; it is run too. */
  readonly fleet?: Fleet;
};

export interface Program {
  /** The cluster that the program is at home in; for one that works on a single cluster, that cluster. */
  readonly hub: Cluster;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /**
   * Runs it all until the signal fires and what was being done is done; then no connection is left and the process
   * can end. Throws what kept it from running, when everything else has ended too. A program runs once.
   */
  readonly run: (parts: ProgramParts) => Promise<void>;
}

export async function createProgram(options: ProgramOptions): Promise<Program> {
  const { name, clock = systemClock, log = stderrLog(clock) } = options;
  // The kubeconfig is that of whoever starts the program, so the programs that it names are run.
  const exec = createExecEngine({ env: process.env, clock });
  const connection = options.hub ?? (await defaultConnection({ exec, clock }));
  const client = createClient({ connection, clock, userAgent: name });
  const signal = options.signal ?? stopSignal();
  return {
    hub: connectedCluster({ name: "hub", client, clock, log }),
    clock,
    log,
    signal,
    async run({ fleet, ...settings }) {
      const manager = createManager({ ...settings, clock, log, ...(fleet && { fleet }) });
      // While a hub cannot be reached nothing but a timer may be left, and a clock's timers keep no process alive.
      const alive = setInterval(() => {}, 60_000);
      const said = log.with({ component: name });
      const names = settings.controllers.map((controller) => controller.name);
      said.info("starts", { hub: client.server, controllers: names });
      const stopTelling = fleet && tellOfClusters(fleet, said);
      try {
        await runTogether(manager, fleet, signal);
        said.info("has ended");
      } finally {
        stopTelling?.();
        clearInterval(alive);
        client.close();
        exec.close();
      }
    },
  };
}

/** The first question of whoever starts a program is which clusters it has found. What is wrong the fleet tells itself. */
function tellOfClusters(fleet: Fleet, log: Logger): () => void {
  const connected = new Set<string>();
  const stops = [
    fleet.onChange(({ name, state }) => {
      if (state !== "Engaged" || connected.has(name)) return;
      connected.add(name);
      log.info("a cluster is connected", { cluster: name });
    }),
    fleet.onRemoved((name, why) => {
      if (connected.delete(name) && why !== "stopped") log.info("a cluster has left", { cluster: name });
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

function stderrLog(clock: Clock): Logger {
  const level = process.env.CAPSTAN_LOG === "debug" ? "debug" : "info";
  const write = (line: string) => {
    process.stderr.write(`${line}\n`);
  };
  return createLogger({ level, format: "human", clock, write });
}
