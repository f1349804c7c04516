import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import {
  type CertificateOrder,
  createCertificateAuthority,
  generateKeyPair,
  issueCertificate,
  PkiError,
  parseCertificate,
  parseCertificates,
  pem,
  pemBlocks,
  verifyClientCertificate,
} from "./index.ts";

const now = new Date("2026-06-01T12:00:00Z");
const later = (days: number) => new Date(now.getTime() + days * 24 * 3600 * 1000);
const ca = createCertificateAuthority({ commonName: "hub", now });
const client = generateKeyPair();

function issue(order: Partial<CertificateOrder> = {}): string {
  return issueCertificate({
    ca,
    subject: { commonName: "alice", organizations: ["devs", "ops"], organizationalUnits: ["u1"] },
    publicKey: client.publicKey,
    usages: ["digital signature", "key encipherment", "client auth"],
    notBefore: now,
    notAfter: later(1),
    ...order,
  });
}

const derOf = (text: string) => parseCertificate(text).der;

describe("issueCertificate", () => {
  it("makes what node:crypto reads and trusts", () => {
    const certificate = new X509Certificate(
      issue({ dnsNames: ["hub.local", "*.hub.local"], ipAddresses: ["127.0.0.1", "::1"] }),
    );

    expect(certificate.subject).toBe("O=devs\nO=ops\nOU=u1\nCN=alice");
    expect(certificate.issuer).toBe("CN=hub");
    expect(certificate.verify(new X509Certificate(ca.certificate).publicKey)).toBe(true);
    expect(certificate.checkIssued(new X509Certificate(ca.certificate))).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.checkHost("a.hub.local")).toBe("*.hub.local");
    expect(certificate.checkIP("::1")).toBe("::1");
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(new Date(certificate.validFrom)).toEqual(now);
    expect(new Date(certificate.validTo)).toEqual(later(1));
  });

  it("gives every certificate a serial number of its own", () => {
    const serials = Array.from({ length: 20 }, () => parseCertificate(issue()).serial);
    expect(new Set(serials).size).toBe(20);
    expect(serials.every((serial) => /^[4-7][0-9a-f]{31}$/.test(serial))).toBe(true);
  });

  it("never outlives its authority", () => {
    expect(parseCertificate(issue({ notAfter: later(36_500) })).notAfter).toEqual(
      parseCertificate(ca.certificate).notAfter,
    );
  });

  it("writes dates beyond 2049 in the other form", () => {
    const longLived = createCertificateAuthority({ commonName: "old", now, years: 40 });
    expect(parseCertificate(longLived.certificate).notAfter).toEqual(new Date("2066-06-01T12:00:00Z"));
    expect(new Date(new X509Certificate(longLived.certificate).validTo)).toEqual(new Date("2066-06-01T12:00:00Z"));
  });

  it("signs with an RSA authority", () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const rsa = createCertificateAuthority({ commonName: "rsa", now, key });
    const certificate = issue({ ca: rsa });

    expect(new X509Certificate(certificate).verify(new X509Certificate(rsa.certificate).publicKey)).toBe(true);
    const cas = parseCertificates(rsa.certificate);
    expect(verifyClientCertificate({ der: derOf(certificate), cas, now })).toMatchObject({ trusted: true });
  });

  it("serves and identifies in a TLS handshake", async () => {
    const today = new Date();
    const authority = createCertificateAuthority({ commonName: "live", now: today });
    const dates = { ca: authority, notBefore: today, notAfter: new Date(today.getTime() + 60_000) };
    const serverKey = generateKeyPair();
    const cert = issue({
      ...dates,
      publicKey: serverKey.publicKey,
      usages: ["digital signature", "server auth"],
      dnsNames: ["localhost"],
      ipAddresses: ["127.0.0.1"],
    });
    const server = createServer({
      cert,
      key: serverKey.privateKey,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: true,
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const accepted = once(server, "secureConnection") as Promise<[TLSSocket]>;
    const socket = connect({
      host: "127.0.0.1",
      port: (server.address() as AddressInfo).port,
      ca: authority.certificate,
      cert: issue(dates),
      key: client.privateKey,
    });
    try {
      const [peer] = await accepted;
      expect(peer.authorized).toBe(true);
      const der = peer.getPeerCertificate().raw;
      const cas = parseCertificates(authority.certificate);
      expect(verifyClientCertificate({ der, cas, now: new Date() })).toMatchObject({
        trusted: true,
        certificate: { subject: { commonName: "alice" } },
      });
      peer.destroy();
    } finally {
      socket.destroy();
      server.close();
    }
  });
});

describe("parseCertificate", () => {
  it("reads all that was written", () => {
    const names = { dnsNames: ["a.example"], ipAddresses: ["10.0.0.1"], emails: ["a@b.example"], uris: ["urn:x"] };
    const read = parseCertificate(
      issue({ usages: ["digital signature", "cert sign", "server auth", "any"], ...names }),
    );

    expect(read).toMatchObject({
      subject: { commonName: "alice", organizations: ["devs", "ops"], organizationalUnits: ["u1"] },
      issuer: { commonName: "hub" },
      notBefore: now,
      notAfter: later(1),
      isAuthority: false,
      keyUsage: [0, 5],
      extendedKeyUsage: ["1.3.6.1.5.5.7.3.1", "2.5.29.37.0"],
      unknownCritical: [],
      ...names,
    });
    expect(read.authorityKeyIdentifier).toEqual(parseCertificate(ca.certificate).subjectKeyIdentifier);
    expect(read.publicKey.export({ type: "spki", format: "pem" })).toBe(client.publicKey);
  });

  it("reads a bundle, and passes over what is no certificate in it", () => {
    const bundle = `# roots\n${ca.certificate}\n${client.privateKey}${issue()}`;
    expect(parseCertificates(bundle).map(({ subject }) => subject.commonName)).toEqual(["hub", "alice"]);
  });

  it("answers every broken input with a PkiError", () => {
    const whole = derOf(issue({ dnsNames: ["a.example"], ipAddresses: ["10.0.0.1"] }));
    const broken: Buffer[] = [];
    for (let length = 0; length < whole.length; length += 7) broken.push(whole.subarray(0, length));
    for (let at = 0; at < whole.length; at++) {
      const copy = Buffer.from(whole);
      copy[at] = (copy[at] ?? 0) ^ (1 << (at % 8));
      broken.push(copy);
    }
    const cas = parseCertificates(ca.certificate);
    for (const der of broken) {
      try {
        parseCertificate(der);
      } catch (error) {
        expect(error).toBeInstanceOf(PkiError);
      }
      expect(verifyClientCertificate({ der, cas, now: later(0.5) }).trusted).toBe(false);
    }
  });

  it("refuses a key on a curve that is not supported", () => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "secp256k1" });
    expect(() => issue({ publicKey })).toThrow(PkiError);
  });
});

describe("verifyClientCertificate", () => {
  const impostor = createCertificateAuthority({ commonName: "hub", now });
  const stranger = createCertificateAuthority({ commonName: "cluster1", now });
  const shortLived = createCertificateAuthority({ commonName: "hub", now, years: 0 });
  const [tampered] = pemBlocks(issue());
  tampered?.der.write("mallo", tampered.der.indexOf("alice"));

  it.each([
    ["a certificate of ours", issue(), now, "trusted"],
    ["one for any purpose", issue({ usages: ["digital signature", "any"] }), now, "trusted"],
    ["one that names no purpose, because that allows all", issue({ usages: ["digital signature"] }), now, "trusted"],
    ["one of another authority", issue({ ca: stranger }), now, "issuer"],
    ["one of another authority with the same name", issue({ ca: impostor }), now, "signature"],
    ["one that was changed", pem("CERTIFICATE", tampered?.der ?? Buffer.alloc(0)), now, "signature"],
    ["one that has expired", issue(), later(2), "expired"],
    ["one of tomorrow", issue({ notBefore: later(1), notAfter: later(2) }), now, "not-yet-valid"],
    ["one for servers only", issue({ usages: ["digital signature", "server auth"] }), now, "usage"],
  ])("judges %s", (_, certificate, at, verdict) => {
    const [block] = pemBlocks(certificate);
    const cas = parseCertificates(ca.certificate);
    const result = verifyClientCertificate({ der: block?.der ?? Buffer.alloc(0), cas, now: at });
    expect(result.trusted ? "trusted" : result.reason).toBe(verdict);
  });

  it("finds the right one among authorities of the same name", () => {
    const cas = parseCertificates(impostor.certificate + ca.certificate);
    expect(verifyClientCertificate({ der: derOf(issue()), cas, now })).toMatchObject({ trusted: true });
  });

  it("trusts nothing of an authority that has expired", () => {
    const cas = parseCertificates(shortLived.certificate);
    const der = derOf(issue({ ca: shortLived, notBefore: later(-1) }));
    expect(verifyClientCertificate({ der, cas, now: later(1) })).toMatchObject({ reason: "expired" });
  });

  it("calls what is no certificate malformed", () => {
    const cas = parseCertificates(ca.certificate);
    expect(verifyClientCertificate({ der: Buffer.from("hello"), cas, now })).toMatchObject({ reason: "malformed" });
  });
});
