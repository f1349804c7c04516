/** `capstan apiserver`: embedded clusters without a fleet around them. */
import { Command, Option } from "commander";
import { clusterNames, duration, port } from "../options.ts";

export interface ApiServerFlags {
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
    .action(async (flags: ApiServerFlags) => (await import("../actions/apiserver.ts")).runApiServer(flags));
}
