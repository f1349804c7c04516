/** `capstan agent`: what a spoke does to belong to a hub, as one program or as its two halves. */
import { Command, InvalidArgumentError } from "commander";
import type { ProgramContext } from "#app";
import { type Address, address, clusterName, count, duration, words } from "../options.ts";

interface HalfFlags {
  readonly spokeKubeconfig?: string;
  readonly clusterName?: string;
  readonly agentId?: string;
  readonly namespace?: string;
  readonly hosted?: boolean;
  readonly leaderElect?: boolean;
  /** Milliseconds. */
  readonly appliedmanifestworkEvictionGracePeriod?: number;
  readonly metricsAddress?: Address;
  readonly featureGates?: string;
}

export interface RegistrationFlags extends HalfFlags {
  readonly bootstrapKubeconfig: string;
  readonly spokeNamespace?: string;
  readonly spokeExternalServerUrls?: readonly string[];
  readonly clientCertExpirationSeconds?: number;
  readonly clusterAnnotations?: Readonly<Record<string, string>>;
  readonly grantAccess?: string;
  readonly maxCustomClusterClaims?: number;
  readonly reservedClusterClaimSuffixes?: readonly string[];
}

export interface WorkFlags extends HalfFlags {
  readonly hubKubeconfig: string;
}

/** `context` is that of a program inside this process; without one the program is this process. */
export function agentCommand(context?: ProgramContext): Command {
  const registration = new Command("registration").description(
    "only join the hub, stay joined, and tell how the cluster is",
  );
  const work = new Command("work").description("only do on the spoke what the hub wishes");
  const both = new Command("agent").description(
    "run the agent of a spoke: registration and work, against any two API servers",
  );
  return withWorkOptions(withRegistrationOptions(both))
    .action(async (_, self: Command) =>
      (await import("../actions/agent.ts")).runAgentProgram(withBootstrap(self), context),
    )
    .addCommand(
      withRegistrationOptions(registration).action(async (_, self: Command) =>
        (await import("../actions/agent.ts")).runRegistrationProgram(withBootstrap(self), context),
      ),
    )
    .addCommand(
      withWorkOptions(withHalfOptions(work))
        .requiredOption("--hub-kubeconfig <file>", "the hub, as the agent's identity; waited for, and followed")
        .action(async (_, self: Command) =>
          (await import("../actions/agent.ts")).runWorkProgram(self.optsWithGlobals<WorkFlags>(), context),
        ),
    );
}

/**
 * What stands behind the name of a half may be read as the whole agent's, which has the same options; so both are looked
 * at, and none can be demanded of the whole without being demanded of its halves twice.
 */
function withBootstrap(command: Command): RegistrationFlags {
  const { bootstrapKubeconfig, ...flags } = command.optsWithGlobals<Partial<RegistrationFlags>>();
  if (bootstrapKubeconfig !== undefined) return { ...flags, bootstrapKubeconfig };
  return command.error("error: required option '--bootstrap-kubeconfig <file>' not specified", { exitCode: 2 });
}

function withHalfOptions(command: Command): Command {
  return command
    .option("--spoke-kubeconfig <file>", "the spoke, and who the agent is there; in a Pod its service account")
    .option(
      "--cluster-name <name>",
      "what the hub calls the cluster (default: as before, or a new one)",
      anyClusterName,
    )
    .option("--agent-id <id>", "tells this agent from others of the same spoke")
    .option("--namespace <name>", "where the agent is at home (default: the Pod's, or open-cluster-management-agent)")
    .option("--hosted", "the agent's home is the cluster that this Pod runs in, and not the spoke")
    .option("--leader-elect", "work only while no other agent of the same home does")
    .option("--feature-gates <gates>", "features to turn on or off: NAME=true,…")
    .option(
      "--metrics-address <address>",
      "show health and metrics at HOST:PORT, :PORT for everybody, or PORT",
      address,
    );
}

function withWorkOptions(command: Command): Command {
  return command.option(
    "--appliedmanifestwork-eviction-grace-period <duration>",
    "what was applied for a work goes when the hub has lacked the work for so long (default: 1h)",
    duration,
  );
}

function withRegistrationOptions(command: Command): Command {
  return withHalfOptions(command)
    .option("--bootstrap-kubeconfig <file>", "the hub, as somebody who may ask to join; followed")
    .option("--spoke-namespace <name>", "where on the spoke access is granted from (default: --namespace)")
    .option("--spoke-external-server-urls <urls>", "where others reach the spoke: https://…,https://…", serverUrls)
    .option(
      "--client-cert-expiration-seconds <n>",
      "how long a certificate is asked for; 0 for the hub's choice",
      seconds,
    )
    .option("--cluster-annotations <pairs>", "for the ManagedCluster when it is created: key=value,…", pairs)
    .option("--grant-access <clusterrole>", "keep a token on the hub that has this ClusterRole on the spoke")
    .option(
      "--max-custom-cluster-claims <n>",
      "so many claims are told beside the reserved ones (default: 20)",
      count(0),
    )
    .option("--reserved-cluster-claim-suffixes <suffixes>", "claims whose names end so are always told", words);
}

/** An empty name is as good as none: it is what a Klusterlet without one says. */
function anyClusterName(text: string): string {
  return text === "" ? text : clusterName(text);
}

function serverUrls(text: string): string[] {
  const urls = words(text);
  const wrong = urls.find((url) => !URL.canParse(url) || !url.startsWith("https://"));
  if (wrong !== undefined) throw new InvalidArgumentError(`${JSON.stringify(wrong)} must be a URL like https://host.`);
  return urls;
}

/** Signers refuse anything shorter than ten minutes, and an agent that asks every few minutes is of no use. */
const SHORTEST = 3600;

function seconds(text: string): number {
  const value = count(0)(text);
  if (value !== 0 && value < SHORTEST) throw new InvalidArgumentError(`It must be 0, or at least ${SHORTEST}.`);
  return value;
}

/** `a=1,b=2` */
function pairs(text: string): Record<string, string> {
  return Object.fromEntries(
    words(text).map((word) => {
      const at = word.indexOf("=");
      if (at < 1) throw new InvalidArgumentError(`${JSON.stringify(word)} must be key=value.`);
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}
