import { createHash, randomUUID } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import { BoundedCache } from "#lib/bounded-cache";
import { isObject } from "#lib/json";
import { type Claims, signToken, type TokenKey, type TokenSigningKey, verifyToken } from "#lib/pki";
import type { UserInfo } from "../resource.ts";
import { type ObjectReader, Stored } from "./object-reader.ts";
import { authenticated, Extra, serviceAccountGroups, serviceAccountName } from "./users.ts";

/** An object named together with its identity, so that a successor of the same name does not inherit anything. */
export interface ObjectIdentity {
  readonly name: string;
  readonly uid: string;
}

/** What a token dies with. */
export interface BoundObject extends ObjectIdentity {
  readonly kind: "Pod" | "Secret" | "Node";
  /** For a Pod: the node it runs on, which the token tells and does not depend on. */
  readonly node?: ObjectIdentity;
}

export interface TokenOrder {
  readonly key: TokenSigningKey;
  readonly issuer: string;
  readonly serviceAccount: DynamicObject;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly boundObject?: BoundObject;
  readonly now: Date;
}

/** The claim that holds what only Kubernetes knows. */
const KUBERNETES = "kubernetes.io";

/** A signed token of a service account, and when it ends. */
export function issueServiceAccountToken(order: TokenOrder): { token: string; expires: Date } {
  const { metadata } = order.serviceAccount;
  const { namespace = "", name, uid = "" } = metadata;
  const seconds = Math.floor(order.now.getTime() / 1000);
  const exp = seconds + order.expirationSeconds;
  const token = signToken(order.key, {
    aud: order.audiences,
    exp,
    iat: seconds,
    iss: order.issuer,
    jti: randomUUID(),
    [KUBERNETES]: { namespace, ...boundClaims(order.boundObject), serviceaccount: { name, uid } },
    nbf: seconds,
    sub: serviceAccountName(namespace, name),
  });
  return { token, expires: new Date(exp * 1000) };
}

function boundClaims(bound: BoundObject | undefined): Record<string, ObjectIdentity> {
  if (!bound) return {};
  const { kind, name, uid, node } = bound;
  return { [kind.toLowerCase()]: { name, uid }, ...(node && { node: { name: node.name, uid: node.uid } }) };
}

/** What a token of ours says, once its signature is known to be right. */
interface ServiceAccountClaims {
  readonly audiences: readonly string[];
  readonly expires: number;
  readonly notBefore: number;
  readonly tokenId: string | undefined;
  readonly namespace: string;
  readonly serviceAccount: ObjectIdentity;
  readonly pod: ObjectIdentity | undefined;
  readonly secret: ObjectIdentity | undefined;
  readonly node: ObjectIdentity | undefined;
}

export type TokenVerdict =
  | { readonly user: UserInfo; readonly audiences: readonly string[] }
  /** Without a reason the token is simply not one of ours. */
  | { readonly user?: undefined; readonly reason?: string };

export interface ServiceAccountTokensOptions {
  readonly reader: ObjectReader;
  readonly keys: readonly TokenKey[];
  readonly issuer: string;
}

const REMEMBERED = 4096;
/** A clock that was set back does not make fresh tokens useless; and who is being deleted may say goodbye. */
const LEEWAY_MS = 60 * 1000;

/**
 * Checks tokens of service accounts. That a token is signed is remembered by its hash; dates, audience, and
 * whether the account and the bound object still live are asked every time.
 */
export function serviceAccountTokens({ reader, keys, issuer }: ServiceAccountTokensOptions) {
  const known = new BoundedCache<ServiceAccountClaims>(REMEMBERED);

  function read(token: string): ServiceAccountClaims | undefined {
    const hash = createHash("sha256").update(token).digest("base64");
    const remembered = known.get(hash);
    if (remembered) return remembered;
    const result = verifyToken(token, keys);
    const claims = result.trusted ? readClaims(result.claims, issuer) : undefined;
    if (claims) known.set(hash, claims);
    return claims;
  }

  return (token: string, audiences: readonly string[], now: Date): TokenVerdict => {
    const claims = read(token);
    if (!claims) return {};
    const accepted = claims.audiences.filter((audience) => audiences.includes(audience));
    if (accepted.length === 0) {
      return {
        reason: `token audiences ${quoted(claims.audiences)} is invalid for the target audiences ${quoted(audiences)}`,
      };
    }
    const reason = timeReason(claims, now) ?? lifeReason(reader, claims, now);
    return reason === undefined ? { user: userOf(claims), audiences: accepted } : { reason };
  };
}

function timeReason({ expires, notBefore }: ServiceAccountClaims, now: Date): string | undefined {
  if (now.getTime() >= expires) return "service account token has expired";
  if (now.getTime() + LEEWAY_MS < notBefore) return "service account token is not valid yet";
  return undefined;
}

function lifeReason(reader: ObjectReader, claims: ServiceAccountClaims, now: Date): string | undefined {
  const { namespace, serviceAccount, pod, secret, node } = claims;
  const lives = (resource: string, key: string, { uid }: ObjectIdentity): boolean => {
    const metadata = reader.get(resource, key)?.metadata;
    if (!metadata || metadata.uid !== uid) return false;
    return (
      metadata.deletionTimestamp === undefined || Date.parse(metadata.deletionTimestamp) + LEEWAY_MS >= now.getTime()
    );
  };
  if (!lives(Stored.serviceAccounts, `${namespace}/${serviceAccount.name}`, serviceAccount)) {
    return `service account ${namespace}/${serviceAccount.name} has been deleted`;
  }
  const bound =
    (!secret || lives(Stored.secrets, `${namespace}/${secret.name}`, secret)) &&
    (!pod || lives(Stored.pods, `${namespace}/${pod.name}`, pod)) &&
    // The node of a Pod's token is for information only.
    (!node || pod !== undefined || lives(Stored.nodes, node.name, node));
  return bound ? undefined : "service account token has been invalidated";
}

function userOf({ namespace, serviceAccount, pod, node, tokenId }: ServiceAccountClaims): UserInfo {
  const extra = {
    ...(tokenId !== undefined && { [Extra.credentialId]: [`JTI=${tokenId}`] }),
    ...(node && { [Extra.nodeName]: [node.name], [Extra.nodeUid]: [node.uid] }),
    ...(pod && { [Extra.podName]: [pod.name], [Extra.podUid]: [pod.uid] }),
  };
  return authenticated({
    username: serviceAccountName(namespace, serviceAccount.name),
    uid: serviceAccount.uid,
    groups: serviceAccountGroups(namespace),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
}

function readClaims(claims: Claims, issuer: string): ServiceAccountClaims | undefined {
  const kubernetes = claims[KUBERNETES];
  if (claims.iss !== issuer || !isObject(kubernetes)) return undefined;
  const { namespace } = kubernetes;
  const serviceAccount = identity(kubernetes.serviceaccount);
  const { exp, nbf = 0, jti, sub, aud } = claims;
  if (typeof namespace !== "string" || !serviceAccount || typeof exp !== "number" || typeof nbf !== "number") {
    return undefined;
  }
  if (sub !== serviceAccountName(namespace, serviceAccount.name)) return undefined;
  const pod = identity(kubernetes.pod);
  const secret = identity(kubernetes.secret);
  const node = identity(kubernetes.node);
  // What cannot be read must not set a bound token free.
  const bound = { pod, secret, node };
  if (Object.entries(bound).some(([kind, read]) => kubernetes[kind] !== undefined && !read)) return undefined;
  return {
    audiences: (Array.isArray(aud) ? aud : [aud]).filter((audience) => typeof audience === "string"),
    expires: exp * 1000,
    notBefore: nbf * 1000,
    tokenId: typeof jti === "string" ? jti : undefined,
    namespace,
    serviceAccount,
    ...bound,
  };
}

function identity(value: unknown): ObjectIdentity | undefined {
  if (!isObject(value) || typeof value.name !== "string" || typeof value.uid !== "string") return undefined;
  return { name: value.name, uid: value.uid };
}

function quoted(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
}
