/** `capstan plugin NAME`: credential plugins for any Kubernetes client that speaks the exec protocol. */
import { Command } from "commander";

export interface PluginFlags {
  readonly managedServiceaccount?: string;
}

export function pluginCommand(): Command {
  const command = new Command("plugin").description(
    "give a credential to a Kubernetes client: reads KUBERNETES_EXEC_INFO, prints an ExecCredential",
  );
  for (const inner of [
    plugin("secretreader", "the token in the Secret that is called after the cluster"),
    plugin("kubeconfig-secretreader", "the user of a kubeconfig that lies in a Secret"),
    plugin("token-secretreader", "the token under a key of a Secret, both named by the cluster's entry"),
    plugin("cp-creds", "the token of a ManagedServiceAccount").option(
      "--managed-serviceaccount <name>",
      "the ManagedServiceAccount to act as (required)",
    ),
  ]) {
    command.addCommand(inner);
  }
  return command;
}

function plugin(
  name: "secretreader" | "kubeconfig-secretreader" | "token-secretreader" | "cp-creds",
  what: string,
): Command {
  return new Command(name)
    .description(what)
    .action(async (flags: PluginFlags) => (await import("../actions/plugin.ts")).runCredentialPlugin(name, flags));
}
