/** The flags of a hub, for every command that runs one. */
import { homedir } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Address, address, duration, words } from "./options.ts";

/** Where releases of Knative come from. */
export interface ReleaseFlags {
  readonly knativeManifests?: string;
  readonly knativeCache: string;
  readonly knativeMirror?: string;
  readonly manifestAllowHosts?: readonly string[];
  readonly knativeDemonstration?: boolean;
}

export interface HubFlags extends ReleaseFlags {
  readonly controllers?: readonly string[];
  readonly featureGates?: string;
  readonly clusterAutoApprovalUsers?: readonly string[];
  readonly gcResourceList?: readonly string[];
  readonly detachPatience?: number;
  readonly leaderElect?: boolean;
  readonly leaderElectNamespace: string;
  readonly leaderElectName: string;
  readonly metricsAddress?: Address;
  readonly clusterprofileProviderFile?: string;
  readonly remoteDeploymentsPollInterval?: number;
  readonly knativeRemovalPatience?: number;
}

export function withHubOptions(command: Command): Command {
  command
    .option("--controllers <names>", "which controllers run: a,b for these, '*,-c' for all others (default: *)", words)
    .option("--feature-gates <gates>", "features to turn on or off: ClusterProfile=true,…")
    .option("--cluster-auto-approval-users <users>", "let in without a person whom these users register", words)
    .option(
      "--gc-resource-list <kinds>",
      "what is removed when a cluster goes, group/version/resource in this order (default: add-ons, then works)",
      words,
    )
    .option(
      "--detach-patience <time>",
      "how long a cluster that is known to be lost holds its own removal up (default: 1m)",
      duration,
    )
    .option("--leader-elect", "work only while no other hub does")
    .option("--leader-elect-namespace <name>", "where the Lease of the election is", "kube-system")
    .option("--leader-elect-name <name>", "the Lease of the election", "capstan-hub")
    .option(
      "--metrics-address <address>",
      "show health and metrics at HOST:PORT, :PORT for everybody, or PORT",
      address,
    )
    .option(
      "--clusterprofile-provider-file <file>",
      "the access providers that lead into the clusters of the inventory",
    )
    .option(
      "--remote-deployments-poll-interval <time>",
      "how often Knative that does not work yet is looked at; below 1s means 10s (default: 10s)",
      duration,
    )
    .option(
      "--knative-removal-patience <time>",
      "how long a lost cluster holds up the removal of its Knative (default: 5m)",
      duration,
    );
  return withReleaseOptions(command);
}

export function withReleaseOptions(command: Command): Command {
  return command
    .option("--knative-manifests <dir>", "releases of Knative in a folder, in place of all others")
    .addOption(
      new Option("--knative-cache <dir>", "where official releases and manifests by URL are kept").default(
        join(homedir(), ".capstan", "knative-releases"),
        "~/.capstan/knative-releases",
      ),
    )
    .addOption(
      new Option("--knative-demonstration [offer]", "offer the demonstration release where there is no other")
        .argParser((text) => text !== "false")
        .hideHelp(),
    )
    .option("--knative-mirror <url>", "a mirror of https://github.com for the official releases", mirror)
    .option(
      "--manifest-allow-hosts <hosts>",
      "hosts that manifests may come from though they are near or do not encrypt",
      words,
    );
}

function mirror(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new InvalidArgumentError("It must be a URL like https://host.");
  return text.replace(/\/+$/, "");
}
