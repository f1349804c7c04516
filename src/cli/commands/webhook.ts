/** `capstan webhook …`: the programs that API servers ask before something is written on a hub, or in which version it is. */
import { Command } from "commander";
import type { ProgramContext } from "#app";
import { type Address, address, count } from "../options.ts";

export interface WebhookFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly webhookAddress: Address;
  readonly certificateDir: string;
  readonly service?: string;
  readonly featureGates?: string;
  readonly manifestLimit?: number;
  readonly healthAddress?: Address;
  readonly metricsAddress?: Address;
}

type Program = "registration" | "work" | "addon";

/** `context` is that of a program inside this process; without one the program is this process. */
export function webhookCommand(context?: ProgramContext): Command {
  const run = (program: Program) => async (flags: WebhookFlags) =>
    (await import("../actions/webhook.ts")).runWebhookProgram(program, flags, context);
  return new Command("webhook")
    .description("answer the questions of API servers about the kinds of a hub")
    .addCommand(
      one("registration", "whether clusters and bindings of sets may be as somebody wishes them")
        .option("--feature-gates <gates>", "features to turn on or off: DefaultClusterSet=false")
        .action(run("registration")),
    )
    .addCommand(
      one("work", "whether works may be as somebody wishes them")
        .option("--feature-gates <gates>", "features to turn on or off: NilExecutorValidating=true")
        .option(
          "--manifest-limit <bytes>",
          "so much may all manifests of a work have together (default: 512000)",
          count(1),
        )
        .action(run("work")),
    )
    .addCommand(one("addon", "what add-ons look like in another version").action(run("addon")));
}

function one(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option("--kubeconfig <file>", "the hub, and who the webhook is there; in a Pod its service account")
    .option("--context <name>", "a context of the kubeconfig other than the current one")
    .requiredOption("--certificate-dir <dir>", "where tls.crt and tls.key are; waited for, and followed")
    .option("--webhook-address <address>", "listen at HOST:PORT, :PORT for everybody, or PORT", address, { port: 9443 })
    .option("--service <namespace/name>", "the Service by which it is found; told of an address of this machine")
    .option("--health-address <address>", "show health at HOST:PORT, :PORT for everybody, or PORT", address)
    .option(
      "--metrics-address <address>",
      "show health and metrics at HOST:PORT, :PORT for everybody, or PORT",
      address,
    );
}
