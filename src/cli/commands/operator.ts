/** `capstan operator …`: what `init` and `join` leave on a cluster, to make the rest so and keep it so. */
import { Command } from "commander";
import type { ProgramContext } from "#app";
import { type Address, address } from "../options.ts";
import { version } from "../version.ts";

export interface OperatorFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly image: string;
  readonly metricsAddress?: Address;
  readonly leaderElect?: boolean;
  readonly leaderElectNamespace: string;
  readonly enableSyncLabels?: boolean;
}

export function operatorCommand(context?: ProgramContext): Command {
  return new Command("operator")
    .description(
      "run the operator that keeps a hub, or the agents of a spoke, as its ClusterManager or Klusterlet says",
    )
    .addCommand(
      one("cluster-manager", "of a hub: keeps what ClusterManagers ask for").action(async (flags: OperatorFlags) =>
        (await import("../actions/operator.ts")).runClusterManagerOperator(flags, context),
      ),
    )
    .addCommand(
      one("klusterlet", "of a spoke: keeps what Klusterlets ask for").action(async (flags: OperatorFlags) =>
        (await import("../actions/operator.ts")).runKlusterletOperator(flags, context),
      ),
    );
}

function one(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option("--kubeconfig <file>", "the cluster, and who the operator is there; in a Pod its service account")
    .option("--context <name>", "a context of the kubeconfig other than the current one")
    .option("--image <image>", "Capstan's own image, where an object names none", `capstan:${version()}`)
    .option("--leader-elect", "work only while no other operator does")
    .option("--leader-elect-namespace <name>", "where the Lease of the election is", "open-cluster-management")
    .option("--enable-sync-labels", "copy the labels of the object onto all that is made for it")
    .option(
      "--metrics-address <address>",
      "show health and metrics at HOST:PORT, :PORT for everybody, or PORT",
      address,
    );
}
