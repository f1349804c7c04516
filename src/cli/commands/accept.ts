/** `capstan accept`: lets clusters in. */
import { Command } from "commander";
import { type TaskFlags, withTaskOptions } from "../administration-options.ts";
import { clusterNames, words } from "../options.ts";

export interface AcceptFlags extends TaskFlags {
  readonly clusters?: readonly string[];
  readonly cluster?: readonly string[];
  readonly wait?: boolean;
  readonly skipApproveCheck?: boolean;
  readonly requesters?: readonly string[];
}

export function acceptCommand(): Command {
  return withTaskOptions(new Command("accept"))
    .description("let clusters in that have asked to join the hub")
    .option("--clusters <names>", "the clusters, separated by commas", clusterNames)
    .option("-c, --cluster <names>", "the same", clusterNames)
    .option("--wait", "wait for clusters that have not asked yet; exit 3 if they do not in time")
    .option("--skip-approve-check", "approve what their agents ask for, whoever it came from")
    .option("--requesters <users>", "users who may ask for them, beside those whom the hub gives tokens to", words)
    .action(async (flags: AcceptFlags, command: Command) => {
      const clusters = [...new Set([...(flags.clusters ?? []), ...(flags.cluster ?? [])])];
      if (clusters.length === 0) {
        command.error("error: required option '--clusters <names>' not specified", { exitCode: 2 });
      }
      await (await import("../actions/accept.ts")).runAccept(clusters, flags);
    });
}
