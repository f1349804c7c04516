import { type Certificate, parseCertificate } from "./certificate.ts";
import { PkiError } from "./error.ts";
import { isSignedBy } from "./keys.ts";
import { ANY_EXTENDED_KEY_USAGE, CLIENT_AUTH } from "./oids.ts";

/** Why a certificate proves nothing. */
export type Distrust = "malformed" | "issuer" | "signature" | "not-yet-valid" | "expired" | "usage";

export type ClientVerification =
  | {
      readonly trusted: true;
      readonly certificate: Certificate;
      /** The authority whose key signed it. */
      readonly authority: Certificate;
    }
  | { readonly trusted: false; readonly reason: Distrust; readonly message: string };

/**
 * Whether one of the authorities vouches for this client now. Name, key, dates and usage are looked at; that
 * the client holds the private key is proven by the TLS handshake.
 */
export function verifyClientCertificate(presented: {
  readonly der: Buffer;
  readonly cas: readonly Certificate[];
  readonly now: Date;
}): ClientVerification {
  const { der, cas, now } = presented;
  const certificate = readOrReason(der);
  if (typeof certificate === "string") return distrust("malformed", certificate);
  if (certificate.unknownCritical.length > 0) {
    return distrust("malformed", `critical extensions are unknown: ${certificate.unknownCritical.join(", ")}`);
  }
  const named = cas.filter(({ subject }) => subject.raw.equals(certificate.issuer.raw));
  if (named.length === 0) return distrust("issuer", "the certificate is signed by an unknown authority");
  const { algorithm, data, signature } = certificate.signed;
  const authority = named.find(({ publicKey }) => isSignedBy(publicKey, algorithm, data, signature));
  if (!authority) return distrust("signature", "the certificate carries a signature that is not its issuer's");

  // A certificate is worth no more than the one that vouches for it.
  for (const { notBefore, notAfter } of [certificate, authority]) {
    if (now < notBefore) return distrust("not-yet-valid", "the certificate is not valid yet");
    if (now > notAfter) return distrust("expired", "the certificate has expired");
  }
  const { extendedKeyUsage: purposes } = certificate;
  if (purposes && !purposes.includes(CLIENT_AUTH) && !purposes.includes(ANY_EXTENDED_KEY_USAGE)) {
    return distrust("usage", "the certificate is not for client authentication");
  }
  return { trusted: true, certificate, authority };
}

function readOrReason(der: Buffer): Certificate | string {
  try {
    return parseCertificate(der);
  } catch (error) {
    if (error instanceof PkiError) return error.message;
    throw error;
  }
}

function distrust(reason: Distrust, message: string): ClientVerification {
  return { trusted: false, reason, message };
}
