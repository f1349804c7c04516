/** The token that lies on the hub: whether it is still ours and good, and how long. */
import { createHash } from "node:crypto";
import { CLUSTER_ACCESS } from "#api/cluster";
import type { Secret, ServiceAccount } from "#api/core";
import { isObject, parseJson } from "#lib/json";
import type { Unusable } from "./hub-identity.ts";

/**
 * On the service account, which nobody on the hub can write: the SHA-256 of the token that we put on the hub, so that
 * an agent that was restarted knows its own from one that somebody put in its place.
 */
export const TOKEN_DIGEST = "access.capstan.dev/token-digest";

export interface AccessToken {
  digest: string;
  notBefore: Date;
  notAfter: Date;
}

/** The token in the Secret, if it is the one with this digest, of this very service account, and not expired. */
export function accessTokenIn(
  secret: Secret,
  account: ServiceAccount,
  expected: string | undefined,
  now: Date,
): AccessToken | Unusable {
  const text = Buffer.from(secret.data?.[CLUSTER_ACCESS.key] ?? "", "base64").toString("utf8");
  if (text === "") return { why: "there is none yet" };
  const digest = digestOf(text);
  if (digest !== expected) return { why: "somebody put another in its place" };
  const claims = claimsOf(text);
  if (!claims) return { why: "it does not tell how long it is good for" };
  if (claims.uid !== account.metadata.uid) return { why: "its service account was replaced" };
  if (now >= claims.notAfter) return { why: "it has expired" };
  return { digest, notBefore: claims.notBefore, notAfter: claims.notAfter };
}

/** The Secret with this token as all of its content. */
export function withToken(secret: Secret, token: string): Secret {
  return { ...secret, data: { [CLUSTER_ACCESS.key]: Buffer.from(token).toString("base64") } };
}

export function digestOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** What a token says of itself. Nothing is proven by that; its digest tells that the spoke's server gave it to us. */
function claimsOf(token: string): { uid: string; notBefore: Date; notAfter: Date } | undefined {
  const claims = payloadOf(token);
  const kubernetes = claims?.["kubernetes.io"];
  const account = isObject(kubernetes) ? kubernetes.serviceaccount : undefined;
  const { iat, exp } = claims ?? {};
  if (!isObject(account) || typeof account.uid !== "string") return undefined;
  if (typeof iat !== "number" || typeof exp !== "number") return undefined;
  return { uid: account.uid, notBefore: new Date(iat * 1000), notAfter: new Date(exp * 1000) };
}

function payloadOf(token: string): Record<string, unknown> | undefined {
  try {
    const payload = parseJson(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return isObject(payload) ? payload : undefined;
  } catch {
    return undefined; // no JSON: then no token of a service account either
  }
}
