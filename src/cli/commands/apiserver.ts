/** `capstan apiserver`: embedded clusters without a fleet around them, and the clusters of any folder. */
import { Argument, Command, Option } from "commander";
import { clusterName, clusterNames, duration, port } from "../options.ts";

export interface ApiServerFlags {
  readonly clusters: string[];
  readonly dataDir: string;
  readonly port?: number;
  readonly durability: "sync" | "os" | "memory";
  readonly signingDuration: number;
}

export interface ClusterFlags {
  readonly dataDir: string;
}

const A_YEAR_MS = 365 * 24 * 3_600_000;

export function apiserverCommand(): Command {
  return new Command("apiserver")
    .description("run embedded Kubernetes API servers, one for each cluster")
    .option("--clusters <names>", "the clusters, separated by commas, beside those that the folder has", clusterNames)
    .option("--data-dir <dir>", "where state, keys and kubeconfigs are kept")
    .option("--port <n>", "the first port to try for a new cluster (default: 16443)", port)
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
    .addCommand(changeCommand("add", "add a cluster, while the servers run or not"))
    .addCommand(changeCommand("remove", "stop a cluster and remove all that it kept, without asking"))
    .action(async (flags: Partial<ApiServerFlags>, command: Command) => {
      // These belong to the servers alone; as required options they would be demanded of add and remove too.
      const { clusters, dataDir } = flags;
      if (!dataDir) command.error("error: required option '--data-dir <dir>' not specified", { exitCode: 2 });
      if (!clusters) command.error("error: required option '--clusters <names>' not specified", { exitCode: 2 });
      await (await import("../actions/apiserver.ts")).runApiServer(flags as ApiServerFlags);
    });
}

function changeCommand(change: "add" | "remove", description: string): Command {
  return new Command(change)
    .description(description)
    .addArgument(new Argument("<name>", "the cluster").argParser(clusterName))
    .option("--data-dir <dir>", "the folder of the servers, or of a fleet")
    .action(async (name: string, _: unknown, command: Command) => {
      const { dataDir } = command.optsWithGlobals<Partial<ClusterFlags>>();
      if (!dataDir) return command.error("error: required option '--data-dir <dir>' not specified", { exitCode: 2 });
      const { runAdd, runRemove } = await import("../actions/apiserver.ts");
      await (change === "add" ? runAdd(name, { dataDir }) : runRemove(name, { dataDir }));
    });
}
