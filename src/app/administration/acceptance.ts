/** Letting clusters in: the administrator's word on the ManagedCluster, and on the certificate that its agent asks for. */
import { CertificateSigningRequest } from "#api/certificates";
import { AgentIdentity, ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { AGENT_NAMESPACE, OperatorSecret } from "#api/operator";
import { agentRequest, Bootstrap } from "#features/registration/hub";
import { type Client, isConflict, isUnknownKind } from "#kube";
import { timestamp } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { humanDuration } from "#lib/duration";
import { UserError } from "../user-error.ts";
import { find } from "./changes.ts";
import { BootstrapToken } from "./hub-tokens.ts";
import type { Change, Task } from "./task.ts";
import { named, until } from "./waiting.ts";

export interface Acceptance {
  readonly cluster: string;
  /** Waits for a cluster that has not asked yet. */
  readonly wait: boolean;
  /** Whoever asked: every request of the cluster's agent is approved. */
  readonly skipApproveCheck: boolean;
  /** Users who may ask for this cluster, beside those whom the hub gives tokens to. */
  readonly requesters: readonly string[];
}

/** How long the hub is given to grant rights before the certificate that uses them; without it the agent asks twice. */
const RIGHTS_FIRST_MS = 3_000;

/** Throws UserError where there is nothing to accept, or more than a person should accept unseen. */
export async function acceptCluster(task: Task, acceptance: Acceptance): Promise<Change[]> {
  const { client, dryRun } = task;
  const { cluster: name, wait } = acceptance;
  if (wait && !dryRun) await untilAsked(task, acceptance);
  const cluster = await clusterOf(client, name);
  const requests = requestsOf(await requestsLabelled(client, name), acceptance);
  refuseDoubt(requests.pending, acceptance);
  if (
    requests.pending.length === 0 &&
    !requests.hasApproved &&
    !isTrue(cluster.status?.conditions, ClusterCondition.Joined)
  ) {
    throw new UserError(nothingToApprove(name, requests.others));
  }
  const accepted = await sayAccepted(task, cluster);
  if (!dryRun && requests.pending.length > 0) await rightsFirst(task, name);
  const approvals: Change[] = [];
  for (const request of requests.pending) approvals.push(await approve(task, request));
  return [accepted, ...approvals];
}

async function clusterOf(client: Client, name: string): Promise<ManagedCluster> {
  const found = await client.list(ManagedCluster).catch((error: unknown) => {
    if (!isUnknownKind(error)) throw error;
    throw notAHub(client);
  });
  const cluster = found.items.find(({ metadata }) => metadata.name === name);
  if (cluster) return cluster;
  const names = found.items.map(({ metadata }) => metadata.name).sort();
  throw new UserError(
    `there is no ManagedCluster ${name} on ${client.server} (there is ${names.join(", ") || "none"}); let it join first with \`capstan join\`, or wait for it with --wait`,
  );
}

export function notAHub(client: Client): UserError {
  return new UserError(
    `${client.server} is no hub: it does not know ManagedClusters; choose the hub with --context or --kubeconfig`,
  );
}

async function untilAsked(task: Task, acceptance: Acceptance): Promise<void> {
  const { client } = task;
  const { cluster: name } = acceptance;
  const isThere = ([cluster]: readonly ManagedCluster[]) =>
    cluster ? undefined : `cluster ${name} to ask the hub ${client.server}`;
  await until(client, ManagedCluster, named(name), isThere, task);
  if (isTrue((await find(client, ManagedCluster, name))?.status?.conditions, ClusterCondition.Joined)) return;
  const hasAsked = (requests: readonly CertificateSigningRequest[]) => {
    const { pending, hasApproved } = requestsOf(requests, acceptance);
    return pending.length > 0 || hasApproved ? undefined : `cluster ${name} to ask for its certificate`;
  };
  await until(client, CertificateSigningRequest, { labelSelector: `${ClusterLabel.name}=${name}` }, hasAsked, task);
}

async function requestsLabelled(client: Client, name: string): Promise<CertificateSigningRequest[]> {
  return (await client.list(CertificateSigningRequest, { labelSelector: `${ClusterLabel.name}=${name}` })).items;
}

interface Requests {
  /** Undecided ones that the cluster's agent made with what the hub gives out. */
  readonly pending: readonly CertificateSigningRequest[];
  readonly hasApproved: boolean;
  /** Undecided ones with the cluster's label that are somebody else's, or ask for something else. */
  readonly others: readonly CertificateSigningRequest[];
}

/** Which requests are the cluster's: by all that they ask for, and by who asks; nothing is matched by a prefix. */
export function requestsOf(
  all: readonly CertificateSigningRequest[],
  { cluster, skipApproveCheck, requesters }: Pick<Acceptance, "cluster" | "skipApproveCheck" | "requesters">,
): Requests {
  const isTrusted = ({ spec: { username = "", groups = [] } }: CertificateSigningRequest) =>
    skipApproveCheck ||
    username === Bootstrap.user ||
    (username === BootstrapToken.user && groups.includes(BootstrapToken.group)) ||
    requesters.includes(username);
  const own = all.filter((request) => agentRequest(request)?.cluster === cluster && isTrusted(request));
  const undecided = all.filter((request) => decisionOf(request) === undefined);
  return {
    pending: own.filter((request) => decisionOf(request) === undefined),
    hasApproved: own.some((request) => decisionOf(request) === "Approved"),
    others: undecided.filter((request) => !own.includes(request)),
  };
}

/** What was said to a request; a no counts more than a yes. */
export function decisionOf({ status }: CertificateSigningRequest): "Approved" | "Denied" | undefined {
  const types = (status?.conditions ?? []).map(({ type }) => type);
  return types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : undefined;
}

/** Two agents of one cluster: one of them may be somebody else's who has the token too. */
function refuseDoubt(pending: readonly CertificateSigningRequest[], { cluster, skipApproveCheck }: Acceptance): void {
  const byAgent = new Map<string, CertificateSigningRequest[]>();
  for (const request of pending) {
    const agent = (agentRequest(request)?.user ?? "").slice(AgentIdentity.user(cluster, "").length);
    byAgent.set(agent, [...(byAgent.get(agent) ?? []), request]);
  }
  if (byAgent.size < 2 || skipApproveCheck) return;
  const shown = [...byAgent].map(([agent, requests]) => {
    const names = requests.map(({ metadata }) => `${metadata.name}, ${ageOf(metadata.creationTimestamp)} ago`);
    return `agent ${agent} (${names.join("; ")})`;
  });
  throw new UserError(
    `${byAgent.size} different agents ask to be ${cluster}: ${shown.join(" and ")}; the cluster's own is called as agent-name says in its Secret ${AGENT_NAMESPACE}/${OperatorSecret.hub}: remove what the others ask for with \`kubectl delete csr\`, or approve all with --skip-approve-check`,
  );
}

function ageOf(created: string | undefined): string {
  return humanDuration(Date.now() - Date.parse(created ?? ""));
}

function nothingToApprove(cluster: string, others: readonly CertificateSigningRequest[]): string {
  const [other] = others;
  if (!other) {
    return `cluster ${cluster} has not asked for its certificate yet; see its agent with \`capstan doctor\` on the spoke, or wait for it with --wait`;
  }
  const who = other.spec.username ?? "somebody";
  const isAgents = agentRequest(other)?.cluster === cluster;
  return isAgents
    ? `${other.metadata.name} asks to be ${cluster}, but comes from ${who}; trust that user with --requesters ${who}`
    : `${other.metadata.name} carries the name of ${cluster}, but does not ask for what its agent would; look at it with \`kubectl describe csr ${other.metadata.name}\``;
}

async function sayAccepted({ client, dryRun }: Task, { metadata, spec }: ManagedCluster): Promise<Change> {
  const what = `ManagedCluster ${metadata.name}`;
  if (spec?.hubAcceptsClient) return { action: "keep", what, note: "hubAcceptsClient is true already" };
  if (!dryRun) await client.patch(ManagedCluster, metadata.name, { spec: { hubAcceptsClient: true } });
  return { action: "change", what, note: "hubAcceptsClient is true now" };
}

/** A hub whose controllers do not run grants nothing; the certificate may be approved all the same. */
async function rightsFirst({ client, signal }: Task, name: string): Promise<void> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(RIGHTS_FIRST_MS)]);
  const granted = ([cluster]: readonly ManagedCluster[]) =>
    isTrue(cluster?.status?.conditions, ClusterCondition.HubAccepted) ? undefined : "rights";
  await until(client, ManagedCluster, named(name), granted, { signal: patience }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!patience.aborted) throw error;
  });
}

/** Says yes to one request. */
export async function approve({ client, dryRun, signal }: Task, request: CertificateSigningRequest): Promise<Change> {
  const { name } = request.metadata;
  const what = `CertificateSigningRequest ${name}`;
  if (dryRun) return { action: "change", what, note: "approved" };
  for (let current: CertificateSigningRequest | undefined = request; current; ) {
    try {
      await client.update(CertificateSigningRequest, approved(current), { subresource: "approval", signal });
      return { action: "change", what, note: "approved" };
    } catch (error) {
      if (!isConflict(error)) throw error;
      current = await find(client, CertificateSigningRequest, name);
      if (current && decisionOf(current) === "Approved") return { action: "keep", what, note: "approved already" };
      if (current && decisionOf(current) === "Denied")
        throw new UserError(`${what} was denied just now by somebody else`);
    }
  }
  throw new UserError(`${what} is gone; the agent will ask again: run this again`);
}

function approved(request: CertificateSigningRequest): CertificateSigningRequest {
  const now = timestamp(new Date());
  const condition = {
    type: "Approved" as const,
    status: "True" as const,
    reason: "AcceptedByAdministrator",
    message: "The administrator of the hub accepted the cluster.",
    lastUpdateTime: now,
    lastTransitionTime: now,
  };
  return { ...request, status: { ...request.status, conditions: [...(request.status?.conditions ?? []), condition] } };
}
