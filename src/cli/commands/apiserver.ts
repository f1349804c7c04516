/** `capstan apiserver`: embedded clusters without a fleet around them, and the clusters of any folder. */
import { Argument, Command, Option } from "commander";
import { clusterName, clusterNames, count, duration, port } from "../options.ts";

export interface ApiServerFlags {
  readonly clusters: string[];
  readonly dataDir: string;
  readonly port?: number;
  readonly durability: "sync" | "os" | "memory";
  readonly signingDuration: number;
  readonly sharedPort?: boolean;
  readonly nodes: number;
  /** False for `--no-node`. */
  readonly node: boolean;
}

export interface ClusterFlags {
  readonly dataDir: string;
  /** The first port to try for a new cluster. */
  readonly port?: number;
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
    .option("--shared-port", "one port for all clusters: each is served under /clusters/NAME")
    .option("--nodes <n>", "how many nodes each cluster has, which run its Pods or simulate them", count(1), 1)
    .option("--no-node", "clusters without nodes: Pods wait for somebody to take them")
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
  const command = new Command(change)
    .description(description)
    .addArgument(new Argument("<name>", "the cluster").argParser(clusterName))
    .option("--data-dir <dir>", "the folder of the servers, or of a fleet");
  if (change === "add") command.option("--port <n>", "the first port to try for it (default: 16443)", port);
  return command.action(async (name: string, _: unknown, self: Command) => {
    const { dataDir, port } = self.optsWithGlobals<Partial<ClusterFlags>>();
    if (!dataDir) return self.error("error: required option '--data-dir <dir>' not specified", { exitCode: 2 });
    const { runAdd, runRemove } = await import("../actions/apiserver.ts");
    const flags = { dataDir, ...(port !== undefined && { port }) };
    await (change === "add" ? runAdd(name, flags) : runRemove(name, flags));
  });
}
