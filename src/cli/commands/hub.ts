/** `capstan hub`: the hub's controllers against any API server. */
import { Command } from "commander";
import type { ProgramContext } from "#app";
import { type HubFlags, withHubOptions } from "../hub-options.ts";

export interface HubCommandFlags extends HubFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

/** `context` is that of a program inside this process; without one the program is this process. */
export function hubCommand(context?: ProgramContext): Command {
  const command = new Command("hub")
    .description("run a hub: registration, inventory and Knative, against any API server that has their kinds")
    .option("--kubeconfig <file>", "the API server, and who the hub is there; in a Pod its service account")
    .option("--context <name>", "a context of the kubeconfig other than the current one");
  return withHubOptions(command).action(async (flags: HubCommandFlags) =>
    (await import("../actions/hub.ts")).runHubProgram(flags, context),
  );
}
