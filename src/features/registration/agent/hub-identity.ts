/** Who this agent is on the hub, and whom it takes for the hub, as the Secret on the spoke keeps it. */
import { createHash } from "node:crypto";
import { AgentIdentity } from "#api/cluster";
import type { Secret } from "#api/core";
import { type KubeconfigCluster, KubeconfigError, kubeconfigText, type Material, parseKubeconfig } from "#kube";
import { type Certificate, PkiError, parseCertificates, publicKeyDer } from "#lib/pki";

/** The Secret that holds the identity; other agents on the spoke read it too. */
export const HUB_SECRET = "hub-kubeconfig-secret";

export const DataKey = {
  kubeconfig: "kubeconfig",
  clusterName: "cluster-name",
  agentName: "agent-name",
  certificate: "tls.crt",
  key: "tls.key",
} as const;

/** On the Secret: the mark of the bootstrap kubeconfig's authority at the time when the hub told us of a newer one. */
export const LEARNED_ANNOTATION = "registration.capstan.dev/authority-learned-beyond";

/** On the Secret: the mark of the bootstrap kubeconfig with which the cluster has asked last. */
export const ASKED_ANNOTATION = "registration.capstan.dev/asked-with";

/** What a cluster and its agent are called, on the hub and in the Secret. */
export interface AgentNames {
  readonly clusterName: string;
  readonly agentName: string;
}

/** Which hub, and as whom. */
export interface HubTarget extends AgentNames {
  /** The hub as the bootstrap kubeconfig describes it. */
  readonly hub: KubeconfigCluster;
  /** Tells bootstrap kubeconfigs apart without repeating them. */
  readonly askedWith: string;
  /** A certificate in PEM that is of no use any more, though it has not expired. */
  readonly refused?: {
    readonly certificate: string;
    readonly why: string;
    /** Whether the hub may come to know it again. */
    readonly mayReturn: boolean;
  };
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

/** Whether the Secret holds more than names. */
function holdsIdentity(secret: Secret | undefined): boolean {
  return textIn(secret, DataKey.kubeconfig) !== "" && textIn(secret, DataKey.certificate) !== "";
}

/** The names that the Secret keeps; an agent whose name was lost is found in its certificate. Empty where there is none. */
export function keptNames(secret: Secret | undefined): AgentNames {
  const clusterName = textIn(secret, DataKey.clusterName);
  const [leaf] = secret ? reading(secret).chain : [];
  const { commonName = "" } = leaf?.subject ?? {};
  const own = AgentIdentity.user(clusterName, "");
  const certified = clusterName !== "" && commonName.startsWith(own) ? commonName.slice(own.length) : "";
  return { clusterName, agentName: textIn(secret, DataKey.agentName) || certified };
}

/**
 * What has to be written, encoded, so that the Secret keeps these names; undefined if it does. An identity that lies
 * there is not renamed: it may be wanted again, and until then it is of no use to anybody who looks at its names.
 */
export function namesToKeep(
  secret: Secret | undefined,
  { clusterName, agentName }: AgentNames,
): Record<string, string> | undefined {
  const isFixed = holdsIdentity(secret);
  const names = { [DataKey.clusterName]: clusterName, [DataKey.agentName]: agentName };
  const missing = Object.entries(names).filter(([key, name]) => {
    const there = textIn(secret, key);
    return isFixed ? there === "" : there !== name;
  });
  return missing.length === 0 ? undefined : encoded(Object.fromEntries(missing));
}

/** The identity that the Secret holds, if it is one of this cluster on this very hub and still good. */
export function hubIdentity(secret: Secret | undefined, target: HubTarget, now: Date): HubIdentity | Unusable {
  const read = (key: string) => textIn(secret, key);
  const agentName = read(DataKey.agentName);
  const certificate = read(DataKey.certificate);
  const key = read(DataKey.key);

  if (!secret || (certificate === "" && read(DataKey.kubeconfig) === "")) return { why: "there is none yet" };
  if (read(DataKey.clusterName) !== target.clusterName) return { why: "it belongs to another cluster name" };
  if (agentName !== target.agentName) return { why: "it belongs to another agent name" };
  const stored = storedHub(secret);
  if (!stored || !isSamePlace(stored, target.hub)) return { why: "it is for another hub" };

  const { chain, hasItsKey } = reading(secret);
  const [leaf] = chain;
  if (!leaf) return { why: "it has no certificate" };
  if (leaf.subject.commonName !== AgentIdentity.user(target.clusterName, agentName)) {
    return { why: "its certificate names someone else" };
  }
  if (!hasItsKey) return { why: "its key is not the certificate's" };
  const notAfter = new Date(Math.min(...chain.map((each) => each.notAfter.getTime())));
  if (now >= notAfter) return { why: "its certificate has expired" };
  if (certificate === target.refused?.certificate) return { why: target.refused.why };
  return { agentName, certificate, key, notBefore: leaf.notBefore, notAfter };
}

/**
 * The hub as it is to be trusted. The bootstrap kubeconfig says where it is and by whose word; an authority that the
 * agent has learned from the hub since is newer, until somebody puts another into the bootstrap kubeconfig.
 */
export function trustedHub(secret: Secret | undefined, hub: KubeconfigCluster): KubeconfigCluster {
  const stored = storedHub(secret);
  const isLearned = secret?.metadata.annotations?.[LEARNED_ANNOTATION] === authorityMark(hub);
  return stored?.ca && isLearned && isSamePlace(stored, hub) ? { ...hub, ca: stored.ca } : hub;
}

/** Tells authorities apart without repeating them. */
export function authorityMark({ ca }: KubeconfigCluster): string {
  return markOf(JSON.stringify(ca ?? {}));
}

export function markOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Whether the cluster has asked with this bootstrap kubeconfig already. Who has noted nothing is not said to ask anew. */
export function hasAskedWith(secret: Secret | undefined, { askedWith }: HubTarget): boolean {
  return (secret?.metadata.annotations?.[ASKED_ANNOTATION] ?? askedWith) === askedWith;
}

/** Whether the Secret's kubeconfig trusts the hub in the same way. */
export function trustsAs(secret: Secret | undefined, hub: KubeconfigCluster): boolean {
  const stored = storedHub(secret);
  return stored !== undefined && authorityMark(stored) === authorityMark(hub);
}

/** What the Secret holds for an identity, encoded. Agents mount it, so the files are named relative to it. */
export function secretData(
  { hub, clusterName }: Pick<HubTarget, "hub" | "clusterName">,
  { agentName, certificate, key }: Pick<HubIdentity, "agentName" | "certificate" | "key">,
): Record<string, string> {
  return encoded({
    [DataKey.kubeconfig]: mountedKubeconfig(hub),
    [DataKey.clusterName]: clusterName,
    [DataKey.agentName]: agentName,
    [DataKey.certificate]: certificate,
    [DataKey.key]: key,
  });
}

/** Only the way to the hub: for an identity that stays as it is. */
export function wayData(hub: KubeconfigCluster): Record<string, string> {
  return encoded({ [DataKey.kubeconfig]: mountedKubeconfig(hub) });
}

function mountedKubeconfig(hub: KubeconfigCluster): string {
  return kubeconfigOf(hub, { file: DataKey.certificate }, { file: DataKey.key });
}

function encoded(data: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
}

/** A kubeconfig that stands for itself, with certificate and key inside. */
export function identityKubeconfig(hub: KubeconfigCluster, { certificate, key }: HubIdentity): string {
  return kubeconfigOf(hub, { pem: certificate }, { pem: key });
}

/** The hub as it answers to nobody in particular. */
export function anonymousKubeconfig({ file: _, ...hub }: KubeconfigCluster): string {
  const context = { name: "anonymous", cluster: hub.name, user: "" };
  return kubeconfigText({ clusters: [hub], users: [], contexts: [context], current: context.name });
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

interface Reading {
  readonly hub: KubeconfigCluster | undefined;
  readonly chain: readonly Certificate[];
  readonly hasItsKey: boolean;
}

/** Objects that were read are never changed, and keys are costly to read: so each part of a Secret is read once. */
const readings = new WeakMap<Secret, Reading>();

function reading(secret: Secret): Reading {
  const known = readings.get(secret);
  if (known) return known;
  const chain = chainOf(textIn(secret, DataKey.certificate));
  const [leaf] = chain;
  let hasItsKey: boolean | undefined;
  const read = {
    hub: readHub(secret),
    chain,
    get hasItsKey() {
      hasItsKey ??= leaf !== undefined && belongsTo(leaf, textIn(secret, DataKey.key));
      return hasItsKey;
    },
  };
  readings.set(secret, read);
  return read;
}

/** The hub of the Secret's kubeconfig; undefined where it makes no sense. */
function storedHub(secret: Secret | undefined): KubeconfigCluster | undefined {
  return secret && reading(secret).hub;
}

function readHub(secret: Secret): KubeconfigCluster | undefined {
  try {
    return currentHub(textIn(secret, DataKey.kubeconfig), HUB_SECRET);
  } catch (error) {
    if (error instanceof KubeconfigError) return undefined;
    throw error;
  }
}

/**
 * Two descriptions mean the same hub if they are written the same: name, server, proxy. Its authority is not who it is
 * but how it shows who it is: a hub with a new one may well know us, and says so when it does not.
 */
function isSamePlace(a: KubeconfigCluster, b: KubeconfigCluster): boolean {
  const place = ({ ca: _, ...cluster }: KubeconfigCluster) =>
    kubeconfigText({ clusters: [cluster], users: [], contexts: [] });
  return place(a) === place(b);
}

function chainOf(certificates: string): Certificate[] {
  try {
    return parseCertificates(certificates);
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}

/** By a mark of the key, its public half: to work it out takes longer than all else that an agent does to look at itself. */
const publicHalves = new Map<string, Buffer>();
/** An agent has one key, and another while it is renewed; a process may have many agents. */
const MOST_KEYS = 1_000;

/** Whether the private key is the one that the certificate was made for. */
export function belongsTo({ publicKeyInfo }: Certificate, key: string): boolean {
  try {
    return publicHalfOf(key).equals(publicKeyInfo);
  } catch (error) {
    if (error instanceof PkiError) return false;
    throw error;
  }
}

function publicHalfOf(key: string): Buffer {
  const mark = markOf(key);
  const known = publicHalves.get(mark);
  if (known) return known;
  const half = publicKeyDer(key);
  if (publicHalves.size >= MOST_KEYS) publicHalves.clear();
  publicHalves.set(mark, half);
  return half;
}
