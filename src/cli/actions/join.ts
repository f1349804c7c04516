/** Lets a cluster ask a hub to be let in for `capstan join`. */
import {
  contactHub,
  type HubAddress,
  type HubContact,
  imageOf,
  isLoopback,
  type JoinMode,
  type JoinWish,
  joinCluster,
  KlusterletGates,
  parseAnnotations,
  parseGates,
  resourceRequirement,
  type Task,
  untilJoining,
} from "#app";
import { type Connection, connectionOf, createClient, createExecEngine, kubeconfigText, loadKubeconfig } from "#kube";
import type { JoinFlags } from "../commands/join.ts";
import { colours, say } from "../terminal.ts";
import { version } from "../version.ts";
import { administer, manifestText, sayDone, showPlan, writePrivately } from "./administration.ts";
import { pullCredential, readText } from "./init.ts";

type Settings = Omit<JoinWish, "contact" | "connection" | "managed" | "hub">;

export async function runJoin(flags: JoinFlags): Promise<void> {
  const settings = await settingsOf(flags);
  const hub = await addressOf(flags);
  const managed = await managedOf(flags);
  await administer(flags, async (task, connection) => {
    warnOfLoopback(hub, managed?.connection ?? connection, flags);
    const contact = await contactHub(hub, { internal: flags.forceInternalEndpointLookup ?? false });
    try {
      sayTrust(contact, hub.server);
      await join(task, { ...settings, hub, contact, connection, ...(managed && { managed }) }, flags);
    } finally {
      contact.client.close();
      managed?.client.close();
    }
  });
}

async function join(task: Task, wish: JoinWish, flags: JoinFlags): Promise<void> {
  const { changes, objects, klusterlet, remarks } = await joinCluster(task, wish);
  if (flags.outputFile !== undefined) await writePrivately(flags.outputFile, manifestText(objects));
  if (task.dryRun) return showPlan(changes);
  sayDone(`${task.client.server} has what makes it ${flags.clusterName}`, changes);
  for (const remark of remarks) say(remark);
  if (flags.wait) {
    await untilJoining(task, klusterlet, wish.contact.client, flags.clusterName);
    sayDone(`the hub has heard of ${flags.clusterName}`);
  }
  say(
    `Next, on the hub ${wish.hub.server}:\n\n    capstan accept --clusters ${flags.clusterName}\n\n(Where the hub approves by itself, that is done already.)`,
  );
}

async function settingsOf(flags: JoinFlags): Promise<Settings> {
  const resources = resourceRequirement(flags);
  const annotations = parseAnnotations(flags.klusterletAnnotation);
  const mode: JoinMode = flags.mode === "hosted" ? "hosted" : flags.singleton ? "singleton" : "default";
  return {
    clusterName: flags.clusterName,
    mode,
    image: imageOf(flags, version()),
    ...(flags.featureGates !== undefined && { featureGates: parseGates(flags.featureGates, KlusterletGates) }),
    ...(resources && { resources }),
    clientCertExpirationSeconds: flags.clientCertExpirationSeconds,
    ...(Object.keys(annotations).length > 0 && { annotations }),
    ...(flags.grantAccess !== undefined && { grantAccess: flags.grantAccess }),
    ...(await pullCredential(flags)),
    internalEndpoint: flags.forceInternalEndpointLookupManaged ?? false,
    createNamespace: flags.createNamespace,
    syncLabels: flags.enableSyncLabels ?? false,
  };
}

async function addressOf(flags: JoinFlags): Promise<HubAddress> {
  const { caFile, proxyUrl, proxyCaFile } = flags;
  return {
    server: flags.hubApiserver,
    token: flags.hubToken,
    ...(caFile !== undefined && { ca: await readText(caFile, "--ca-file") }),
    ...(proxyUrl !== undefined && { proxyUrl }),
    ...(proxyCaFile !== undefined && { proxyCa: await readText(proxyCaFile, "--proxy-ca-file") }),
  };
}

/** The managed cluster of hosted mode; its kubeconfig goes into a Secret, so what it names in files is read into it. */
async function managedOf({ managedClusterKubeconfig: path }: JoinFlags): Promise<JoinWish["managed"]> {
  if (path === undefined) return undefined;
  const config = await loadKubeconfig({ path });
  const exec = createExecEngine({ env: process.env, terminal: process.stdin.isTTY === true });
  const connection = await connectionOf(config, undefined, { exec });
  const { server, ca, cert, key, token, serverName } = connection;
  const kubeconfig = kubeconfigText({
    clusters: [
      {
        name: "managed",
        server,
        ...(ca !== undefined && { ca: { pem: ca } }),
        ...(serverName !== undefined && { serverName }),
        ...(connection.insecure && { insecure: true }),
      },
    ],
    users: [
      {
        name: "managed",
        ...(cert !== undefined && { cert: { pem: cert } }),
        ...(key !== undefined && { key: { pem: key } }),
        ...(token !== undefined && { token }),
      },
    ],
    contexts: [{ name: "managed", cluster: "managed", user: "managed" }],
    current: "managed",
  });
  return { client: createClient({ connection }), connection, kubeconfig };
}

/** The agents run where the spoke is; what is on this machine they reach only if they are on it too. */
function warnOfLoopback({ server }: HubAddress, spoke: Connection, flags: JoinFlags): void {
  if (!isLoopback(server) || isLoopback(spoke.server) || flags.forceInternalEndpointLookup) return;
  say(
    `${colours.yellow("Warning:")} ${server} means this machine, and ${spoke.server} is another one, whose agents will not find the hub there; give --hub-apiserver an address that they reach, or --force-internal-endpoint-lookup.`,
  );
}

function sayTrust({ fingerprint, source }: HubContact, server: string): void {
  if (fingerprint === undefined) {
    say(`The hub ${server} names no authority of its own; it is trusted as the system trusts it.`);
    return;
  }
  const from = source === "flag" ? "--ca-file" : `its ${source}`;
  say(`The hub ${server} is trusted by the authority in ${from}, SHA-256 ${fingerprint}`);
}
