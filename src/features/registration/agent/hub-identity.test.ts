import { beforeAll, describe, expect, it } from "vitest";
import type { CertificateSigningRequest } from "#api/certificates";
import type { Secret } from "#api/core";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import { answerTo } from "./certificate-request.ts";
import {
  authorityMark,
  type HubTarget,
  hubIdentity,
  identityKubeconfig,
  isUnusable,
  keptNames,
  LEARNED_ANNOTATION,
  namesToKeep,
  secretData,
  trustedHub,
} from "./hub-identity.ts";

const now = new Date("2026-06-01T00:00:00Z");
const hub = { name: "hub", server: "https://hub:6443", ca: { pem: "-----BEGIN CERTIFICATE-----\n" } };
const target: HubTarget = { hub, clusterName: "c1", agentName: "abcde", askedWith: "mark" };
const pair = generateKeyPair();
const other = generateKeyPair();
let certificate = "";
let expired = "";

beforeAll(() => {
  const ca = createCertificateAuthority({ commonName: "ca", now: new Date("2025-01-01T00:00:00Z") });
  const issue = (notAfter: string) =>
    issueCertificate({
      ca,
      subject: { commonName: "system:open-cluster-management:c1:abcde" },
      publicKey: pair.publicKey,
      usages: ["client auth"],
      notBefore: new Date("2026-01-01T00:00:00Z"),
      notAfter: new Date(notAfter),
    });
  certificate = issue("2027-01-01T00:00:00Z");
  expired = issue("2026-05-01T00:00:00Z");
});

function refusing(): HubTarget {
  return {
    ...target,
    get refused() {
      return { certificate, why: "the hub does not know its certificate any more", mayReturn: true };
    },
  };
}

function secret(of: Partial<{ target: HubTarget; agentName: string; certificate: string; key: string }> = {}): Secret {
  const { target: where = target, agentName = "abcde", certificate: cert = certificate, key = pair.privateKey } = of;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "hub-kubeconfig-secret", namespace: "ns" },
    data: secretData(where, { agentName, certificate: cert, key }),
  };
}

describe("a stored identity", () => {
  it("is good for the cluster and the hub that it was made for", () => {
    const identity = hubIdentity(secret(), target, now);
    expect(identity).toMatchObject({ agentName: "abcde", certificate, key: pair.privateKey });
    if (isUnusable(identity)) throw new Error(identity.why);
    expect(identity.notAfter).toEqual(new Date("2027-01-01T00:00:00Z"));
    expect(identityKubeconfig(hub, identity)).toContain("client-key-data");
  });

  it("names its files relative to the Secret, because agents mount it", () => {
    const text = Buffer.from(secret().data?.kubeconfig ?? "", "base64").toString();
    for (const line of [
      "client-certificate: tls.crt",
      "client-key: tls.key",
      "name: default-auth",
      "namespace: configuration",
    ]) {
      expect(text).toContain(line);
    }
    expect(Object.keys(secret().data ?? {}).sort()).toEqual([
      "agent-name",
      "cluster-name",
      "kubeconfig",
      "tls.crt",
      "tls.key",
    ]);
  });

  it("survives a bootstrap kubeconfig that says what is the default anyway", () => {
    const spelt: HubTarget = { ...target, hub: { ...hub, insecure: false, file: "/somewhere" } };
    expect(isUnusable(hubIdentity(secret({ target: spelt }), spelt, now))).toBe(false);
  });

  it.each<[string, () => Secret | undefined, HubTarget]>([
    ["there is none yet", () => undefined, target],
    ["it belongs to another cluster name", () => secret(), { ...target, clusterName: "c2" }],
    ["it belongs to another agent name", () => secret(), { ...target, agentName: "other" }],
    ["it is for another hub", () => secret(), { ...target, hub: { ...hub, server: "https://other:6443" } }],
    ["it is for another hub", () => secret(), { ...target, hub: { ...hub, name: "renamed" } }],
    ["it is for another hub", () => secret(), { ...target, hub: { ...hub, proxyUrl: "http://proxy" } }],
    ["it has no certificate", () => secret({ certificate: "" }), target],
    [
      "it has no certificate",
      () => secret({ certificate: "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----" }),
      target,
    ],
    ["its certificate names someone else", () => secret({ agentName: "abcd" }), { ...target, agentName: "abcd" }],
    ["its key is not the certificate's", () => secret({ key: other.privateKey }), target],
    ["its key is not the certificate's", () => secret({ key: "" }), target],
    ["its certificate has expired", () => secret({ certificate: expired }), target],
    // The certificate is made before the tests run, and not before the table is.
    ["the hub does not know its certificate any more", () => secret(), refusing()],
  ])("is of no use when %s", (why, stored, where) => {
    expect(hubIdentity(stored(), where, now)).toEqual({ why });
  });
});

describe("an authority of the hub", () => {
  const renewed = { ...hub, ca: { pem: "-----BEGIN CERTIFICATE-----\nNEW" } };
  const marked = (stored: Secret, hubThen: typeof hub): Secret => ({
    ...stored,
    metadata: { ...stored.metadata, annotations: { [LEARNED_ANNOTATION]: authorityMark(hubThen) } },
  });

  it("is not who the hub is: an identity stays good when the bootstrap kubeconfig names another", () => {
    expect(isUnusable(hubIdentity(secret(), { ...target, hub: renewed }, now))).toBe(false);
    expect(trustedHub(secret(), renewed)).toEqual(renewed);
  });

  it("that was learned from the hub is newer than the one in the bootstrap kubeconfig", () => {
    const learned = marked(secret({ target: { ...target, hub: renewed } }), hub);
    expect(trustedHub(learned, hub)).toEqual(renewed);
  });

  it("in a bootstrap kubeconfig that was changed since is newer than what was learned before", () => {
    const learned = marked(secret({ target: { ...target, hub: renewed } }), hub);
    const newest = { ...hub, ca: { pem: "-----BEGIN CERTIFICATE-----\nNEWEST" } };
    expect(trustedHub(learned, newest)).toEqual(newest);
  });

  it("that was learned of another hub counts for nothing", () => {
    const elsewhere = { ...hub, server: "https://other:6443" };
    const learned = marked(secret({ target: { ...target, hub: renewed } }), elsewhere);
    expect(trustedHub(learned, elsewhere)).toEqual(elsewhere);
  });
});

describe("names", () => {
  const names = { clusterName: "c1", agentName: "abcde" };
  const text = (data: Record<string, string> | undefined) =>
    data &&
    Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));

  it("are kept where there is no identity yet", () => {
    expect(text(namesToKeep(undefined, names))).toEqual({ "cluster-name": "c1", "agent-name": "abcde" });
  });

  it("are written once", () => {
    const kept = { ...secret(), data: namesToKeep(undefined, names) ?? {} };
    expect(keptNames(kept)).toEqual(names);
    expect(namesToKeep(kept, names)).toBeUndefined();
    expect(text(namesToKeep(kept, { ...names, agentName: "other" }))).toEqual({ "agent-name": "other" });
  });

  it("of an identity stay, because it may be wanted again", () => {
    expect(namesToKeep(secret(), { clusterName: "c2", agentName: "other" })).toBeUndefined();
  });

  it("are found in the certificate when somebody lost them", () => {
    const { "agent-name": _, ...data } = secret().data ?? {};
    const damaged = { ...secret(), data };
    expect(keptNames(damaged)).toEqual(names);
    expect(text(namesToKeep(damaged, names))).toEqual({ "agent-name": "abcde" });
  });
});

describe("the hub's answer to a request", () => {
  const request = (status: CertificateSigningRequest["status"]): CertificateSigningRequest => ({
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "r" },
    spec: { request: "", signerName: "" },
    ...(status && { status }),
  });
  const approved = { type: "Approved", status: "True" } as const;
  const base64 = (text: string) => Buffer.from(text).toString("base64");

  it("is awaited until the request is approved and signed", () => {
    expect(answerTo(request(undefined), pair.privateKey)).toEqual({ is: "waiting" });
    expect(answerTo(request({ conditions: [approved] }), pair.privateKey)).toEqual({ is: "waiting" });
    expect(answerTo(request({ certificate: base64(certificate) }), pair.privateKey)).toEqual({ is: "waiting" });
  });

  it("is a certificate for our key", () => {
    const signed = request({ conditions: [approved], certificate: base64(certificate) });
    expect(answerTo(signed, pair.privateKey)).toEqual({ is: "issued", certificate });
    expect(answerTo(signed, other.privateKey)).toMatchObject({ is: "refused" });
  });

  it("may be no, even after a yes", () => {
    const denied = { type: "Denied", status: "True", message: "not you" } as const;
    expect(answerTo(request({ conditions: [approved, denied] }), pair.privateKey)).toEqual({
      is: "refused",
      why: "not you",
    });
  });

  it("may be unreadable", () => {
    const garbled = request({ conditions: [approved], certificate: base64("x") });
    expect(answerTo(garbled, pair.privateKey)).toMatchObject({ is: "refused" });
  });
});
