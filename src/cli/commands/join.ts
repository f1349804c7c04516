/** `capstan join`: lets a cluster ask a hub to be let in. */
import { Command, InvalidArgumentError, Option } from "commander";
import {
  type InstallationFlags,
  onlyCsr,
  type TaskFlags,
  withInstallationOptions,
  withRefusedDrivers,
  withTaskOptions,
} from "../administration-options.ts";
import { clusterName, httpsUrl } from "../options.ts";

export interface JoinFlags extends TaskFlags, InstallationFlags {
  readonly hubToken: string;
  readonly hubApiserver: string;
  readonly clusterName: string;
  readonly caFile?: string;
  readonly wait?: boolean;
  readonly mode: "default" | "hosted";
  readonly managedClusterKubeconfig?: string;
  readonly singleton?: boolean;
  readonly forceInternalEndpointLookup?: boolean;
  readonly forceInternalEndpointLookupManaged?: boolean;
  readonly proxyUrl?: string;
  readonly proxyCaFile?: string;
  readonly clientCertExpirationSeconds: number;
  readonly klusterletAnnotation: readonly string[];
  readonly grantAccess?: string;
}

const A_YEAR_SECONDS = 365 * 24 * 3600;

export function joinCommand(): Command {
  const command = withInstallationOptions(
    withTaskOptions(new Command("join")).description("let a cluster ask a hub to be let in"),
    "features to turn on or off: ClusterProperty=true,…",
  )
    .requiredOption("--hub-token <token>", "what `capstan get token` gives on the hub", given("token"))
    .requiredOption("--hub-apiserver <url>", "the hub's API server, as the cluster reaches it", httpsUrl)
    .requiredOption("--cluster-name <name>", "what the cluster is to be called on the hub", clusterName)
    .option("--ca-file <file>", "the hub's authority; asked of the hub itself unless told")
    .option("--wait", "return when the hub has heard of the cluster; exit 3 if it does not in time")
    .addOption(
      new Option("-m, --mode <mode>", "where the agents run: on the cluster, or here for another one")
        .choices(["default", "hosted"])
        .default("default"),
    )
    .option("--managed-cluster-kubeconfig <file>", "in hosted mode: the cluster that joins")
    .option("--singleton", "both agents as one program")
    .option("--force-internal-endpoint-lookup", "reach the hub as it says itself, in its cluster-info")
    .option(
      "--force-internal-endpoint-lookup-managed",
      "tell the hub how this cluster calls itself, in its cluster-info",
    )
    .option("--proxy-url <url>", "an HTTP proxy on the way to the hub", proxyUrl)
    .option("--proxy-ca-file <file>", "the proxy's authority")
    .option(
      "--client-cert-expiration-seconds <seconds>",
      "how long the agent's certificates are to live; 0 leaves it to the hub",
      certificateSeconds,
      A_YEAR_SECONDS,
    )
    .option("--klusterlet-annotation <key=value>", "told to the hub as an annotation; may be given again", gathered, [])
    .option(
      "--grant-access <clusterrole>",
      "put a token with this ClusterRole on the hub, for the inventory's consumers",
    )
    .option("--registration-auth <driver>", "how the cluster registers: csr", onlyCsr);
  withRefusedDrivers(command, ["--grpc-server", "--grpc-ca-file", "--hub-cluster-arn", "--managed-cluster-arn"]);
  return command.action(async (flags: JoinFlags, self: Command) => {
    refuseContradictions(flags, self);
    await (await import("../actions/join.ts")).runJoin(flags);
  });
}

function refuseContradictions(flags: JoinFlags, command: Command): void {
  const refuse = (problem: string) => command.error(`error: ${problem}`, { exitCode: 2 });
  if (flags.mode === "hosted" && flags.managedClusterKubeconfig === undefined) {
    refuse("--mode hosted needs --managed-cluster-kubeconfig: the cluster that joins");
  }
  if (flags.mode !== "hosted" && flags.managedClusterKubeconfig !== undefined) {
    refuse("--managed-cluster-kubeconfig needs --mode hosted");
  }
  if (flags.mode === "hosted" && flags.singleton) {
    refuse("--singleton and --mode hosted do not go together; leave one of them out");
  }
  if (flags.proxyCaFile !== undefined && flags.proxyUrl === undefined) refuse("--proxy-ca-file needs --proxy-url");
}

function given(what: string): (text: string) => string {
  return (text) => {
    if (text.trim() === "" || /[<>\s]/.test(text)) throw new InvalidArgumentError(`It must be a ${what}.`);
    return text;
  };
}

/** It may hold a password, so it is not repeated. */
function proxyUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new InvalidArgumentError("It must be a URL like http://host:3128.");
  }
  return text;
}

/** A shorter life than an hour is refused by every signer. */
function certificateSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 0 || (seconds > 0 && seconds < 3600) || seconds > 2 ** 31 - 1) {
    throw new InvalidArgumentError("It must be 0, or at least 3600.");
  }
  return seconds;
}

function gathered(word: string, before: readonly string[]): readonly string[] {
  return [...before, word];
}
