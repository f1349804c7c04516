/** `capstan rejoin`: restores the identity of a cluster that lost it. */
import { Command } from "commander";
import { type TaskFlags, withTaskOptions, yes } from "../administration-options.ts";
import { clusterName, httpsUrl } from "../options.ts";

export interface RejoinFlags extends TaskFlags {
  readonly clusterName?: string;
  readonly hubContext?: string;
  readonly hubKubeconfig?: string;
  readonly hubApiserver?: string;
  readonly caFile?: string;
  readonly bootstrapKubeconfig?: string;
  readonly wait: boolean;
}

export function rejoinCommand(): Command {
  return withTaskOptions(new Command("rejoin"))
    .description("restore the identity of a cluster, after its certificate has ended or the hub has another authority")
    .option("--cluster-name <name>", "what the cluster is called on the hub (default: the only one there)", clusterName)
    .option("--hub-context <name>", "the context of the hub")
    .option("--hub-kubeconfig <file>", "the kubeconfig of the hub (default: that of the cluster)")
    .option("--hub-apiserver <url>", "the hub's API server, as the cluster reaches it (default: as before)", httpsUrl)
    .option("--ca-file <file>", "the hub's authority; asked of the hub itself unless told")
    .option("--bootstrap-kubeconfig <file>", "what its `capstan agent` reads, where no Klusterlet runs it")
    .addOption(yes("--wait", "approve what its agent asks for, and return when the cluster is available"))
    .action(async (flags: RejoinFlags, command: Command) => {
      if (flags.hubContext === undefined && flags.hubKubeconfig === undefined) {
        command.error("error: name the hub with --hub-context or --hub-kubeconfig", { exitCode: 2 });
      }
      await (await import("../actions/rejoin.ts")).runRejoin(flags);
    });
}
