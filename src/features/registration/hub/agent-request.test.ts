import { describe, expect, it } from "vitest";
import type { CertificateSigningRequest } from "#api/certificates";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import { agentRequest } from "./agent-request.ts";

const { privateKey: key } = generateKeyPair();
const PREFIX = "system:open-cluster-management:";
const COMMON = `${PREFIX}managed-clusters`;
const CLUSTER = "open-cluster-management.io/cluster-name";
const ADDON = "open-cluster-management.io/addon-name";

interface Asked {
  labels?: Record<string, string>;
  cn?: string;
  o?: string[];
  ou?: string[];
  /** Subject in DER, in place of all of the above. */
  raw?: Buffer;
  dns?: string[];
  ips?: string[];
  emails?: string[];
  uris?: string[];
  signer?: string;
  usages?: string[];
  request?: string;
}

function request(asked: Asked = {}): CertificateSigningRequest {
  const {
    labels = { [CLUSTER]: "c1" },
    cn = `${PREFIX}c1:abcde`,
    o = [`${PREFIX}c1`, COMMON],
    ou = [],
    dns = [],
    ips = [],
    emails = [],
    uris = [],
  } = asked;
  const pem = createCertificateRequest({
    subject: asked.raw ? { raw: asked.raw } : { commonName: cn, organizations: o, organizationalUnits: ou },
    dnsNames: dns,
    ipAddresses: ips,
    emails,
    uris,
    key,
  });
  return {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "c1-x", labels },
    spec: {
      request: asked.request ?? Buffer.from(pem).toString("base64"),
      signerName: asked.signer ?? "kubernetes.io/kube-apiserver-client",
      usages: asked.usages ?? ["digital signature", "key encipherment", "client auth"],
    },
  };
}

/** Two requests in one text, of which readers may take the one or the other. */
function disguised(compose: (own: string, other: string) => string): Asked {
  const text = (cn: string, o: string[]) =>
    createCertificateRequest({ subject: { commonName: cn, organizations: o }, key });
  const own = text(`${PREFIX}c1:abcde`, [`${PREFIX}c1`, COMMON]);
  const other = text(`${PREFIX}c2:abcde`, [`${PREFIX}c2`, COMMON]);
  return { request: Buffer.from(compose(own, other)).toString("base64") };
}

const CN = 3;
const O = 10;
const SERIAL = 5;

/** A subject whose every inner list is one part of the name, as Go writes several organizations: `O=a + O=b`. */
function subject(...parts: [type: number, value: string][][]): Buffer {
  const der = (tag: number, ...content: Buffer[]): Buffer => {
    const body = Buffer.concat(content);
    const long = body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 255];
    return Buffer.concat([Buffer.from([tag, ...(body.length < 128 ? [body.length] : long)]), body]);
  };
  const attribute = ([type, value]: [number, string]) =>
    der(0x30, Buffer.from([0x06, 0x03, 0x55, 0x04, type]), der(0x0c, Buffer.from(value)));
  return der(0x30, ...parts.map((part) => der(0x31, ...part.map(attribute))));
}

const own: [number, string][] = [[O, `${PREFIX}c1`]];
const all: [number, string][] = [...own, [O, COMMON]];
const name: [number, string][] = [[CN, `${PREFIX}c1:abcde`]];

describe("a request that an agent makes", () => {
  it.each<[string, Asked]>([
    ["as our agent writes it", {}],
    ["without the common group, which older agents leave out", { o: [`${PREFIX}c1`] }],
    ["with the groups in another order", { o: [COMMON, `${PREFIX}c1`] }],
    ["without key encipherment, which an ECDSA key does not need", { usages: ["digital signature", "client auth"] }],
    ["with its groups in one part of the name, as Go writes them", { raw: subject(all, name) }],
    ["with name and groups in one part", { raw: subject([...all, ...name]) }],
  ])("is recognised %s", (_, asked) => {
    expect(agentRequest(request(asked))).toEqual({ cluster: "c1", user: `${PREFIX}c1:abcde` });
  });
});

describe("a request is not an agent's", () => {
  it.each<[string, Asked]>([
    ["without the cluster's label", { labels: {} }],
    ["with an empty label", { labels: { [CLUSTER]: "" } }],
    ["of an add-on", { labels: { [CLUSTER]: "c1", [ADDON]: "x" } }],
    ["whose label names another cluster than the subject", { labels: { [CLUSTER]: "c2" } }],
    ["whose label is the beginning of the cluster's name", { labels: { [CLUSTER]: "c" } }],
    ["whose common name is of a cluster that begins alike", { cn: `${PREFIX}c11:abcde` }],
    ["whose common name is of another cluster", { cn: `${PREFIX}c2:abcde` }],
    ["whose subject agrees with itself on another cluster", { cn: `${PREFIX}c2:abcde`, o: [`${PREFIX}c2`, COMMON] }],
    ["whose group begins alike", { o: [`${PREFIX}c11`, COMMON] }],
    ["whose group is of another cluster", { o: [`${PREFIX}c2`, COMMON] }],
    ["with the group of another cluster beside its own", { o: [`${PREFIX}c1`, `${PREFIX}c2`, COMMON] }],
    ["that asks to be an administrator too", { o: [`${PREFIX}c1`, COMMON, "system:masters"] }],
    ["with only the common group", { o: [COMMON] }],
    ["without groups", { o: [] }],
    ["of no agent in particular", { cn: `${PREFIX}c1:` }],
    ["without an agent", { cn: `${PREFIX}c1` }],
    ["without a common name", { cn: "" }],
    ["whose agent has a colon in its name, because users of add-ons are spelt so", { cn: `${PREFIX}c1:addon:x` }],
    [
      "of a cluster called `cluster` that wants to be an add-on of another",
      {
        labels: { [CLUSTER]: "cluster" },
        cn: `${PREFIX}cluster:victim:addon:x:agent:x`,
        o: [`${PREFIX}cluster`],
      },
    ],
    [
      "of a cluster named like the common group",
      { labels: { [CLUSTER]: "managed-clusters" }, cn: `${PREFIX}managed-clusters:abcde`, o: [COMMON] },
    ],
    ["whose common name only contains the right one", { cn: `x${PREFIX}c1:abcde` }],
    ["with an organizational unit", { ou: ["x"] }],
    ["with two common names, the right one last", { raw: subject(all, [[CN, "system:admin"]], name) }],
    ["with two common names, the right one first", { raw: subject(all, name, [[CN, "system:admin"]]) }],
    ["with two common names in one part", { raw: subject(all, [[CN, "system:admin"], ...name]) }],
    ["with its own group twice", { raw: subject([...own, ...all], name) }],
    [
      "with the group of administrators hidden in a part with its own",
      { raw: subject([...all, [O, "system:masters"]], name) },
    ],
    ["with an attribute that nobody asked for", { raw: subject(all, name, [[SERIAL, "1"]]) }],
    ["whose group has a space at its end", { o: [`${PREFIX}c1 `, COMMON] }],
    ["whose common name is spelt in capitals", { cn: `${PREFIX.toUpperCase()}C1:abcde` }],
    ["that names a host", { dns: ["hub.example"] }],
    ["that names an address", { ips: ["10.0.0.1"] }],
    ["that names a mailbox", { emails: ["a@example.com"] }],
    ["that names a URI", { uris: ["spiffe://example.com/a"] }],
    ["for the kubelet's signer", { signer: "kubernetes.io/kube-apiserver-client-kubelet" }],
    ["for the serving signer", { signer: "kubernetes.io/kubelet-serving" }],
    ["for the old signer of everything", { signer: "kubernetes.io/legacy-unknown" }],
    ["for a signer of the same name in another place", { signer: "example.com/kube-apiserver-client" }],
    ["for the signer of another way to register", { signer: "open-cluster-management.io/grpc" }],
    ["to serve", { usages: ["digital signature", "key encipherment", "client auth", "server auth"] }],
    ["to sign", { usages: ["cert sign", "client auth"] }],
    ["for nothing", { usages: [] }],
    ["that cannot be read", { request: Buffer.from("nonsense").toString("base64") }],
    [
      "that is a certificate instead",
      { request: Buffer.from("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n").toString("base64") },
    ],
    ["that is empty", { request: "" }],
    ["with another request behind it", disguised((own, other) => own + other)],
    ["with another request before it", disguised((own, other) => other + own)],
    ["in the middle of a line, which some readers skip", disguised((own, other) => `x${own}${other}`)],
    [
      "whose last line is not alone, which some readers skip",
      disguised((own, other) => own.replace("-----END", " -----END") + other),
    ],
    [
      "with white space that some readers do not skip",
      disguised((own, other) => own.replace("\nM", "\n\u000bM") + other),
    ],
    ["with words before it", disguised((own) => `please\n${own}`)],
    ["with words behind it", disguised((own) => `${own}thanks\n`)],
  ])("%s", (_, asked) => {
    expect(agentRequest(request(asked))).toBeUndefined();
  });
});
