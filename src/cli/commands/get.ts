/** `capstan get …`: what the hub knows, for people and for programs. */
import { Command, Option } from "commander";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";

type Output = "table" | "tree" | "json" | "yaml";

export interface ClustersFlags extends TargetFlags {
  readonly output: Output;
  readonly clusterset?: string;
}

export interface KnativeFlags extends TargetFlags {
  readonly output: Exclude<Output, "tree">;
  readonly namespace?: string;
}

export function getCommand(): Command {
  return new Command("get")
    .description("show what the hub knows")
    .addCommand(clustersCommand())
    .addCommand(knativeCommand());
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

function knativeCommand(): Command {
  return withTargetOptions(new Command("knative"))
    .description("show Knative on all clusters of the fleet")
    .option("-n, --namespace <name>", "only what is in this namespace of the hub")
    .addOption(new Option("-o, --output <form>", "how to show it").choices(["table", "json", "yaml"]).default("table"))
    .action(async (flags: KnativeFlags) => (await import("../actions/get-knative.ts")).showKnative(flags));
}
