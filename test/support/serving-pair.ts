/** Certificates for webhooks under test, for an hour and this machine only. */
import { type CertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import type { ServingPair } from "#runtime";

export function servingPair(ca: CertificateAuthority): ServingPair {
  const { publicKey, privateKey } = generateKeyPair();
  const now = Date.now();
  const certificate = issueCertificate({
    ca,
    subject: { commonName: "webhook" },
    publicKey,
    usages: ["digital signature", "server auth"],
    ipAddresses: ["127.0.0.1"],
    notBefore: new Date(now - 300_000),
    notAfter: new Date(now + 3_600_000),
  });
  return { certificate, key: privateKey };
}
