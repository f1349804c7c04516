/**
 * Restoring a cluster's identity on its hub, after its certificate has ended or the hub has another authority: the same
 * cluster, the same agent, and nobody else who may hold a token of the hub.
 */
import { readFile } from "node:fs/promises";
import { CertificateSigningRequest } from "#api/certificates";
import { AgentIdentity, CLUSTER_LEASE, ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Secret } from "#api/core";
import { apiVersionOf } from "#api/meta";
import { AGENT_NAMESPACE, Klusterlet, KlusterletMode, OperatorSecret } from "#api/operator";
import { agentRequest, Bootstrap } from "#features/registration/hub";
import {
  type Client,
  type Connection,
  createClient,
  isNetworkError,
  isTimeout,
  isUnknownKind,
  isUntrusted,
  type Kubeconfig,
  KubeconfigError,
  kubeconfigText,
  parseKubeconfig,
  writeKubeconfig,
} from "#kube";
import { isTrue } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { reasonOf, UserError } from "../user-error.ts";
import { approve, decisionOf, notAHub } from "./acceptance.ts";
import { kubeconfigIn, textIn } from "./agent-identity.ts";
import { find, listed, put } from "./changes.ts";
import { clusterInfo, rootAuthority } from "./cluster-info.ts";
import { BootstrapToken, hubToken } from "./hub-tokens.ts";
import type { Change, Task } from "./task.ts";
import { named, until } from "./waiting.ts";

export interface RejoinWish {
  /** What the cluster is called; the only one that has joined from there unless told. */
  readonly clusterName?: string;
  readonly hub: { readonly client: Client; readonly connection: Pick<Connection, "server" | "ca"> };
  /** Where the agents reach the hub; where they did before unless told. */
  readonly hubServer?: string;
  /** PEM of the hub's authority; found out unless told. */
  readonly ca?: string;
  /** Where an agent that no Klusterlet runs reads what it asks the hub with. */
  readonly bootstrapFile?: string;
  /** Approves the request and ends when the cluster is available. */
  readonly wait: boolean;
}

export interface Rejoining {
  readonly clusterName: string;
  readonly changes: readonly Change[];
  /** What a person should know, though it is no failure. */
  readonly remarks: readonly string[];
}

/** Doing it again restores what was lost since, and otherwise changes nothing but the token. */
export async function rejoinCluster(task: Task, wish: RejoinWish): Promise<Rejoining> {
  const spoke = await spokeOf(task.client, wish);
  const { clusterName } = spoke;
  await assertAccepted(wish.hub.client, clusterName);
  const token = await tokenOf(wish.hub.client);
  const way = await wayToHub(spoke, wish, token);
  const beatBefore = await lastBeat(wish.hub.client, clusterName);
  const changes = [await refresh(task, spoke, way.kubeconfig)];
  if (task.dryRun) {
    const what = `CertificateSigningRequest ${clusterName}-…`;
    const note = `of agent ${spoke.agentName || "that asks"}, approved when it asks with the new token`;
    return { clusterName, changes: [...changes, { action: "change", what, note }], remarks: way.remarks };
  }
  if (wish.wait) changes.push(...(await untilBack(task, wish.hub.client, { ...spoke, token, beatBefore })));
  return { clusterName, changes, remarks: way.remarks };
}

interface Spoke {
  readonly clusterName: string;
  readonly agentNamespace: string;
  /** Empty while the agent has not kept one. */
  readonly agentName: string;
  /** How the agents asked the hub before. */
  readonly bootstrap: Kubeconfig | undefined;
  /** How they reached it as themselves. */
  readonly own: Kubeconfig | undefined;
  /** Where they read what they ask with, if not in a Secret beside their identity. */
  readonly bootstrapFile?: string;
}

async function spokeOf(client: Client, { clusterName: wished, bootstrapFile }: RejoinWish): Promise<Spoke> {
  const klusterlets = (await listed(client, Klusterlet)).filter((each) => !isDeleting(each));
  const run = await Promise.all(klusterlets.map((klusterlet) => seen(client, klusterlet)));
  const isMeant = ({ clusterName }: Spoke) => wished === undefined || clusterName === wished;
  // Other agents are looked for only where it is not clear already.
  const bare = run.some(isMeant) ? [] : await bareAgents(client, run);
  const spokes = [...run, ...bare];
  if (spokes.length === 0) {
    throw new UserError(
      `${client.server} has neither a Klusterlet nor the identity of an agent: nothing has joined from there; choose the spoke with --context or --kubeconfig, or let it join with \`capstan join\``,
    );
  }
  const names = spokes.map(({ clusterName }) => clusterName || "one without a name").sort();
  const [spoke, other] = spokes.filter(isMeant);
  if (!spoke || spoke.clusterName === "") {
    throw new UserError(
      `${client.server} has not joined as ${wished ?? "a cluster that has a name yet"}, but as ${names.join(", ")}; correct --cluster-name or --context`,
    );
  }
  if (other) {
    throw new UserError(
      `agents of ${names.join(", ")} run on ${client.server}; say which is meant with --cluster-name`,
    );
  }
  return bare.includes(spoke) ? withFile(spoke, bootstrapFile) : withoutFile(spoke, bootstrapFile);
}

async function seen(client: Client, { metadata, spec }: Klusterlet): Promise<Spoke> {
  const mode = spec?.deployOption?.mode;
  const isHosted = mode === KlusterletMode.hosted || mode === KlusterletMode.singletonHosted;
  const agentNamespace = isHosted ? metadata.name : (spec?.namespace ?? AGENT_NAMESPACE);
  const [identity, bootstrap] = await Promise.all([
    find(client, Secret, `${agentNamespace}/${OperatorSecret.hub}`),
    find(client, Secret, `${agentNamespace}/${OperatorSecret.bootstrap}`),
  ]);
  return {
    clusterName: spec?.clusterName || textIn(identity, "cluster-name"),
    agentNamespace,
    agentName: textIn(identity, "agent-name"),
    bootstrap: bootstrap && kubeconfigIn(bootstrap),
    own: identity && kubeconfigIn(identity),
  };
}

/** Those that somebody started as `capstan agent`: their identities are all that the cluster has of them. */
async function bareAgents(client: Client, others: readonly Spoke[]): Promise<Spoke[]> {
  const namespaces = new Set(others.map(({ agentNamespace }) => agentNamespace));
  const identities = await listed(client, Secret, { fieldSelector: `metadata.name=${OperatorSecret.hub}` });
  return identities
    .filter(({ metadata }) => !namespaces.has(metadata.namespace ?? ""))
    .map((identity) => ({
      clusterName: textIn(identity, "cluster-name"),
      agentNamespace: identity.metadata.namespace ?? "",
      agentName: textIn(identity, "agent-name"),
      bootstrap: undefined,
      own: kubeconfigIn(identity),
    }));
}

async function withFile(spoke: Spoke, file: string | undefined): Promise<Spoke> {
  if (file === undefined) {
    throw new UserError(
      `the agent of ${spoke.clusterName} is run by no Klusterlet, so its bootstrap kubeconfig is a file where it runs; name that file with --bootstrap-kubeconfig, there, or name a new one and put it in its place`,
    );
  }
  const bootstrap = await readKubeconfig(file);
  return { ...spoke, bootstrapFile: file, bootstrap };
}

function withoutFile(spoke: Spoke, file: string | undefined): Spoke {
  if (file === undefined) return spoke;
  throw new UserError(
    `the agents of ${spoke.clusterName} are run by a Klusterlet and read Secret ${spoke.agentNamespace}/${OperatorSecret.bootstrap}; leave --bootstrap-kubeconfig out`,
  );
}

/** Undefined for a file that is not there, or makes no sense: a new one takes its place. */
async function readKubeconfig(file: string): Promise<Kubeconfig | undefined> {
  try {
    return parseKubeconfig(await readFile(file, "utf8"), file);
  } catch (error) {
    if (error instanceof KubeconfigError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UserError(`${file} cannot be read: ${reasonOf(error)}; name another file with --bootstrap-kubeconfig`);
  }
}

/** Only what was let in once comes back by itself; about all others a person decides with `accept`. */
async function assertAccepted(hub: Client, name: string): Promise<void> {
  const cluster = await find(hub, ManagedCluster, name).catch((error: unknown) => {
    throw isUnknownKind(error) ? notAHub(hub) : error;
  });
  if (!cluster) {
    throw new UserError(
      `the hub ${hub.server} has no ManagedCluster ${name}, so there is nothing to restore; let the cluster join anew with \`capstan join --cluster-name ${name}\`, or correct --hub-context`,
    );
  }
  if (isDeleting(cluster)) {
    throw new UserError(
      `ManagedCluster ${name} is being deleted on the hub ${hub.server}; wait until it is gone, then let the cluster join anew with \`capstan join --cluster-name ${name}\``,
    );
  }
  if (!cluster.spec?.hubAcceptsClient) {
    throw new UserError(
      `the hub ${hub.server} does not accept ${name}; if it should, say so first with \`capstan accept --clusters ${name}\` there`,
    );
  }
}

interface Token {
  readonly text: string;
  /** Who comes with it. */
  readonly user: string;
  /** How the hub calls it on what is asked with it; undefined for tokens that it does not tell apart. */
  readonly id: string | undefined;
}

/** A new one of the service account; where there is none, the bootstrap token that the hub has. */
async function tokenOf(hub: Client): Promise<Token> {
  try {
    const { token } = await hubToken(hub, false);
    return { text: token, user: Bootstrap.user, id: tokenId(token) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { token } = await hubToken(hub, true).catch(() => {
      throw error;
    });
    return { text: token, user: BootstrapToken.user, id: undefined };
  }
}

function tokenId(token: string): string | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const { jti } = claims as { jti?: unknown };
    return typeof jti === "string" ? `JTI=${jti}` : undefined;
  } catch {
    return undefined;
  }
}

interface Way {
  readonly kubeconfig: Kubeconfig;
  readonly remarks: readonly string[];
}

/** The bootstrap kubeconfig as it was, with the new token and the hub's present authority. */
async function wayToHub({ bootstrap, own }: Spoke, wish: RejoinWish, { text: token }: Token): Promise<Way> {
  const context = bootstrap?.contexts.find(({ name }) => name === bootstrap.current);
  const before = bootstrap?.clusters.find(({ name }) => name === context?.cluster) ?? own?.clusters[0];
  const server = wish.hubServer ?? before?.server ?? wish.hub.connection.server;
  const proxy = before?.proxyUrl;
  const known = before?.ca && "pem" in before.ca ? before.ca.pem : undefined;
  const { ca, remarks } = await authorityOf(wish, known, (pem) => ({
    server,
    token,
    ...(pem !== undefined && { ca: pem }),
    ...(proxy !== undefined && { proxy }),
  }));
  // Its names stay: agents take a hub under another name for another hub.
  const { ca: _, insecure: __, ...place } = before ?? { name: "hub" };
  const hub = { ...place, server, ...(ca !== undefined && { ca: { pem: ca } }) };
  if (!bootstrap || !context) {
    const user = { name: "bootstrap", token };
    const way = { name: user.name, cluster: hub.name, user: user.name, namespace: "default" };
    return { kubeconfig: { clusters: [hub], users: [user], contexts: [way], current: way.name }, remarks };
  }
  const kubeconfig = {
    ...bootstrap,
    clusters: bootstrap.clusters.map((cluster) => (cluster === before ? hub : cluster)),
    users: bootstrap.users.map((user) => (user.name === context.user ? { name: user.name, token } : user)),
  };
  return { kubeconfig, remarks };
}

/** How long an address is tried that may mean nothing from here. */
const PATIENCE_MS = 10_000;

/** The first authority that vouches for the hub where the agents reach it: those that the hub names itself come first. */
async function authorityOf(
  { ca, hub }: RejoinWish,
  known: string | undefined,
  connectionWith: (ca: string | undefined) => Connection,
): Promise<{ ca: string | undefined; remarks: string[] }> {
  const named = [await rootAuthority(hub.client), (await clusterInfo(hub.client))?.ca, hub.connection.ca, known];
  const candidates = ca === undefined ? [...new Set(named.filter((pem) => pem !== undefined)), undefined] : [ca];
  const { server } = connectionWith(undefined);
  for (const candidate of candidates) {
    const client = createClient({ connection: connectionWith(candidate) });
    try {
      await client.raw("/version", { timeout: PATIENCE_MS });
      return { ca: candidate, remarks: [] };
    } catch (error) {
      if (isUntrusted(error)) continue;
      if (!isNetworkError(error) && !isTimeout(error)) return { ca: candidate, remarks: [] };
      const remark = `The agents reach the hub at ${server}, which does not answer here; so its authority is taken from the hub and could not be tried.`;
      return { ca: candidates[0], remarks: [remark] };
    } finally {
      client.close();
    }
  }
  throw new UserError(
    ca === undefined
      ? `no authority that the hub names vouches for ${server}, where its agents reach it; name the right one with --ca-file, or another address with --hub-apiserver`
      : `the authority in --ca-file does not vouch for ${server}; name the right one, or another address with --hub-apiserver`,
  );
}

async function refresh(task: Task, spoke: Spoke, kubeconfig: Kubeconfig): Promise<Change> {
  const { agentNamespace, bootstrapFile: file, bootstrap } = spoke;
  if (file !== undefined) {
    if (!task.dryRun) await writeKubeconfig(file, kubeconfig);
    return {
      action: bootstrap ? "change" : "create",
      what: `file ${file}`,
      note: "a new token, and the hub's authority",
    };
  }
  const metadata = { name: OperatorSecret.bootstrap, namespace: agentNamespace };
  const data = { kubeconfig: Buffer.from(kubeconfigText(kubeconfig), "utf8").toString("base64") };
  return put(task, Secret, `${agentNamespace}/${OperatorSecret.bootstrap}`, (existing) =>
    existing
      ? { ...existing, data: { ...existing.data, ...data } }
      : { apiVersion: apiVersionOf(Secret), kind: Secret.kind, metadata, type: "Opaque", data },
  );
}

async function lastBeat(hub: Client, name: string): Promise<string | undefined> {
  return (await find(hub, Lease, `${name}/${CLUSTER_LEASE}`))?.spec?.renewTime;
}

interface Awaited extends Spoke {
  readonly token: Token;
  /** The last beat before anything was done. */
  readonly beatBefore: string | undefined;
}

/** Approves what the agent asks for, and ends when it beats again and the hub calls the cluster available. */
async function untilBack(task: Task, hub: Client, awaited: Awaited): Promise<Change[]> {
  const { clusterName: name, beatBefore } = awaited;
  const isBack = new AbortController();
  const approvals: Change[] = [];
  const approving = approveAsAsked(task, hub, awaited, approvals, isBack.signal);
  const back = async () => {
    const silent = ([lease]: readonly Lease[]) =>
      lease?.spec?.renewTime === beatBefore ? `the agent of ${name} to come back to the hub` : undefined;
    await until(hub, Lease, named(`${name}/${CLUSTER_LEASE}`), silent, task);
    const lost = ([cluster]: readonly ManagedCluster[]) =>
      isTrue(cluster?.status?.conditions, ClusterCondition.Available) ? undefined : `${name} to be available`;
    await until(hub, ManagedCluster, named(name), lost, task);
  };
  try {
    await Promise.race([back(), approving]);
  } finally {
    isBack.abort();
    await approving.catch(() => {});
  }
  return approvals;
}

/** Ends only when it is told to. Whoever else has a token of the hub may ask under the same name, and is not heard. */
async function approveAsAsked(
  task: Task,
  hub: Client,
  awaited: Awaited,
  approvals: Change[],
  isBack: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([task.signal, isBack]);
  const scope = { labelSelector: `${ClusterLabel.name}=${awaited.clusterName}` };
  const open = (requests: readonly CertificateSigningRequest[]) =>
    requests.filter((request) => decisionOf(request) === undefined && isAskedWith(request, awaited.token));
  try {
    for (;;) {
      const missing = (requests: readonly CertificateSigningRequest[]) =>
        open(requests).length > 0 ? undefined : "a request";
      await until(hub, CertificateSigningRequest, scope, missing, { signal });
      const user = AgentIdentity.user(awaited.clusterName, await agentNameOf(task, awaited));
      const { items } = await hub.list(CertificateSigningRequest, { ...scope, signal });
      const own = open(items).filter((request) => agentRequest(request)?.user === user);
      if (own.length === 0) throw strangers(open(items), awaited.clusterName, user);
      for (const request of own) approvals.push(await approve({ ...task, client: hub, signal }, request));
    }
  } catch (error) {
    if (!isBack.aborted) throw error;
  }
}

function strangers(requests: readonly CertificateSigningRequest[], cluster: string, user: string): UserError {
  const names = requests.map(({ metadata }) => metadata.name).join(", ");
  return new UserError(
    `${names} asks to be ${cluster} with the new token, but not as its agent ${user}; look at it with \`kubectl describe csr ${requests[0]?.metadata.name ?? ""}\` on the hub`,
  );
}

/** The agent keeps its name before it asks. */
async function agentNameOf({ client }: Task, { agentNamespace, agentName }: Spoke): Promise<string> {
  const secret = await find(client, Secret, `${agentNamespace}/${OperatorSecret.hub}`);
  return textIn(secret, "agent-name") || agentName;
}

const CREDENTIAL_ID = "authentication.kubernetes.io/credential-id";

/** Newer servers say on a request with which token it was made; on older ones the user must do. */
function isAskedWith({ spec: { username, extra } }: CertificateSigningRequest, { user, id }: Token): boolean {
  if (username !== user) return false;
  const shown = extra?.[CREDENTIAL_ID];
  return shown === undefined || id === undefined || shown.includes(id);
}
