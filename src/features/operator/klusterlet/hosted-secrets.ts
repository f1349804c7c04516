/** In hosted mode: who the agents are on the managed cluster. Service accounts there, and their tokens here. */
import { TokenRequest } from "#api/authentication";
import { Secret, SecretType, ServiceAccount } from "#api/core";
import { apiVersionOf, type DynamicObject, keyOf } from "#api/meta";
import { type Connection, type Kubeconfig, kubeconfigText } from "#kube";
import { timestamp } from "#lib/clock";
import { isObject, parseJson } from "#lib/json";
import type { Cluster } from "#runtime";
import { complete } from "../kit/index.ts";
import { textIn } from "./kubeconfig-secret.ts";
import { Account, ManagedSecret } from "./names.ts";
import type { KlusterletWish } from "./wish.ts";

/** Asked for; servers may give less. */
const TOKEN_SECONDS = 8640 * 3600;
/** A token is replaced when so much of its life is left. */
const LEFT = 1 / 5;

const Key = {
  kubeconfig: "kubeconfig",
  token: "token",
  expiration: "expiration",
  namespace: "serviceaccount_namespace",
  name: "serviceaccount_name",
  uid: "serviceaccount_uid",
} as const;

export interface HostedSecretsOptions {
  readonly managed: Cluster;
  /** The way to the managed cluster as its administrator; who that is stays behind. */
  readonly connection: Connection;
  /** An account on the managed cluster, if it is there already. */
  readonly account: (key: string) => Promise<ServiceAccount | undefined>;
  /** A Secret as it is now. */
  readonly existing: (key: string) => Promise<Secret | undefined>;
  readonly now: Date;
  readonly signal: AbortSignal;
}

export interface HostedSecrets {
  readonly objects: readonly DynamicObject[];
  /** Whether an account is still missing, so that not all could be made. */
  readonly isIncomplete: boolean;
  /** Milliseconds until one of them has to be made anew. */
  readonly renewIn: number;
}

export async function hostedSecrets(wish: KlusterletWish, options: HostedSecretsOptions): Promise<HostedSecrets> {
  const wanted = [
    [ManagedSecret.registration, Account.registration(wish)],
    [ManagedSecret.work, Account.work(wish)],
  ] as const;
  const made = await Promise.all(wanted.map(([secret, account]) => one(wish, secret, account, options)));
  const found = made.filter((each) => each !== undefined);
  return {
    objects: found.map(({ object }) => object),
    isIncomplete: found.length < made.length,
    renewIn: Math.min(...found.map(({ renewIn }) => renewIn)),
  };
}

async function one(
  { namespace, agentNamespace }: KlusterletWish,
  name: string,
  accountName: string,
  options: HostedSecretsOptions,
): Promise<{ object: DynamicObject; renewIn: number } | undefined> {
  const { managed, connection, now, signal } = options;
  const account = await options.account(`${namespace}/${accountName}`);
  if (!account) return undefined;
  const stored = await options.existing(`${agentNamespace}/${name}`);
  const kept = textIn(stored, Key.uid) === account.metadata.uid ? textIn(stored, Key.token) : "";
  const token = isGood(kept, now) ? kept : await requestToken(managed, account, signal);
  const life = lifeOf(token);
  const content = {
    [Key.kubeconfig]: kubeconfigText(kubeconfigWithToken(connection, name)),
    [Key.token]: token,
    [Key.expiration]: life ? timestamp(life.notAfter) : "",
    [Key.namespace]: namespace,
    [Key.name]: accountName,
    [Key.uid]: account.metadata.uid ?? "",
  };
  const data = Object.fromEntries(
    Object.entries(content).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
  );
  const metadata = { name, namespace: agentNamespace };
  return {
    object: complete(Secret, { metadata, type: SecretType.opaque, data }),
    renewIn: life ? Math.max(renewalOf(life) - now.getTime(), 0) : Number.POSITIVE_INFINITY,
  };
}

/** The token lies beside it in a file, so that one that is replaced is found without reading the kubeconfig again. */
function kubeconfigWithToken({ server, ca, insecure, serverName, proxy }: Connection, name: string): Kubeconfig {
  const cluster = {
    name,
    server,
    ...(ca !== undefined && { ca: { pem: ca } }),
    ...(insecure && { insecure }),
    ...(serverName !== undefined && { serverName }),
    ...(proxy !== undefined && { proxyUrl: proxy }),
  };
  return {
    clusters: [cluster],
    users: [{ name, tokenFile: Key.token }],
    contexts: [{ name, cluster: name, user: name }],
    current: name,
  };
}

interface Life {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** A token that does not tell how long it is good for is taken to be good for ever. */
function isGood(token: string, now: Date): boolean {
  const life = lifeOf(token);
  return token !== "" && (!life || now.getTime() < renewalOf(life));
}

function renewalOf({ notBefore, notAfter }: Life): number {
  return notAfter.getTime() - LEFT * (notAfter.getTime() - notBefore.getTime());
}

/** What a token says of itself. */
function lifeOf(token: string): Life | undefined {
  try {
    const claims = parseJson(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    if (!isObject(claims) || typeof claims.iat !== "number" || typeof claims.exp !== "number") return undefined;
    return { notBefore: new Date(claims.iat * 1000), notAfter: new Date(claims.exp * 1000) };
  } catch {
    return undefined; // no JSON: then no token of a service account either
  }
}

async function requestToken({ client, name }: Cluster, account: ServiceAccount, signal: AbortSignal): Promise<string> {
  const request = {
    apiVersion: apiVersionOf(TokenRequest),
    kind: TokenRequest.kind,
    metadata: {},
    spec: { expirationSeconds: TOKEN_SECONDS },
  };
  const { status } = await client.createSub<TokenRequest, ServiceAccount>(
    ServiceAccount,
    keyOf(account),
    "token",
    request,
    { signal },
  );
  if (!status?.token) throw new Error(`${name} gave no token for service account ${keyOf(account)}`);
  return status.token;
}
