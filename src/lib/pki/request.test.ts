import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  createCertificateAuthority,
  createCertificateRequest,
  generateKeyPair,
  issueCertificate,
  parseCertificate,
  parseCertificateRequest,
  pem,
  pemBlocks,
} from "./index.ts";

/** Made with Go's crypto/x509, as client-go does: P-256, and both organizations in one part of the name. */
const FROM_GO = `-----BEGIN CERTIFICATE REQUEST-----
MIIBszCCAVgCAQAwgaMxaDAuBgNVBAoTJ3N5c3RlbTpvcGVuLWNsdXN0ZXItbWFu
YWdlbWVudDpjbHVzdGVyMTA2BgNVBAoTL3N5c3RlbTpvcGVuLWNsdXN0ZXItbWFu
YWdlbWVudDptYW5hZ2VkLWNsdXN0ZXJzMTcwNQYDVQQDEy5zeXN0ZW06b3Blbi1j
bHVzdGVyLW1hbmFnZW1lbnQ6Y2x1c3RlcjE6YWdlbnQxMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEACNB5tPplbQYCtGPYwn/xgbPHP7YWjK2ON6ESJNLKvKCZrpW
u3coXlXG4mUcN2JWSlPrYpYX3uFv1utyz3qvxaBSMFAGCSqGSIb3DQEJDjFDMEEw
PwYDVR0RBDgwNoIiYS5hZGRvbi5vcGVuLWNsdXN0ZXItbWFuYWdlbWVudC5pb4cQ
AAAAAAAAAAAAAAAAAAAAATAKBggqhkjOPQQDAgNJADBGAiEA/758whu7MiO6LziR
O1Q1LKnub9onY9h2anOlHnhVkUwCIQCn+2NZ/3tjVb5ZtNq0qm/LeUl4H7T62uRW
4+46oCQfEQ==
-----END CERTIFICATE REQUEST-----
`;

/** Made with `openssl req -newkey rsa:2048`. */
const FROM_OPENSSL = `-----BEGIN CERTIFICATE REQUEST-----
MIICczCCAVsCAQAwLjENMAsGA1UECgwEZGV2czENMAsGA1UECwwEdW5pdDEOMAwG
A1UEAwwFYWxpY2UwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQCW5nvS
lG6iY3Vpy+hqB9YSy0zngK/87Zbbeaxbhdhrdjx5p2JGZcv5/MgSTZZNDLnC3L6h
5y6DSWNZeETcrxbJSN2tmygY035T+pp8CaPVqt+0E4kdbLhZp3bN7D7edikSkZJS
DU0QpZVt1ZoETraRUntoK5ILB49SdSGYep4Guam81cIpuP+pfbzUjKGtsJmFIqdQ
lVX8cuNL3oBEPm562OPlSJQG5Vngh8NDnJswUUsAaRer8X2V8ENufhFiIliw7Z8H
x6gTyjpWKq8GxxB1SZfhFVZyqQmlMoNJ3sOjtRmO2agtYF9OR9re8Dxca+Pv8e/B
NWoZHQ81MRj5K41rAgMBAAGgADANBgkqhkiG9w0BAQsFAAOCAQEAQqM6wRllKpXB
8Hky+nxotMxz/hvugswNFgfe+mF51066dP9+PW0ez3QLPfyw4xT6FtVFLEtIvAZp
H8E25g9IjZG0/22crw+BOMnDUZxXeip/uUG3g9zYRQ8l6UIBD3zqv2bjuxeJqswJ
tVJdzi2njclbeSw4Q4FIvZOS45cKNNMnJfvaRQp7Dtsdnx/zTvYw37JkO+xONpOf
CT5s9rfios/oM65CR3AmBh8r3L3Mvt64avdL+7Eh7vOeaL1I7lHa/4pRWP1JaA8e
RqZoeV+zuSDklJB0iIHhoL9/MzJScpoFieJ2Of9feWDZWaeI90aN2ZdMSrrEYiBO
5nAtJUU9fg==
-----END CERTIFICATE REQUEST-----
`;

const GO_SUBJECT = {
  commonName: "system:open-cluster-management:cluster1:agent1",
  organizations: ["system:open-cluster-management:cluster1", "system:open-cluster-management:managed-clusters"],
  organizationalUnits: [],
};

describe("parseCertificateRequest", () => {
  it("reads what a Go agent sends, with two organizations in one part of the name", () => {
    const request = parseCertificateRequest(FROM_GO);

    expect(request.subject).toMatchObject(GO_SUBJECT);
    expect(request.dnsNames).toEqual(["a.addon.open-cluster-management.io"]);
    expect(request.ipAddresses).toEqual(["::1"]);
    expect(request.publicKey.asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
  });

  it("reads an RSA request of openssl", () => {
    const request = parseCertificateRequest(FROM_OPENSSL);

    expect(request.subject).toMatchObject({
      commonName: "alice",
      organizations: ["devs"],
      organizationalUnits: ["unit"],
    });
    expect(request.publicKey.asymmetricKeyType).toBe("rsa");
    expect(request.dnsNames).toEqual([]);
  });

  it.each([
    ["ECDSA", generateKeyPair().privateKey],
    [
      "RSA",
      generateKeyPairSync("rsa", { modulusLength: 2048 })
        .privateKey.export({ type: "pkcs1", format: "pem" })
        .toString(),
    ],
  ])("reads its own requests with a key of %s", (_, key) => {
    const subject = { commonName: "système", organizations: ["a", "b"], organizationalUnits: ["u"] };
    const names = { dnsNames: ["a.example"], ipAddresses: ["10.1.2.3", "fd00::1:0:0:7"], emails: ["a@b.example"] };

    const read = parseCertificateRequest(createCertificateRequest({ subject, key, ...names, uris: ["spiffe://x/y"] }));

    expect(read.subject).toMatchObject(subject);
    expect(read).toMatchObject({ ...names, uris: ["spiffe://x/y"] });
  });

  it("keeps the bytes of the name when it is signed, because readers compare names by bytes", () => {
    const now = new Date();
    const ca = createCertificateAuthority({ commonName: "ca", now });
    const request = parseCertificateRequest(FROM_GO);
    const certificate = issueCertificate({
      ca,
      subject: request.subject,
      publicKey: request.publicKey,
      usages: ["digital signature", "client auth"],
      notBefore: now,
      notAfter: new Date(now.getTime() + 1000),
    });

    expect(parseCertificate(certificate).subject.raw.equals(request.subject.raw)).toBe(true);
    expect(parseCertificate(certificate).subject).toMatchObject(GO_SUBJECT);
    expect(new X509Certificate(certificate).publicKey.equals(request.publicKey)).toBe(true);
  });

  it("refuses a request whose signature is not its own key's", () => {
    const [block] = pemBlocks(FROM_GO);
    const der = Buffer.from(block?.der ?? []);
    const at = der.indexOf("cluster1");
    der.write("cluster2", at);

    expect(() => parseCertificateRequest(pem("CERTIFICATE REQUEST", der))).toThrow(/not signed by its own key/);
  });

  it("reads what stands below other text, as openssl writes it", () => {
    const text = `Certificate Request:\n    Data: …\n${FROM_OPENSSL}`;
    expect(parseCertificateRequest(text).subject.commonName).toBe("alice");
    expect(parseCertificateRequest(FROM_OPENSSL.replaceAll("\n", "\r\n")).subject.commonName).toBe("alice");
  });

  it.each([
    ["nothing", "", /no CERTIFICATE REQUEST block/],
    ["another kind of block", pem("CERTIFICATE", Buffer.from([0x30, 0])), /is CERTIFICATE, not/],
    ["an empty sequence", pem("CERTIFICATE REQUEST", Buffer.from([0x30, 0])), /missing/],
    ["a block without end", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA", /no end/],
    ["a block that is not base64", FROM_GO.replace("MII", "M*I"), /not base64/],
    ["a broken first line", "-----BEGIN CERTIFICATE\nREQUEST-----", /broken/],
    // Go goes on to the next block where one of these is not quite right.
    ["a first line with something before it", ` ${FROM_GO}${FROM_OPENSSL}`, /readers may differ/],
    ["a first line that goes on", FROM_GO.replace("-----\nMII", "-----MII") + FROM_OPENSSL, /readers may differ/],
    ["a last line with something before it", FROM_GO.replace("==\n---", "==---") + FROM_OPENSSL, /readers may differ/],
    ["a last line that goes on", FROM_GO.replace(/-----\n$/, "-----x\n") + FROM_OPENSSL, /readers may differ/],
    ["white space that not everybody skips", FROM_GO.replace("\nYWd", "\fYWd") + FROM_OPENSSL, /readers may differ/],
  ])("refuses %s", (_, text, message) => {
    expect(() => parseCertificateRequest(text)).toThrow(message);
  });
});
