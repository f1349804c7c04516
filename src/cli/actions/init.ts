/** Makes a cluster a hub for `capstan init`. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import {
  ClusterManagerGates,
  type HubToken,
  type HubWish,
  hubToken,
  imageOf,
  installHub,
  joinCommand,
  parseGates,
  reasonOf,
  resourceRequirement,
  UsageError,
  UserError,
  untilHubWorks,
} from "#app";
import type { Connection } from "#kube";
import type { InstallationFlags } from "../administration-options.ts";
import type { InitFlags } from "../commands/init.ts";
import { print, say } from "../terminal.ts";
import { version } from "../version.ts";
import { administer, manifestText, sayDone, showPlan, targetWords, writePrivately } from "./administration.ts";

export async function runInit(flags: InitFlags, handedOn: readonly [flag: string, value: string][]): Promise<void> {
  const wish = await wishOf(flags, handedOn);
  await administer(flags, async (task, connection) => {
    const { changes, objects } = await installHub(task, { ...wish, connection: publicly(connection) });
    if (flags.outputFile !== undefined) await writePrivately(flags.outputFile, manifestText(objects));
    if (task.dryRun) return showPlan(changes, flags.output);
    sayDone(`${connection.server} has what makes it a hub`, changes);
    if (flags.wait) {
      await untilHubWorks(task);
      sayDone("the hub works");
    }
    await show(await hubToken(task.client, wish.useBootstrapToken), connection.server, flags);
  });
}

/** What strangers may know of how we reach a server. */
function publicly({ server, ca }: Connection): Pick<Connection, "server" | "ca"> {
  return { server, ...(ca !== undefined && { ca }) };
}

async function wishOf(
  flags: InitFlags,
  handedOn: readonly [flag: string, value: string][],
): Promise<Omit<HubWish, "connection">> {
  const gates = flags.featureGates === undefined ? undefined : parseGates(flags.featureGates, ClusterManagerGates);
  const users = [...(flags.autoApprovedCsrIdentities ?? []), ...(flags.clusterAutoApprovalUsers ?? [])];
  const identities = users.length > 0 ? [...new Set(users)] : undefined;
  const isApproving = gates?.some(({ feature, mode }) => feature === "ManagedClusterAutoApproval" && mode === "Enable");
  if (identities && !isApproving) {
    throw new UsageError("--auto-approved-csr-identities needs --feature-gates ManagedClusterAutoApproval=true");
  }
  const resources = resourceRequirement(flags);
  const hubArguments = handedOn.map(([flag, value]) => `${flag}=${isFile(flag) ? resolve(value) : value}`);
  return {
    image: imageOf(flags, version()),
    useBootstrapToken: flags.useBootstrapToken ?? false,
    ...(gates && { featureGates: gates }),
    ...(identities && { autoApprovedIdentities: identities }),
    ...(resources && { resources }),
    ...(hubArguments.length > 0 && { hubArguments }),
    ...(await pullCredential(flags)),
    createNamespace: flags.createNamespace,
    syncLabels: flags.enableSyncLabels ?? false,
    force: flags.force ?? false,
  };
}

function isFile(flag: string): boolean {
  return ["--clusterprofile-provider-file", "--knative-manifests", "--knative-cache"].includes(flag);
}

export async function pullCredential(flags: InstallationFlags): Promise<{ imagePullCredential?: string }> {
  const { imagePullCredentialFile: file } = flags;
  if (file === undefined) return {};
  const text = await readText(file, "--image-pull-credential-file");
  try {
    JSON.parse(text);
  } catch {
    throw new UserError(`${file} is no Docker configuration: it is not JSON; correct --image-pull-credential-file`);
  }
  return { imagePullCredential: text };
}

export async function readText(file: string, flag: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UserError(`cannot read ${file}: ${reasonOf(error)}; correct ${flag}`);
  }
}

async function show({ token, expires }: HubToken, server: string, flags: InitFlags): Promise<void> {
  const command = joinCommand(token, server, flags.wait ?? false);
  if (flags.outputJoinCommandFile !== undefined) await writePrivately(flags.outputJoinCommandFile, `${command}\n`);
  if (flags.output === "json") {
    print(JSON.stringify({ "hub-token": token, "hub-apiserver": server }, undefined, 2));
    return;
  }
  say("The hub control plane is initialised. A cluster joins it when you run there:\n");
  print(`    ${command}\n`);
  const until = expires ? ` The token is good until ${expires.toISOString()}; ` : " ";
  say(
    `Put the cluster's name in place of <cluster_name>.${until}\`capstan get token${flags.useBootstrapToken ? " --use-bootstrap-token" : ""}${targetWords(flags)}\` shows the command again.`,
  );
}
