import { createHash } from "node:crypto";
import { BoundedCache } from "#lib/bounded-cache";
import { parseCertificates, verifyClientCertificate } from "#lib/pki";
import type { UserInfo } from "../resource.ts";
import { authenticated, Extra } from "./users.ts";

/** As many clients as are likely to be connected; a check that is not remembered costs half a millisecond. */
const REMEMBERED = 4096;

interface KnownClient {
  readonly user: UserInfo;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/**
 * Answers who a client certificate (DER) speaks for, or undefined where it proves nothing. What was verified is
 * remembered by hash, and by buffer, because all requests of a connection come with the same one and hashing takes
 * longer than a small read; whether it is still valid is asked every time.
 */
export function clientCertificates(cas: readonly string[]): (der: Buffer, now: Date) => UserInfo | undefined {
  const authorities = cas.flatMap(parseCertificates);
  const known = new BoundedCache<KnownClient>(REMEMBERED);
  const ofBuffer = new WeakMap<Buffer, KnownClient>();

  function verified(der: Buffer, now: Date): KnownClient | undefined {
    const hash = createHash("sha256").update(der).digest("hex");
    let client = known.get(hash);
    if (!client) {
      const result = verifyClientCertificate({ der, cas: authorities, now });
      if (!result.trusted || result.certificate.subject.commonName === "") return undefined;
      const { certificate, authority } = result;
      client = {
        user: userOf(certificate.subject, hash),
        notBefore: new Date(Math.max(+certificate.notBefore, +authority.notBefore)),
        notAfter: new Date(Math.min(+certificate.notAfter, +authority.notAfter)),
      };
      known.set(hash, client);
    }
    return client;
  }

  return (der, now) => {
    let client = ofBuffer.get(der);
    if (!client) {
      client = verified(der, now);
      if (!client) return undefined;
      ofBuffer.set(der, client);
    }
    return now >= client.notBefore && now <= client.notAfter ? client.user : undefined;
  };
}

function userOf(subject: { commonName: string; organizations: readonly string[] }, hash: string): UserInfo {
  return authenticated({
    username: subject.commonName,
    groups: subject.organizations,
    extra: { [Extra.credentialId]: [`X509SHA256=${hash}`] },
  });
}
