/** What there is to see of a spoke, and of the hub with the eyes of its agent. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ManagedCluster } from "#api/cluster";
import { Namespace, Secret } from "#api/core";
import {
  AGENT_NAMESPACE,
  Klusterlet,
  KlusterletMode,
  klusterletCrd,
  OPERATOR_NAMESPACE,
  OperatorLabel,
  OperatorName,
  OperatorSecret,
} from "#api/operator";
import { AppliedManifestWork } from "#api/work";
import {
  type Client,
  type Connection,
  isForbidden,
  isKubeError,
  isNotFound,
  isUnauthorized,
  isUnknownKind,
  isUntrusted,
  type Kubeconfig,
  KubeconfigError,
} from "#kube";
import { PkiError, parseCertificate } from "#lib/pki";
import { hubClient, kubeconfigIn, textIn } from "../agent-identity.ts";
import { find, listed } from "../changes.ts";
import { causeOf, isLoopback } from "../hub-contact.ts";
import type { Bootstrap, HubAnswer, Identity, KlusterletFacts, SpokeFacts } from "./spoke-rules.ts";
import { workloadOf } from "./workloads.ts";

const PATIENCE_MS = 5_000;

export async function isSpoke(client: Client): Promise<boolean> {
  const [definition, identity] = await Promise.all([
    find(client, CustomResourceDefinition, klusterletCrd.metadata.name),
    find(client, Secret, `${AGENT_NAMESPACE}/${OperatorSecret.hub}`),
  ]);
  return definition !== undefined || identity !== undefined;
}

/** In hosted mode the agents run elsewhere, and only a namespace tells of them. */
export async function isHosted(client: Client): Promise<boolean> {
  return (await listed(client, Namespace, { labelSelector: OperatorLabel.klusterlet })).length > 0;
}

export async function spokeFacts(client: Client, connection: Connection, now: Date): Promise<SpokeFacts> {
  const klusterlets = await listed(client, Klusterlet);
  const seen = klusterlets.map((klusterlet) => klusterletFacts(client, connection, klusterlet, now));
  return {
    operator:
      klusterlets.length > 0 ? await workloadOf(client, `${OPERATOR_NAMESPACE}/${OperatorName.klusterlet}`) : undefined,
    klusterlets: await Promise.all(
      klusterlets.length > 0 ? seen : [klusterletFacts(client, connection, undefined, now)],
    ),
    applied: await listed(client, AppliedManifestWork),
    now,
  };
}

async function klusterletFacts(
  client: Client,
  connection: Connection,
  klusterlet: Klusterlet | undefined,
  now: Date,
): Promise<KlusterletFacts> {
  const { spec, status, metadata } = klusterlet ?? {};
  const isHosted = spec?.deployOption?.mode === KlusterletMode.hosted;
  const agentNamespace = isHosted && metadata ? metadata.name : (spec?.namespace ?? AGENT_NAMESPACE);
  const deployments = (status?.relatedResources ?? []).filter(
    ({ group, resource }) => group === Deployment.group && resource === Deployment.plural,
  );
  const [bootstrapSecret, hubSecret, agents] = await Promise.all([
    find(client, Secret, `${agentNamespace}/${OperatorSecret.bootstrap}`),
    find(client, Secret, `${agentNamespace}/${OperatorSecret.hub}`),
    Promise.all(deployments.map(({ namespace, name }) => workloadOf(client, `${namespace}/${name}`))),
  ]);
  const bootstrap = bootstrapIn(bootstrapSecret, connection);
  const identity = identityIn(hubSecret);
  const clusterName = spec?.clusterName || textIn(hubSecret, "cluster-name");
  return {
    klusterlet,
    clusterName,
    agentNamespace,
    agents,
    bootstrap: bootstrap.seen,
    identity: identity.seen,
    hub: await askHub(isGood(identity.seen, now) ? identity.config : bootstrap.config, clusterName, hubSecret),
  };
}

/** Whether the agent comes with it: with one that has ended it asks as at the first time. */
function isGood(identity: Identity, now: Date): boolean {
  return identity.state === "there" && identity.notAfter > now;
}

interface Seen<T> {
  readonly seen: T;
  readonly config?: Kubeconfig;
}

function bootstrapIn(secret: Secret | undefined, spoke: Connection): Seen<Bootstrap> {
  if (!secret) return { seen: { state: "missing" } };
  const config = kubeconfigIn(secret);
  const server = config?.clusters[0]?.server;
  if (!config || server === undefined || !URL.canParse(server)) return { seen: { state: "unreadable" } };
  const tokenExpires = expiryOf(config.users[0]?.token ?? "");
  const isElsewhere = isLoopback(server) && !isLoopback(spoke.server);
  return { config, seen: { state: "there", server, tokenExpires, isElsewhere } };
}

function identityIn(secret: Secret | undefined): Seen<Identity> {
  const pem = textIn(secret, "tls.crt");
  if (!secret || pem === "") return { seen: { state: "missing" } };
  const config = kubeconfigIn(secret);
  const server = config?.clusters[0]?.server;
  try {
    const { notBefore, notAfter } = parseCertificate(pem);
    if (!config || server === undefined) return { seen: { state: "unreadable" } };
    return { config, seen: { state: "there", server, notBefore, notAfter } };
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
    return { seen: { state: "unreadable" } };
  }
}

/** When a token of a service account ends; other tokens do not say. */
export function expiryOf(token: string): Date | undefined {
  const [, body = ""] = token.split(".");
  try {
    const { exp } = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as { exp?: unknown };
    return typeof exp === "number" ? new Date(exp * 1000) : undefined;
  } catch {
    return undefined;
  }
}

async function askHub(config: Kubeconfig | undefined, name: string, secret: Secret | undefined): Promise<HubAnswer> {
  if (!config || name === "") return { state: "not asked" };
  try {
    const client = await hubClient(config, secret);
    try {
      return { state: "answered", cluster: await client.get(ManagedCluster, name, { timeout: PATIENCE_MS }) };
    } finally {
      client.close();
    }
  } catch (error) {
    return answerTo(error);
  }
}

function answerTo(error: unknown): HubAnswer {
  if (isUnauthorized(error)) return { state: "unauthorized" };
  if (isForbidden(error)) return { state: "forbidden" };
  if (isUnknownKind(error)) return { state: "no hub" };
  if (isNotFound(error)) return { state: "unknown cluster" };
  if (!isKubeError(error) && !(error instanceof KubeconfigError)) throw error;
  const cause = causeOf(error as Error);
  return { state: isUntrusted(error) ? "untrusted" : "unreachable", cause };
}
