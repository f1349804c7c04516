/** Runs embedded API servers for `capstan apiserver`. */
import { DEFAULT_FIRST_PORT, FleetDirectory, lockFleet, startApiServer } from "#app";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import type { ApiServerFlags } from "../commands/apiserver.ts";
import { logLevel } from "../options.ts";
import { stopSignal } from "../signals.ts";
import { print, say } from "../terminal.ts";
import { version } from "../version.ts";

export async function runApiServer({
  clusters,
  dataDir,
  port: wished,
  durability,
  signingDuration,
}: ApiServerFlags): Promise<void> {
  const signal = stopSignal();
  const directory = new FleetDirectory(dataDir);
  await directory.create();
  const unlock = await lockFleet(directory);
  try {
    await directory.removeReady();
    const server = await startApiServer({
      directory,
      clusters,
      firstPort: wished ?? DEFAULT_FIRST_PORT,
      portIsWish: wished !== undefined,
      durability,
      signingDurationMs: signingDuration,
      version: version(),
      clock: systemClock,
      log: createLogger({ level: logLevel(), format: "human", clock: systemClock, write: say }),
    });
    const urls = [...server.clusters.values()].map(({ name, url }) => ({ name, url }));
    await directory.writeReady({ clusters: urls, programs: [{ name: "apiserver", pid: process.pid }] });
    for (const { name, url } of urls) print(`${name}  ${url}  ${directory.kubeconfigOf(name)}`);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await directory.removeReady();
    await server.close();
  } finally {
    await unlock();
  }
}
