/** Who this agent is on the hub, as the Secret on the spoke keeps it. */
import { AgentIdentity } from "#api/cluster";
import type { Secret } from "#api/core";
import { type KubeconfigCluster, KubeconfigError, kubeconfigText, type Material, parseKubeconfig } from "#kube";
import { type Certificate, PkiError, parseCertificates, publicKeyDer, readPublicKey } from "#lib/pki";

/** The Secret that holds the identity; other agents on the spoke read it too. */
export const HUB_SECRET = "hub-kubeconfig-secret";

export const DataKey = {
  kubeconfig: "kubeconfig",
  clusterName: "cluster-name",
  agentName: "agent-name",
  certificate: "tls.crt",
  key: "tls.key",
} as const;

/** Which hub, and as which cluster. */
export interface HubTarget {
  /** The hub as the bootstrap kubeconfig describes it. */
  hub: KubeconfigCluster;
  clusterName: string;
  /** Demanded if given; any agent of this cluster otherwise. */
  agentName?: string;
}

export interface HubIdentity {
  agentName: string;
  /** PEM. */
  certificate: string;
  /** PEM. */
  key: string;
  notBefore: Date;
  /** When the first certificate of the chain ends. */
  notAfter: Date;
}

/** Why what is stored cannot be used. */
export interface Unusable {
  why: string;
}

export function isUnusable(stored: object): stored is Unusable {
  return "why" in stored;
}

/** What a key of the Secret holds; nothing for one that is not there. */
export function textIn(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");
}

/** The identity that the Secret holds, if it is one of this cluster on this very hub and still good. */
export function hubIdentity(secret: Secret | undefined, target: HubTarget, now: Date): HubIdentity | Unusable {
  const read = (key: string) => textIn(secret, key);
  const agentName = read(DataKey.agentName);
  const certificate = read(DataKey.certificate);
  const key = read(DataKey.key);

  if (certificate === "" && read(DataKey.kubeconfig) === "") return { why: "there is none yet" };
  if (read(DataKey.clusterName) !== target.clusterName) return { why: "it belongs to another cluster name" };
  if (agentName === "" || (target.agentName !== undefined && agentName !== target.agentName)) {
    return { why: "it belongs to another agent name" };
  }
  if (!leadsTo(read(DataKey.kubeconfig), target.hub)) return { why: "it is for another hub" };

  const chain = chainOf(certificate);
  const [leaf] = chain;
  if (!leaf) return { why: "it has no certificate" };
  if (leaf.subject.commonName !== AgentIdentity.user(target.clusterName, agentName)) {
    return { why: "its certificate names someone else" };
  }
  if (!belongsTo(leaf, key)) return { why: "its key is not the certificate's" };
  const notAfter = new Date(Math.min(...chain.map((each) => each.notAfter.getTime())));
  if (now >= notAfter) return { why: "its certificate has expired" };
  return { agentName, certificate, key, notBefore: leaf.notBefore, notAfter };
}

/** What the Secret holds for an identity, encoded. Agents mount it, so the files are named relative to it. */
export function secretData(
  { hub, clusterName }: HubTarget,
  { agentName, certificate, key }: Pick<HubIdentity, "agentName" | "certificate" | "key">,
): Record<string, string> {
  const text = kubeconfigOf(hub, { file: DataKey.certificate }, { file: DataKey.key });
  const data = {
    [DataKey.kubeconfig]: text,
    [DataKey.clusterName]: clusterName,
    [DataKey.agentName]: agentName,
    [DataKey.certificate]: certificate,
    [DataKey.key]: key,
  };
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
}

/** A kubeconfig that stands for itself, with certificate and key inside. */
export function identityKubeconfig(hub: KubeconfigCluster, { certificate, key }: HubIdentity): string {
  return kubeconfigOf(hub, { pem: certificate }, { pem: key });
}

/** How another agent of the cluster gets to the hub, by what the Secret holds. */
export interface HubAccess {
  readonly clusterName: string;
  /** Text of a kubeconfig that stands for itself. */
  readonly kubeconfig: string;
}

/** Undefined while the Secret holds no identity. */
export function hubAccess(secret: Secret | undefined): HubAccess | undefined {
  const [text, clusterName] = [textIn(secret, DataKey.kubeconfig), textIn(secret, DataKey.clusterName)];
  const [pem, keyPem] = [textIn(secret, DataKey.certificate), textIn(secret, DataKey.key)];
  if ([text, clusterName, pem, keyPem].includes("")) return undefined;
  const hub = currentHub(text, HUB_SECRET);
  return hub && { clusterName, kubeconfig: kubeconfigOf(hub, { pem }, { pem: keyPem }) };
}

function kubeconfigOf({ file: _, ...hub }: KubeconfigCluster, cert: Material, key: Material): string {
  return kubeconfigText({
    clusters: [hub],
    users: [{ name: "default-auth", cert, key }],
    contexts: [{ name: "default-context", cluster: hub.name, user: "default-auth", namespace: "configuration" }],
    current: "default-context",
  });
}

/** The hub that a kubeconfig's current context leads to; undefined if it leads nowhere. */
export function currentHub(text: string, file: string): KubeconfigCluster | undefined {
  const { clusters, contexts, current } = parseKubeconfig(text, file);
  const context = contexts.find(({ name }) => name === current);
  return clusters.find(({ name }) => name === context?.cluster);
}

function leadsTo(text: string, hub: KubeconfigCluster): boolean {
  try {
    const stored = currentHub(text, HUB_SECRET);
    return stored !== undefined && clusterText(stored) === clusterText(hub);
  } catch (error) {
    if (error instanceof KubeconfigError) return false;
    throw error;
  }
}

/** Two descriptions of a hub are the same if they are written the same: name, server, proxy, authority. */
function clusterText(cluster: KubeconfigCluster): string {
  return kubeconfigText({ clusters: [cluster], users: [], contexts: [] });
}

function chainOf(certificates: string): Certificate[] {
  try {
    return parseCertificates(certificates);
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}

/** Whether the private key is the one that the certificate was made for. */
export function belongsTo({ publicKey }: Certificate, key: string): boolean {
  try {
    return publicKeyDer(readPublicKey(key)).equals(publicKeyDer(publicKey));
  } catch (error) {
    if (error instanceof PkiError) return false;
    throw error;
  }
}
