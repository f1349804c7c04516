/** Runs embedded API servers for `capstan apiserver`, and changes which clusters they have. */
import {
  type ApiServerOptions,
  addCluster,
  DEFAULT_FIRST_PORT,
  FleetDirectory,
  lockFleet,
  removeCluster,
  startApiServer,
  takeOrders,
} from "#app";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import type { ApiServerFlags, ClusterFlags } from "../commands/apiserver.ts";
import { logLevel } from "../options.ts";
import { runProgram } from "../programs.ts";
import { stopSignal, whenFired } from "../signals.ts";
import { print, say } from "../terminal.ts";
import { version } from "../version.ts";

const A_YEAR_MS = 365 * 24 * 3_600_000;

export async function runApiServer(flags: ApiServerFlags): Promise<void> {
  const signal = stopSignal();
  const directory = new FleetDirectory(flags.dataDir);
  await directory.create();
  const unlock = await lockFleet(directory);
  try {
    await directory.removeReady();
    const server = await startApiServer({
      ...settings(directory),
      clusters: flags.clusters,
      ...(flags.port !== undefined && { firstPort: flags.port, portIsWish: true }),
      durability: flags.durability,
      signingDurationMs: flags.signingDuration,
      sharedPort: flags.sharedPort ?? false,
      nodes: flags.node ? flags.nodes : 0,
      own: { image: `capstan:${version()}`, run: runProgram },
    });
    const sayReady = () =>
      directory.writeReady({
        clusters: server.clusters.map(({ name, url }) => ({ name, url })),
        programs: [{ name: "apiserver", pid: process.pid }],
      });
    const refuseOrders = await takeOrders(directory, {
      async add(name, firstPort) {
        const { url } = await server.add(name, firstPort);
        await sayReady();
        print(`${name}  ${url}  ${directory.kubeconfigOf(name)}`);
      },
      async remove(name) {
        await server.remove(name);
        await sayReady();
        say(`cluster ${name} was removed`);
      },
    });
    await sayReady();
    for (const { name, url } of server.clusters) print(`${name}  ${url}  ${directory.kubeconfigOf(name)}`);
    await whenFired(signal);
    await directory.removeReady();
    await refuseOrders();
    await server.close();
  } finally {
    await unlock();
  }
}

export async function runAdd(name: string, { dataDir, port }: ClusterFlags): Promise<void> {
  const directory = new FleetDirectory(dataDir);
  const serves = await addCluster(name, settings(directory), port);
  say(serves ? `Cluster ${name} serves.` : `Cluster ${name} will serve when the servers in ${directory.path} start.`);
  print(directory.kubeconfigOf(name));
}

export async function runRemove(name: string, { dataDir }: ClusterFlags): Promise<void> {
  await removeCluster(name, dataDir);
  say(`Cluster ${name} is gone.`);
}

function settings(directory: FleetDirectory): Omit<ApiServerOptions, "clusters" | "nodes"> {
  return {
    directory,
    firstPort: DEFAULT_FIRST_PORT,
    portIsWish: false,
    durability: "sync",
    signingDurationMs: A_YEAR_MS,
    version: version(),
    clock: systemClock,
    log: createLogger({ level: logLevel(), format: "human", clock: systemClock, write: say }),
  };
}
