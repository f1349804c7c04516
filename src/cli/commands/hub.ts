/** `capstan hub`: the hub's controllers against any API server. */
import { Command, InvalidArgumentError } from "commander";
import type { ProgramContext } from "#app";
import { type HubFlags, withHubOptions } from "../hub-options.ts";
import { type Address, address } from "../options.ts";

export interface HubCommandFlags extends HubFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly webhooks: boolean;
  readonly webhookUrl?: string;
  readonly webhookAddress?: Address;
}

/** `context` is that of a program inside this process; without one the program is this process. */
export function hubCommand(context?: ProgramContext): Command {
  const command = new Command("hub")
    .description("run a hub: registration, inventory and Knative, against any API server that has their kinds")
    .option("--kubeconfig <file>", "the API server, and who the hub is there; in a Pod its service account")
    .option("--context <name>", "a context of the kubeconfig other than the current one")
    .option("--no-webhooks", "let others look at clusters, bindings and works before they are written, or nobody")
    .option(
      "--webhook-url <url>",
      "where an API server on another machine reaches this program: https://host:port",
      url,
    )
    .option("--webhook-address <address>", "where to listen for it: HOST:PORT, :PORT for everybody, or PORT", address);
  return withHubOptions(command).action(async (flags: HubCommandFlags) =>
    (await import("../actions/hub.ts")).runHubProgram(flags, context),
  );
}

function url(text: string): string {
  if (URL.canParse(text) && /^https:\/\/[^/?#@]+\/?$/.test(text)) return text.replace(/\/$/, "");
  throw new InvalidArgumentError("It must be a URL like https://host:port.");
}
