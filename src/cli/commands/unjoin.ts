/** `capstan unjoin`: takes a spoke out of its fleet. */
import { Command } from "commander";
import { type TaskFlags, withTaskOptions, yes } from "../administration-options.ts";
import { clusterName } from "../options.ts";

export interface UnjoinFlags extends TaskFlags {
  readonly clusterName: string;
  readonly purgeOperator: boolean;
  readonly force?: boolean;
  readonly outputFile?: string;
}

export function unjoinCommand(): Command {
  return withTaskOptions(new Command("unjoin"))
    .description("remove from a spoke all that joining put there, and wait until it is gone")
    .requiredOption("--cluster-name <name>", "what the cluster is called on the hub", clusterName)
    .addOption(yes("--purge-operator", "with its last Klusterlet remove the operator too"))
    .option("--force", "also where works of the hub are applied, and where the operator does not run")
    .option("--output-file <file>", "write what was deleted to a file too")
    .action(async (flags: UnjoinFlags) => (await import("../actions/unjoin.ts")).runUnjoin(flags));
}
