import { createHash } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import { BoundedCache } from "#lib/bounded-cache";
import { isObject } from "#lib/json";
import { type Claims, signToken, type TokenKey, type TokenSigningKey, verifyToken } from "#lib/pki";
import { type ObjectReader, Stored } from "./object-reader.ts";
import type { ObjectIdentity, TokenVerdict } from "./service-account-tokens.ts";
import { authenticated, serviceAccountGroups, serviceAccountName } from "./users.ts";

/** What a Secret with the token of a service account is recognised by. */
export const TokenSecret = {
  type: "kubernetes.io/service-account-token",
  accountName: "kubernetes.io/service-account.name",
  accountUid: "kubernetes.io/service-account.uid",
  /** Label: the day of the latest request with the token. */
  lastUsed: "kubernetes.io/legacy-token-last-used",
  /** Label: the token is refused as long as it is there. */
  invalidSince: "kubernetes.io/legacy-token-invalid-since",
} as const;

const ISSUER = "kubernetes/serviceaccount";
const Claim = {
  namespace: "kubernetes.io/serviceaccount/namespace",
  secretName: "kubernetes.io/serviceaccount/secret.name",
  accountName: "kubernetes.io/serviceaccount/service-account.name",
  accountUid: "kubernetes.io/serviceaccount/service-account.uid",
} as const;

export interface SecretTokenOrder {
  readonly key: TokenSigningKey;
  readonly serviceAccount: DynamicObject;
  readonly secret: DynamicObject;
}

/** A signed token that lives as long as its Secret holds it: it has no end, and no audience but this server. */
export function issueSecretToken({ key, serviceAccount, secret }: SecretTokenOrder): string {
  const { namespace = "", name, uid = "" } = serviceAccount.metadata;
  return signToken(key, {
    iss: ISSUER,
    [Claim.namespace]: namespace,
    [Claim.secretName]: secret.metadata.name,
    [Claim.accountName]: name,
    [Claim.accountUid]: uid,
    sub: serviceAccountName(namespace, name),
  });
}

interface SecretTokenClaims {
  readonly namespace: string;
  readonly secretName: string;
  readonly serviceAccount: ObjectIdentity;
}

export interface SecretTokensOptions {
  readonly reader: ObjectReader;
  readonly keys: readonly TokenKey[];
  /** Whom these tokens are meant for: they do not say. */
  readonly audiences: readonly string[];
}

/** The verdict on a token, with the Secret that vouches for it. */
export type SecretTokenVerdict = TokenVerdict & { readonly secret?: DynamicObject };

const REMEMBERED = 4096;

/**
 * Checks tokens from Secrets. That a token is signed is remembered by its hash; whether the account still lives
 * and the Secret still holds this very token is asked every time.
 */
export function secretTokens({ reader, keys, audiences: ownAudiences }: SecretTokensOptions) {
  const known = new BoundedCache<SecretTokenClaims>(REMEMBERED);

  function read(token: string): SecretTokenClaims | undefined {
    const hash = createHash("sha256").update(token).digest("base64");
    const remembered = known.get(hash);
    if (remembered) return remembered;
    const result = verifyToken(token, keys);
    const claims = result.trusted ? readClaims(result.claims) : undefined;
    if (claims) known.set(hash, claims);
    return claims;
  }

  return (token: string, audiences: readonly string[]): SecretTokenVerdict => {
    const claims = read(token);
    const accepted = ownAudiences.filter((audience) => audiences.includes(audience));
    if (!claims || accepted.length === 0) return {};
    const { namespace, secretName, serviceAccount } = claims;
    const secret = reader.get(Stored.secrets, `${namespace}/${secretName}`);
    if (!secret || !vouches(secret, token)) return { reason: "service account token has been invalidated" };
    const account = reader.get(Stored.serviceAccounts, `${namespace}/${serviceAccount.name}`)?.metadata;
    if (!account || account.deletionTimestamp !== undefined || account.uid !== serviceAccount.uid) {
      return { reason: `service account ${namespace}/${serviceAccount.name} has been deleted` };
    }
    const user = authenticated({
      username: serviceAccountName(namespace, serviceAccount.name),
      uid: serviceAccount.uid,
      groups: serviceAccountGroups(namespace),
    });
    return { user, audiences: accepted, secret };
  };
}

function vouches({ metadata, data }: DynamicObject, token: string): boolean {
  if (metadata.deletionTimestamp !== undefined || metadata.labels?.[TokenSecret.invalidSince]) return false;
  const held = isObject(data) ? data.token : undefined;
  return typeof held === "string" && Buffer.from(held, "base64").toString("latin1") === token;
}

function readClaims(claims: Claims): SecretTokenClaims | undefined {
  const {
    [Claim.namespace]: namespace,
    [Claim.secretName]: secretName,
    [Claim.accountName]: name,
    [Claim.accountUid]: uid,
  } = claims;
  if (claims.iss !== ISSUER || typeof namespace !== "string" || typeof secretName !== "string") return undefined;
  if (typeof name !== "string" || typeof uid !== "string" || claims.sub !== serviceAccountName(namespace, name)) {
    return undefined;
  }
  return { namespace, secretName, serviceAccount: { name, uid } };
}
