import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import {
  type CertificateUsage,
  createCertificateAuthority,
  generateKeyPair,
  issueCertificate,
  pemBlocks,
  signToken,
  tokenSigningKey,
} from "#lib/pki";
import type { Store } from "../store/types.ts";
import { createAuthenticator } from "./authentication.ts";
import { MemoryReader } from "./memory-reader.ts";
import { type ObjectReader, Stored } from "./object-reader.ts";
import { type BoundObject, issueServiceAccountToken } from "./service-account-tokens.ts";
import { tokenRequest } from "./token-requests.ts";
import { tokenReview } from "./token-reviews.ts";

const START = "2026-06-01T12:00:00Z";
const HOUR = 3600 * 1000;
const ISSUER = "https://kubernetes.default.svc";
const key = tokenSigningKey(generateKeyPair().privateKey);
const otherKey = tokenSigningKey(generateKeyPair().privateKey);
const ca = createCertificateAuthority({ commonName: "hub", now: new Date(START), years: 1 });
const clientKey = generateKeyPair();

const serviceAccount: DynamicObject = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { namespace: "fleet", name: "agent", uid: "sa-1" },
};

function scene() {
  const clock = new ManualClock(START);
  const reader = new MemoryReader();
  reader.put(Stored.serviceAccounts, serviceAccount);
  const authenticator = createAuthenticator({
    reader,
    clientCas: [ca.certificate],
    serviceAccountKeys: [key],
    issuer: ISSUER,
    audiences: [ISSUER],
    staticTokens: new Map([["letmein", { username: "admin", uid: "admin", groups: ["system:masters"] }]]),
    clock,
  });
  const byToken = (bearerToken: string) => authenticator.authenticate({ bearerToken });
  return { clock, reader, authenticator, byToken };
}

function token(changes: Partial<Parameters<typeof issueServiceAccountToken>[0]> = {}): string {
  const now = new Date(START);
  const order = { key, issuer: ISSUER, serviceAccount, audiences: [ISSUER], expirationSeconds: 3600, now };
  return issueServiceAccountToken({ ...order, ...changes }).token;
}

function clientCertificate(
  options: { authority?: typeof ca; usages?: CertificateUsage[]; from?: number; hours?: number; name?: string } = {},
): Buffer {
  const {
    authority = ca,
    usages = ["digital signature", "client auth"],
    from = 0,
    hours = 1,
    name = "alice",
  } = options;
  const start = new Date(START).getTime();
  const certificate = issueCertificate({
    ca: authority,
    subject: { commonName: name, organizations: ["devs", "ops"] },
    publicKey: clientKey.publicKey,
    usages,
    notBefore: new Date(start + from * HOUR),
    notAfter: new Date(start + (from + hours) * HOUR),
  });
  return pemBlocks(certificate)[0]?.der ?? Buffer.alloc(0);
}

it("can read from the store", () => {
  const accepts = (store: Store): ObjectReader => store;
  expect(accepts).toBeDefined();
});

describe("without credentials", () => {
  it("nobody is recognised, which is the caller's decision", async () => {
    const { authenticator } = scene();
    expect(await authenticator.authenticate({})).toBeUndefined();
    expect(await authenticator.authenticate({ bearerToken: "" })).toBeUndefined();
  });
});

describe("client certificates", () => {
  it("name the user by CN and the groups by O", async () => {
    const user = await scene().authenticator.authenticate({ peerCertificate: clientCertificate() });
    expect(user).toEqual({
      username: "alice",
      groups: ["devs", "ops", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=[0-9a-f]{64}$/)] },
    });
  });

  const sameName = createCertificateAuthority({ commonName: "hub", now: new Date(START) });
  const otherCluster = createCertificateAuthority({ commonName: "cluster1", now: new Date(START) });
  it.each([
    ["of another cluster, so that its holder learns to be in the wrong place", { authority: otherCluster }],
    ["of another authority with the same name", { authority: sameName }],
    ["that have expired", { from: -2 }],
    ["that are not valid yet", { from: 1 }],
    ["for servers", { usages: ["server auth" as const] }],
    ["without a name", { name: "" }],
  ])("are invalid when they are ones %s", async (_, options) => {
    const peerCertificate = clientCertificate(options);
    expect(await scene().authenticator.authenticate({ peerCertificate })).toBe("invalid");
  });

  it("are invalid when they are no certificates", async () => {
    expect(await scene().authenticator.authenticate({ peerCertificate: Buffer.from("30820000", "hex") })).toBe(
      "invalid",
    );
  });

  it("end while they are remembered", async () => {
    const { authenticator, clock } = scene();
    const peerCertificate = clientCertificate();
    expect(await authenticator.authenticate({ peerCertificate })).toMatchObject({ username: "alice" });
    clock.advance(2 * HOUR);
    expect(await authenticator.authenticate({ peerCertificate })).toBe("invalid");
  });

  it("do not hide a token that is good", async () => {
    const { authenticator } = scene();
    const peerCertificate = clientCertificate({ authority: otherCluster });
    expect(await authenticator.authenticate({ peerCertificate, bearerToken: token() })).toMatchObject({ uid: "sa-1" });
  });

  it("come before tokens", async () => {
    const { authenticator } = scene();
    const credentials = { peerCertificate: clientCertificate(), bearerToken: token() };
    expect(await authenticator.authenticate(credentials)).toMatchObject({ username: "alice" });
  });
});

describe("static tokens", () => {
  it("stand for the user that they were given for", async () => {
    expect(await scene().byToken("letmein")).toEqual({
      username: "admin",
      uid: "admin",
      groups: ["system:masters", "system:authenticated"],
    });
  });

  it("are invalid when nobody knows them", async () => {
    expect(await scene().byToken("letmeout")).toBe("invalid");
  });
});

describe("bootstrap tokens", () => {
  const secret = (data: Record<string, string> = {}, changes: Record<string, unknown> = {}): DynamicObject => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "kube-system", name: "bootstrap-token-ocmhub" },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(
      Object.entries({
        "token-id": "ocmhub",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": "system:bootstrappers:managedcluster",
        ...data,
      }).map(([name, value]) => [name, Buffer.from(value).toString("base64")]),
    ),
    ...changes,
  });
  const TOKEN = "ocmhub.0123456789abcdef";

  it("make a bootstrapper of who shows them", async () => {
    const { reader, byToken } = scene();
    reader.put(Stored.secrets, secret({ expiration: "2026-06-01T13:00:00Z" }));
    expect(await byToken(TOKEN)).toEqual({
      username: "system:bootstrap:ocmhub",
      groups: ["system:bootstrappers", "system:bootstrappers:managedcluster", "system:authenticated"],
    });
  });

  const deleting = { namespace: "kube-system", name: "bootstrap-token-ocmhub", deletionTimestamp: START };
  it.each([
    ["the secret is another", secret({ "token-secret": "fedcba9876543210" }), TOKEN],
    ["the id within is another", secret({ "token-id": "other1" }), TOKEN],
    ["the Secret is of another type", secret({}, { type: "Opaque" }), TOKEN],
    ["the Secret has no data", secret({}, { data: undefined }), TOKEN],
    ["the Secret is being deleted", secret({}, { metadata: deleting }), TOKEN],
    ["it has expired", secret({ expiration: "2026-06-01T12:00:00Z" }), TOKEN],
    ["nobody can tell when it expires", secret({ expiration: "soon" }), TOKEN],
    ["it is not for authentication", secret({ "usage-bootstrap-authentication": "false" }), TOKEN],
    ["it claims a group beyond its reach", secret({ "auth-extra-groups": "system:masters" }), TOKEN],
    ["there is no such Secret", secret(), "nobody.0123456789abcdef"],
    ["it is written in capitals", secret(), TOKEN.toUpperCase()],
  ])("are invalid when %s", async (_, stored, shown) => {
    const { reader, byToken } = scene();
    reader.put(Stored.secrets, stored);
    expect(await byToken(shown)).toBe("invalid");
  });
});

describe("tokens of service accounts", () => {
  it("stand for the service account", async () => {
    expect(await scene().byToken(token())).toEqual({
      username: "system:serviceaccount:fleet:agent",
      uid: "sa-1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:fleet", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)] },
    });
  });

  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const [header = "", payload = "", signature = ""] = token().split(".");
  const genuine = JSON.parse(Buffer.from(payload, "base64url").toString());
  const forged = { ...genuine, sub: "system:serviceaccount:fleet:boss" };
  const looselyBound = { ...genuine["kubernetes.io"], pod: "p" };
  const stranger = { ...serviceAccount, metadata: { ...serviceAccount.metadata, uid: "sa-0" } };
  const unknown = { ...serviceAccount, metadata: { ...serviceAccount.metadata, name: "nobody" } };
  it.each([
    ["have no algorithm", `${part({ alg: "none", kid: key.keyId })}.${payload}.`],
    ["are signed by a key that is not ours", token({ key: otherKey })],
    ["name a key that did not sign them", token({ key: { ...otherKey, keyId: key.keyId } })],
    ["were changed", `${header}.${part(forged)}.${signature}`],
    ["name one account and stand for another", signToken(key, forged)],
    ["come from another issuer", token({ issuer: "https://elsewhere" })],
    ["are meant for somebody else", token({ audiences: ["vault"] })],
    ["are meant for nobody", token({ audiences: [] })],
    ["have expired", token({ now: new Date("2026-06-01T10:00:00Z") })],
    ["are from the future", token({ now: new Date("2026-06-01T13:00:00Z") })],
    ["belong to an account that was made anew under the same name", token({ serviceAccount: stranger })],
    ["belong to an account that never was", token({ serviceAccount: unknown })],
    ["lack what makes them ours", signToken(key, { iss: ISSUER, aud: [ISSUER], exp: 9e9, sub: "x" })],
    ["hold nonsense", signToken(key, { iss: ISSUER, "kubernetes.io": { namespace: {}, serviceaccount: "x" } })],
    ["are bound to something that cannot be read", signToken(key, { ...genuine, "kubernetes.io": looselyBound })],
    ["are no tokens", "a.b.c"],
  ])("are invalid when they %s", async (_, shown) => {
    expect(await scene().byToken(shown)).toBe("invalid");
  });

  it("end on time while they are remembered", async () => {
    const { byToken, clock } = scene();
    const shown = token();
    expect(await byToken(shown)).toMatchObject({ uid: "sa-1" });
    clock.advance(HOUR - 1);
    expect(await byToken(shown)).toMatchObject({ uid: "sa-1" });
    clock.advance(1);
    expect(await byToken(shown)).toBe("invalid");
  });

  it("die with their account while they are remembered", async () => {
    const { byToken, reader } = scene();
    const shown = token();
    expect(await byToken(shown)).toMatchObject({ uid: "sa-1" });
    reader.remove(Stored.serviceAccounts, "fleet/agent");
    expect(await byToken(shown)).toBe("invalid");
  });

  it("let an account that is being deleted finish, but not for long", async () => {
    const { byToken, reader, clock } = scene();
    const metadata = { ...serviceAccount.metadata, deletionTimestamp: START };
    reader.put(Stored.serviceAccounts, { ...serviceAccount, metadata });
    expect(await byToken(token())).toMatchObject({ uid: "sa-1" });
    clock.advance(61 * 1000);
    expect(await byToken(token())).toBe("invalid");
  });

  it.each([
    ["Pod", Stored.pods, "fleet/thing"],
    ["Secret", Stored.secrets, "fleet/thing"],
    ["Node", Stored.nodes, "thing"],
  ] as const)("die with the %s that they are bound to", async (kind, resource, path) => {
    const { byToken, reader } = scene();
    const boundObject: BoundObject = { kind, name: "thing", uid: "thing-1" };
    const shown = token({ boundObject });
    const namespaced = kind === "Node" ? {} : { namespace: "fleet" };
    const object = (uid: string) => ({ apiVersion: "v1", kind, metadata: { ...namespaced, name: "thing", uid } });

    expect(await byToken(shown)).toBe("invalid");
    reader.put(resource, object("thing-1"));
    expect(await byToken(shown)).toMatchObject({ uid: "sa-1" });
    reader.put(resource, object("thing-2"));
    expect(await byToken(shown)).toBe("invalid");
    reader.remove(resource, path);
    expect(await byToken(shown)).toBe("invalid");
  });

  it("tell the Pod and its node", async () => {
    const { byToken, reader } = scene();
    const metadata = { namespace: "fleet", name: "p", uid: "p-1" };
    reader.put(Stored.pods, { apiVersion: "v1", kind: "Pod", metadata });
    const node = { name: "n", uid: "n-1" };
    const user = await byToken(token({ boundObject: { kind: "Pod", name: "p", uid: "p-1", node } }));
    expect(user).toMatchObject({
      extra: {
        "authentication.kubernetes.io/pod-name": ["p"],
        "authentication.kubernetes.io/pod-uid": ["p-1"],
        "authentication.kubernetes.io/node-name": ["n"],
        "authentication.kubernetes.io/node-uid": ["n-1"],
      },
    });
  });
});

describe("TokenReview", () => {
  const body = (spec: Record<string, unknown>): DynamicObject => ({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    metadata: { name: "" },
    spec,
  });
  const answer = async (spec: Record<string, unknown>) => {
    return (await tokenReview({ authenticator: scene().authenticator, body: body(spec) })).status;
  };

  it("tells who a token stands for, and for which of the audiences", async () => {
    const both = token({ audiences: ["vault", ISSUER] });
    expect(await answer({ token: both })).toMatchObject({
      authenticated: true,
      user: { username: "system:serviceaccount:fleet:agent" },
      audiences: [ISSUER],
    });
    expect(await answer({ token: both, audiences: ["vault", "other"] })).toMatchObject({ audiences: ["vault"] });
    expect(await answer({ token: "letmein" })).toMatchObject({ user: { username: "admin" }, audiences: [ISSUER] });
  });

  it.each([
    ["of no known form", { token: "bogus" }, "invalid bearer token"],
    [
      "for others",
      { token: token(), audiences: ["other"] },
      `[invalid bearer token, token audiences ["${ISSUER}"] is invalid for the target audiences ["other"]]`,
    ],
    [
      "that has expired",
      { token: token({ now: new Date(0) }) },
      "[invalid bearer token, service account token has expired]",
    ],
  ])("explains a token %s, without the word authenticated", async (_, spec, error) => {
    expect(await answer(spec)).toEqual({ user: {}, error });
  });

  it("does not vouch to others for tokens that name no audience", async () => {
    expect(await answer({ token: "letmein", audiences: ["other"] })).toEqual({ user: {} });
  });

  it("needs a token", async () => {
    await expect(answer({})).rejects.toThrow("token is required");
  });
});

describe("TokenRequest", () => {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "fleet", name: "p", uid: "p-1" },
    spec: { serviceAccountName: "agent", nodeName: "n" },
  };
  function ask(spec: Record<string, unknown>, { reader } = scene()) {
    reader.put(Stored.pods, pod);
    reader.put(Stored.nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "n", uid: "n-1" } });
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", metadata: { name: "" }, spec };
    return tokenRequest({
      reader,
      key,
      issuer: ISSUER,
      audiences: [ISSUER],
      serviceAccount,
      body,
      now: new Date(START),
    });
  }

  it("fills in what was not said", () => {
    expect(ask({})).toMatchObject({
      metadata: { name: "agent", namespace: "fleet" },
      spec: { audiences: [ISSUER], expirationSeconds: 3600, boundObjectRef: null },
      status: { expirationTimestamp: "2026-06-01T13:00:00Z" },
    });
  });

  it("binds to a Pod and tells its node", async () => {
    const given = scene();
    const answer = ask({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p" } }, given);
    const { token: issued } = answer.status as { token: string };
    expect(await given.byToken(issued)).toMatchObject({
      extra: { "authentication.kubernetes.io/pod-uid": ["p-1"], "authentication.kubernetes.io/node-name": ["n"] },
    });
  });

  it.each([
    ["less than ten minutes", { expirationSeconds: 60 }, 422],
    ["more than can be counted", { expirationSeconds: 2 ** 33 }, 422],
    ["part of a second", { expirationSeconds: 600.5 }, 422],
    ["a Pod that is missing", { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "q" } }, 404],
    ["a Pod made anew", { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p", uid: "p-0" } }, 409],
    ["a kind that tokens are not bound to", { boundObjectRef: { kind: "Lease", apiVersion: "v1", name: "p" } }, 400],
  ])("refuses %s", (_, spec, code) => {
    expect(() => ask(spec)).toThrow(expect.objectContaining({ code }));
  });

  it("refuses a Pod that runs as somebody else", () => {
    const given = scene();
    const other = { ...serviceAccount, metadata: { ...serviceAccount.metadata, name: "other" } };
    given.reader.put(Stored.pods, pod);
    const spec = { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p" } };
    const body = { apiVersion: "v1", kind: "TokenRequest", metadata: { name: "" }, spec };
    const request = { reader: given.reader, key, issuer: ISSUER, audiences: [ISSUER], body, now: new Date(START) };
    expect(() => tokenRequest({ ...request, serviceAccount: other })).toThrow(/different serviceaccount/);
  });
});
