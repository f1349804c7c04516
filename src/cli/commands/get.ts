/** `capstan get …`: what the hub knows, for people and for programs. */
import { Command, Option } from "commander";
import { type TaskFlags, withTaskOptions } from "../administration-options.ts";
import { type TargetFlags, withTargetOptions } from "../target-options.ts";
import { getWorksCommand } from "./works.ts";

type Output = "table" | "tree" | "json" | "yaml";

export interface ClustersFlags extends TargetFlags {
  readonly output: Output;
  readonly clusterset?: string;
}

export interface KnativeFlags extends TargetFlags {
  readonly output: Exclude<Output, "tree">;
  readonly namespace?: string;
}

export interface ClusterSetsFlags extends TargetFlags {
  readonly output: Output;
}

export interface InfoFlags extends TargetFlags {
  readonly output: "text" | "json" | "yaml";
}

export interface TokenFlags extends TaskFlags {
  readonly useBootstrapToken?: boolean;
  readonly output: "text" | "json";
  readonly outputFile?: string;
}

export function getCommand(): Command {
  return new Command("get")
    .description("show what the hub knows")
    .addCommand(clustersCommand())
    .addCommand(clusterSetsCommand())
    .addCommand(getWorksCommand())
    .addCommand(tokenCommand())
    .addCommand(infoCommand("hub-info", "show what is installed on a hub, and how it fares"))
    .addCommand(infoCommand("klusterlet-info", "show what is installed on a spoke, and how it fares"))
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

function clusterSetsCommand(): Command {
  return withTargetOptions(new Command("clustersets"))
    .alias("clusterset")
    .description("show the sets of clusters, and who may use them")
    .addOption(
      new Option("-o, --output <form>", "how to show them").choices(["table", "tree", "json", "yaml"]).default("table"),
    )
    .action(async (flags: ClusterSetsFlags) => (await import("../actions/get-info.ts")).showClusterSets(flags));
}

function tokenCommand(): Command {
  return withTaskOptions(new Command("token"))
    .description("give out a token with which clusters can ask to join, and the command that uses it")
    .option("--use-bootstrap-token", "the bootstrap token, which does not end, in place of a service account's")
    .option("--output-file <file>", "write it to a file too")
    .addOption(new Option("-o, --output <form>", "how to show it").choices(["text", "json"]).default("text"))
    .action(async (flags: TokenFlags) => (await import("../actions/token.ts")).runGetToken(flags));
}

function infoCommand(name: "hub-info" | "klusterlet-info", description: string): Command {
  return withTargetOptions(new Command(name))
    .description(description)
    .addOption(new Option("-o, --output <form>", "how to show it").choices(["text", "json", "yaml"]).default("text"))
    .action(async (flags: InfoFlags) => (await import("../actions/get-info.ts")).showInfo(name, flags));
}

function knativeCommand(): Command {
  return withTargetOptions(new Command("knative"))
    .description("show Knative on all clusters of the fleet")
    .option("-n, --namespace <name>", "only what is in this namespace of the hub")
    .addOption(new Option("-o, --output <form>", "how to show it").choices(["table", "json", "yaml"]).default("table"))
    .action(async (flags: KnativeFlags) => (await import("../actions/get-knative.ts")).showKnative(flags));
}
