/** `capstan clean`: takes the hub away from a cluster. */
import { Command } from "commander";
import { type TaskFlags, withTaskOptions, yes } from "../administration-options.ts";

export interface CleanFlags extends TaskFlags {
  readonly name: string;
  readonly purgeOperator: boolean;
  readonly force?: boolean;
}

export function cleanCommand(): Command {
  return withTaskOptions(new Command("clean"))
    .description("remove from a cluster all that made it a hub, and wait until it is gone")
    .option("--name <name>", "the ClusterManager", "cluster-manager")
    .addOption(yes("--purge-operator", "with the last ClusterManager remove the operator too"))
    .option("--force", "also while clusters are joined, whose agents are then left behind")
    .action(async (flags: CleanFlags) => (await import("../actions/unjoin.ts")).runClean(flags));
}
