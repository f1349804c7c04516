/** `capstan get …`: what the hub knows, for people and for programs. */
import { Command, Option } from "commander";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";

type Output = "table" | "tree" | "json" | "yaml";

export interface ClustersFlags extends TargetFlags {
  readonly output: Output;
  readonly clusterset?: string;
}

export function getCommand(): Command {
  return new Command("get").description("show what the hub knows").addCommand(clustersCommand());
}

function clustersCommand(): Command {
  return withTargetOptions(new Command("clusters"))
    .alias("cluster")
    .description("show the clusters of the fleet")
    .option("--clusterset <name>", "only those of this set")
    .addOption(
      new Option("-o, --output <form>", "how to show them").choices(["table", "tree", "json", "yaml"]).default("table"),
    )
    .action(async (flags: ClustersFlags) => (await import("../actions/get-clusters.ts")).showClusters(flags));
}
