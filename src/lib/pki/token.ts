import { createHash, type KeyObject, sign as signBytes, verify as verifyBytes } from "node:crypto";
import { isObject } from "#lib/json";
import { PkiError } from "./error.ts";
import { type PrivateKey, type PublicKey, publicKeyDer, readPrivateKey, readPublicKey } from "./keys.ts";

/** A public key that tokens are checked with. Its algorithm is the key's, never the token's choice. */
export interface TokenKey {
  /** Unpadded base64url of the SHA-256 of the PKIX DER. */
  readonly keyId: string;
  readonly algorithm: "ES256" | "RS256";
  readonly publicKey: KeyObject;
}

export interface TokenSigningKey extends TokenKey {
  readonly privateKey: KeyObject;
}

export type Claims = Readonly<Record<string, unknown>>;

export type TokenVerification =
  | { readonly trusted: true; readonly claims: Claims }
  | { readonly trusted: false; readonly message: string };

/** Reads a public key that signed tokens: P-256 or RSA. */
export function tokenKey(key: PublicKey): TokenKey {
  const publicKey = readPublicKey(key);
  const keyId = createHash("sha256").update(publicKeyDer(publicKey)).digest("base64url");
  return { keyId, algorithm: algorithmOf(publicKey), publicKey };
}

/** Reads a private key to sign tokens with: P-256 or RSA. */
export function tokenSigningKey(key: PrivateKey): TokenSigningKey {
  const privateKey = readPrivateKey(key);
  return { ...tokenKey(privateKey), privateKey };
}

/** A signed JWT in compact form. */
export function signToken({ keyId, algorithm, privateKey }: TokenSigningKey, claims: Claims): string {
  const signed = `${encode({ alg: algorithm, kid: keyId })}.${encode(claims)}`;
  const signature = signBytes("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

/** Longer ones are refused unread; ours have about a thousand characters. */
const LONGEST_TOKEN = 16 * 1024;
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Whether the text has the form of a token; nothing is proven by that. */
export function looksLikeToken(text: string): boolean {
  return text.length <= LONGEST_TOKEN && COMPACT.test(text);
}

/** Whether one of the keys signed the token. Dates, issuer and audience are for the caller to judge. */
export function verifyToken(token: string, keys: readonly TokenKey[]): TokenVerification {
  if (!looksLikeToken(token)) return distrust("the token is malformed");
  const [header = "", payload = "", signature = ""] = token.split(".");
  const claimedHeader = decode(header);
  if (!claimedHeader) return distrust("the token's header is malformed");
  if (Object.hasOwn(claimedHeader, "crit")) return distrust("the token demands extensions that are unknown");
  const key = keys.find(({ keyId }) => keyId === claimedHeader.kid);
  if (!key) return distrust("the token is signed by an unknown key");
  if (claimedHeader.alg !== key.algorithm) return distrust("the token's algorithm is not its key's");
  if (!isSigned(key, `${header}.${payload}`, signature)) return distrust("the token's signature is wrong");
  const claims = decode(payload);
  return claims ? { trusted: true, claims } : distrust("the token's claims are malformed");
}

export interface JsonWebKey {
  readonly use: "sig";
  readonly kty: string;
  readonly kid: string;
  readonly alg: string;
  readonly [parameter: string]: string;
}

/** The keys in the form in which others fetch them to check tokens by themselves. */
export function jsonWebKeySet(keys: readonly TokenKey[]): { keys: JsonWebKey[] } {
  return {
    keys: keys.map(({ keyId, algorithm, publicKey }) => {
      const { kty = "", ...parameters } = publicKey.export({ format: "jwk" }) as Record<string, string>;
      return { use: "sig", kty, kid: keyId, alg: algorithm, ...parameters };
    }),
  };
}

function isSigned({ publicKey }: TokenKey, data: string, signature: string): boolean {
  try {
    const key = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
    return verifyBytes("sha256", Buffer.from(data), key, Buffer.from(signature, "base64url"));
  } catch {
    return false;
  }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): TokenKey["algorithm"] {
  if (asymmetricKeyType === "rsa") return "RS256";
  if (asymmetricKeyType === "ec" && asymmetricKeyDetails?.namedCurve === "prime256v1") return "ES256";
  throw new PkiError("key: tokens are signed with P-256 or RSA");
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decode(part: string): Claims | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function distrust(message: string): TokenVerification {
  return { trusted: false, message };
}
