/** Runs a credential plugin for `capstan plugin`: the credential on stdout, complaints on stderr as upstream's. */
import { homedir } from "node:os";
import { PluginError, type PluginName, runPlugin } from "#kube";
import type { PluginFlags } from "../commands/plugin.ts";
import { print, say } from "../terminal.ts";

/** The name in front of complaints: that of the provider which profiles carry. */
const PROVIDER_NAMES: Record<PluginName, string> = {
  secretreader: "secretreader",
  "kubeconfig-secretreader": "kubeconfig-secretreader",
  "token-secretreader": "token-secretreader",
  "cp-creds": "open-cluster-management",
};

export async function runCredentialPlugin(plugin: PluginName, flags: PluginFlags): Promise<void> {
  const { managedServiceaccount: account } = flags;
  if (plugin === "cp-creds" && !account) return fail("Error: --managed-serviceaccount flag is required");
  try {
    const surroundings = { env: process.env, home: homedir() };
    print(await runPlugin({ plugin, ...surroundings, ...(account && { managedServiceAccount: account }) }));
  } catch (error) {
    if (!(error instanceof PluginError)) throw error;
    fail(`[${PROVIDER_NAMES[plugin]}] ${error.message}`);
  }
}

function fail(line: string): void {
  say(line);
  process.exitCode = 1;
}
