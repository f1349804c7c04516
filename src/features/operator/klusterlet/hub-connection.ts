/** Whether the hub lets the agents do what they have to, asked with what the agents themselves show to it. */

import type { ResourceAttributes } from "#api/authorization";
import { SelfSubjectAccessReview } from "#api/authorization";
import { CLUSTER_GROUP, CLUSTER_LEASE, REGISTER_GROUP } from "#api/cluster";
import type { Secret } from "#api/core";
import { KlusterletCondition, KlusterletReason, OperatorSecret, rejoinCommand } from "#api/operator";
import { WORK_GROUP } from "#api/work";
import { type Client, type Connection, isUnauthorized, isUntrusted, KubeconfigError, KubeError } from "#kube";
import { timestamp } from "#lib/clock";
import type { ConditionClaim } from "#lib/conditions";
import { PkiError, parseCertificate } from "#lib/pki";
import { connectionIn, hasKubeconfig, textIn } from "./kubeconfig-secret.ts";

/** What was found with one of the two Secrets. */
interface Finding {
  readonly isFine: boolean;
  readonly reason: string;
  readonly message: string;
  /** Whose identity was lost: it had one, and the hub does not take it. */
  readonly lost?: string;
}

export interface HubQuestion {
  /** Where both Secrets are. */
  readonly namespace: string;
  readonly hubSecret: Secret | undefined;
  readonly bootstrapSecret: Secret | undefined;
  readonly connect: (connection: Connection) => Client;
  readonly now: Date;
  readonly signal: AbortSignal;
}

export interface HubAnswer {
  readonly claim: ConditionClaim;
  /** Whether it is likely to be otherwise soon: the agent may ask to join, and has not been accepted. */
  readonly isPending: boolean;
}

/** The identity first; only if that does not do, what the agent asks to join with. */
export async function askHub(question: HubQuestion): Promise<HubAnswer> {
  const type = KlusterletCondition.HubConnectionDegraded;
  const hub = await hubFinding(question);
  if (hub.isFine) {
    return { claim: { type, status: "False", reason: hub.reason, message: hub.message }, isPending: false };
  }
  const bootstrap = await bootstrapFinding(question);
  const reason = `${bootstrap.reason},${hub.reason}`;
  return {
    claim: { type, status: "True", reason, message: `${bootstrap.message}; ${hub.message}${advice(hub, bootstrap)}` },
    isPending: bootstrap.isFine,
  };
}

/** The one command that brings an identity back. */
function advice({ lost }: Finding, bootstrap: Finding): string {
  if (lost === undefined) return "";
  return bootstrap.isFine
    ? `; the agent asks for another one: approve it with \`capstan accept --clusters ${lost}\` on the hub`
    : `; restore it with \`${rejoinCommand(lost)}\``;
}

async function hubFinding({ namespace, hubSecret: secret, connect, now, signal }: HubQuestion): Promise<Finding> {
  const where = `Secret ${namespace}/${OperatorSecret.hub}`;
  if (!secret) {
    const message = `${where} is not there: the hub has not accepted the cluster yet`;
    return { isFine: false, reason: KlusterletReason.hubSecretMissing, message };
  }
  if (!hasKubeconfig(secret)) {
    const message = `${where} has no kubeconfig: the hub has not accepted the cluster yet`;
    return { isFine: false, reason: KlusterletReason.hubKubeconfigMissing, message };
  }
  const clusterName = textIn(secret, "cluster-name");
  if (clusterName === "") {
    const message = `${where} has no cluster-name; delete it, and the agent asks for another`;
    return { isFine: false, reason: KlusterletReason.clusterNameMissing, message };
  }
  const ended = certificateEnd(secret);
  if (ended !== undefined && ended <= now) {
    const message = `the agent's certificate in ${where} has ended on ${timestamp(ended)}`;
    return { isFine: false, reason: KlusterletReason.hubKubeconfigError, message, lost: clusterName };
  }
  return review(secret, hubRights(clusterName), {
    where,
    clusterName,
    connect,
    signal,
    fine: [KlusterletReason.hubFunctional, "The hub lets the agents work"],
    denied: KlusterletReason.hubUnauthorized,
    error: KlusterletReason.hubKubeconfigError,
  });
}

async function bootstrapFinding({ namespace, bootstrapSecret, connect, signal }: HubQuestion): Promise<Finding> {
  const where = `Secret ${namespace}/${OperatorSecret.bootstrap}`;
  if (!bootstrapSecret) {
    const message = `${where} is not there; join the cluster again, which makes it`;
    return { isFine: false, reason: KlusterletReason.bootstrapMissing, message };
  }
  return review(bootstrapSecret, BOOTSTRAP_RIGHTS, {
    where,
    connect,
    signal,
    fine: [KlusterletReason.bootstrapFunctional, `The hub lets the agent ask to join with ${where}`],
    denied: KlusterletReason.bootstrapUnauthorized,
    error: KlusterletReason.bootstrapError,
  });
}

/** When the certificate ends; undefined where there is none that can be read. */
function certificateEnd(secret: Secret): Date | undefined {
  try {
    return parseCertificate(textIn(secret, "tls.crt")).notAfter;
  } catch (error) {
    if (error instanceof PkiError) return undefined;
    throw error;
  }
}

interface Review {
  readonly where: string;
  /** Whose identity it is that is shown to the hub; that of nobody yet unless told. */
  readonly clusterName?: string;
  readonly connect: (connection: Connection) => Client;
  readonly signal: AbortSignal;
  readonly fine: readonly [reason: string, message: string];
  readonly denied: string;
  readonly error: string;
}

/** A hub that does not answer should not hold up the look at others. */
const TIMEOUT_MS = 10_000;

async function review(secret: Secret, rights: readonly ResourceAttributes[], options: Review): Promise<Finding> {
  const { where, connect, signal, fine } = options;
  let client: Client | undefined;
  try {
    client = connect(await connectionIn(secret));
    const denied = await firstDenied(client, rights, signal);
    if (!denied) return { isFine: true, reason: fine[0], message: fine[1] };
    const message = `The hub does not let ${where} ${wordsFor(denied)}; has it accepted the cluster?`;
    return { isFine: false, reason: options.denied, message };
  } catch (error) {
    if (!(error instanceof KubeconfigError) && !(error instanceof KubeError)) throw error;
    signal.throwIfAborted();
    const { clusterName } = options;
    const isLost = clusterName !== undefined && (isUnauthorized(error) || isUntrusted(error));
    return {
      isFine: false,
      reason: options.error,
      message: troubleWith(error, where),
      ...(isLost && { lost: clusterName }),
    };
  } finally {
    client?.close();
  }
}

function troubleWith(error: KubeError | KubeconfigError, where: string): string {
  const said = error.message;
  if (isUnauthorized(error)) return `The hub does not know who comes with ${where}`;
  if (isUntrusted(error)) {
    return `What answers for the hub is not whom ${where} trusts: ${said.replace(/^.*?cannot connect: /s, "")}`;
  }
  return `The hub cannot be asked with ${where}: ${said}`;
}

/** One after the other: it is asked seldom, and an answer that is no ends it. */
async function firstDenied(
  client: Client,
  rights: readonly ResourceAttributes[],
  signal: AbortSignal,
): Promise<ResourceAttributes | undefined> {
  for (const resourceAttributes of rights) {
    const review = { metadata: {}, spec: { resourceAttributes } };
    const { status } = await client.create(SelfSubjectAccessReview, review, { timeout: TIMEOUT_MS, signal });
    if (!status?.allowed) return resourceAttributes;
  }
  return undefined;
}

/** `update leases.coordination.k8s.io managed-cluster-lease in namespace c1` */
function wordsFor({ verb, group, resource, subresource, name, namespace }: ResourceAttributes): string {
  const what = `${resource}${group ? `.${group}` : ""}${subresource ? `/${subresource}` : ""}`;
  return `${verb} ${what}${name ? ` ${name}` : ""}${namespace ? ` in namespace ${namespace}` : ""}`;
}

const CSR = { group: "certificates.k8s.io", resource: "certificatesigningrequests" };
const CLUSTERS = { group: CLUSTER_GROUP, resource: "managedclusters" };

const BOOTSTRAP_RIGHTS: readonly ResourceAttributes[] = [
  ...each(CLUSTERS, ["create", "get"]),
  ...each(CSR, ["create", "get", "list", "watch"]),
];

function hubRights(clusterName: string): ResourceAttributes[] {
  const own = { ...CLUSTERS, name: clusterName };
  const inside = { namespace: clusterName };
  const lease = { group: "coordination.k8s.io", resource: "leases", name: CLUSTER_LEASE, ...inside };
  const works = { group: WORK_GROUP, resource: "manifestworks", ...inside };
  return [
    ...each(CSR, ["get", "list", "watch"]),
    ...each(own, ["get", "list", "update", "watch"]),
    ...each({ ...own, subresource: "status" }, ["patch", "update"]),
    ...each({ group: REGISTER_GROUP, resource: "managedclusters", subresource: "clientcertificates" }, ["renew"]),
    ...each(lease, ["get", "update"]),
    ...each({ group: "", resource: "events", ...inside }, ["create", "patch", "update"]),
    ...each({ group: "events.k8s.io", resource: "events", ...inside }, ["create", "patch", "update"]),
    ...each(works, ["get", "list", "watch", "update"]),
    ...each({ ...works, subresource: "status" }, ["patch", "update"]),
  ];
}

function each(about: ResourceAttributes, verbs: readonly string[]): ResourceAttributes[] {
  return verbs.map((verb) => ({ ...about, verb }));
}
