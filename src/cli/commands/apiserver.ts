/** `capstan apiserver`: embedded clusters without a fleet around them. */
import { Command, Option } from "commander";
import { DEFAULT_FIRST_PORT, FleetDirectory, lockFleet, startApiServer } from "#app";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import { clusterNames, duration, logLevel, port } from "../options.ts";
import { stopSignal } from "../signals.ts";
import { print, say } from "../terminal.ts";

interface Flags {
  readonly clusters: string[];
  readonly dataDir: string;
  readonly port?: number;
  readonly durability: "sync" | "os" | "memory";
  readonly signingDuration: number;
}

const A_YEAR_MS = 365 * 24 * 3_600_000;

export function apiserverCommand(): Command {
  return new Command("apiserver")
    .description("run embedded Kubernetes API servers, one for each cluster named")
    .requiredOption("--clusters <names>", "the clusters, separated by commas", clusterNames)
    .requiredOption("--data-dir <dir>", "where state, keys and kubeconfigs are kept")
    .option("--port <n>", `the first port to try for a new cluster (default: ${DEFAULT_FIRST_PORT})`, port)
    .addOption(
      new Option(
        "--durability <mode>",
        "when a write is acknowledged: on the disk, in the system's hands, or at once and lost at the end",
      )
        .choices(["sync", "os", "memory"])
        .default("sync"),
    )
    .addOption(
      new Option("--signing-duration <time>", "how long signed client certificates live")
        .argParser(duration)
        .default(A_YEAR_MS, "365d"),
    )
    .action(serve);
}

async function serve({ clusters, dataDir, port: wished, durability, signingDuration }: Flags): Promise<void> {
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
