import { createHash } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { looksLikeToken, type TokenKey } from "#lib/pki";
import type { UserInfo } from "../resource.ts";
import { bootstrapUser, looksLikeBootstrapToken } from "./bootstrap-tokens.ts";
import { clientCertificates } from "./client-certificates.ts";
import type { ObjectReader } from "./object-reader.ts";
import { secretTokens } from "./secret-tokens.ts";
import { serviceAccountTokens } from "./service-account-tokens.ts";
import { authenticated } from "./users.ts";

export interface AuthenticatorOptions {
  readonly reader: ObjectReader;
  /** PEM bundles of the authorities whose client certificates are believed. */
  readonly clientCas: readonly string[];
  /** The keys that tokens of service accounts may be signed with. */
  readonly serviceAccountKeys: readonly TokenKey[];
  readonly issuer: string;
  /** Whom tokens must be meant for to be good for requests to this server. */
  readonly audiences: readonly string[];
  readonly staticTokens?: ReadonlyMap<string, UserInfo>;
  /** Told whenever somebody is recognised by the token in this Secret. */
  onSecretUsed?(secret: DynamicObject): void;
  readonly clock: Clock;
}

export interface Credentials {
  /** The certificate that the client has proven to hold, as DER; verified here. */
  readonly peerCertificate?: Buffer | undefined;
  readonly bearerToken?: string | undefined;
}

/** What a token is worth for some audiences. */
export type TokenReviewResult =
  | { readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly user?: undefined; readonly error?: string };

export interface Authenticator {
  /** Who asks: `undefined` without any credentials, `"invalid"` when those that are shown prove nothing. */
  authenticate(credentials: Credentials): Promise<UserInfo | "invalid" | undefined>;
  /** Judges a token on behalf of somebody else; without audiences for this server. */
  reviewToken(token: string, audiences?: readonly string[]): Promise<TokenReviewResult>;
}

const INVALID_TOKEN = "invalid bearer token";

/**
 * Recognises who asks, in this order: client certificate, static token, bootstrap token, token of a service account
 * from its Secret or on request.
 * A certificate that proves nothing does not hide a good token; alone it is invalid, not anonymous, so that
 * a client of another cluster learns that it came to the wrong one.
 */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { reader, clientCas, serviceAccountKeys, issuer, audiences: ownAudiences, staticTokens, clock } = options;
  const certificateUser = clientCertificates(clientCas);
  const verifyServiceAccount = serviceAccountTokens({ reader, keys: serviceAccountKeys, issuer });
  const verifySecretToken = secretTokens({ reader, keys: serviceAccountKeys, audiences: ownAudiences });
  // By hash: looking up the token itself would tell by its time how much of it is right.
  const staticUsers = new Map([...(staticTokens ?? [])].map(([token, user]) => [sha256(token), authenticated(user)]));

  function review(token: string, audiences: readonly string[]): TokenReviewResult {
    const now = clock.now();
    const user =
      staticUsers.get(sha256(token)) ??
      (looksLikeBootstrapToken(token) ? bootstrapUser(reader, token, now) : undefined);
    if (user) {
      // These tokens name no audience; they are meant for this server.
      const accepted = ownAudiences.filter((audience) => audiences.includes(audience));
      return accepted.length > 0 ? { user, audiences: accepted } : {};
    }
    if (!looksLikeToken(token)) return { error: INVALID_TOKEN };
    const { secret, ...held } = verifySecretToken(token, audiences);
    if (secret) options.onSecretUsed?.(secret);
    const verdict = held.user || held.reason !== undefined ? held : verifyServiceAccount(token, audiences, now);
    if (verdict.user) return verdict;
    return { error: verdict.reason === undefined ? INVALID_TOKEN : `[${INVALID_TOKEN}, ${verdict.reason}]` };
  }

  return {
    async authenticate({ peerCertificate, bearerToken }) {
      const fromCertificate = peerCertificate && certificateUser(peerCertificate, clock.now());
      if (fromCertificate) return fromCertificate;
      if (bearerToken) return review(bearerToken, ownAudiences).user ?? "invalid";
      return peerCertificate ? "invalid" : undefined;
    },

    async reviewToken(token, audiences) {
      return review(token, audiences && audiences.length > 0 ? audiences : ownAudiences);
    },
  };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
