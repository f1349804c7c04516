import { describe, expect, it } from "vitest";
import type { SubjectAccessReview } from "#api/authorization";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import type { Kind, KubeObject } from "#api/meta";
import type { Draft } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import type { Cluster } from "#runtime";
import { type FakeCluster, fakeCluster, runUntilQuiet, startControllers } from "../../../../test/support/index.ts";
import { autoAcceptanceController } from "./auto-acceptance.controller.ts";
import { csrApprovalController } from "./csr-approval.controller.ts";

const clock = new ManualClock();
const { privateKey: key } = generateKeyPair();
const AGENT = "system:open-cluster-management:c1:abcde";
const BOOTSTRAP = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
const request = createCertificateRequest({
  subject: { commonName: AGENT, organizations: ["system:open-cluster-management:c1"] },
  key,
});

function csr(username: string, more: Partial<CertificateSigningRequest> = {}): Draft<CertificateSigningRequest> {
  return {
    metadata: { name: "c1-x", labels: { "open-cluster-management.io/cluster-name": "c1" } },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["digital signature", "key encipherment", "client auth"],
      username,
      uid: "u",
      groups: ["g"],
      extra: { e: ["1"] },
    },
    ...more,
  };
}

/** A hub that answers access reviews, and remembers what it was asked. */
function reviewing(hub: FakeCluster, allowed: boolean): { hub: Cluster; asked: SubjectAccessReview["spec"][] } {
  const asked: SubjectAccessReview["spec"][] = [];
  const create = async <T extends KubeObject>(kind: Kind<T>, object: Draft<T>): Promise<T> => {
    if (kind.kind !== "SubjectAccessReview") return hub.client.create(kind, object);
    const review = object as unknown as SubjectAccessReview;
    asked.push(review.spec);
    return { ...review, status: { allowed } } as unknown as T;
  };
  return { hub: { ...hub, client: { ...hub.client, create } }, asked };
}

const condition = (type: string, status: "True" | "False") => ({
  type,
  status,
  reason: "r",
  message: "",
  lastTransitionTime: "2025-12-31T00:00:00Z",
});
const JOINED = condition("ManagedClusterJoined", "True");
const LET_IN = condition("HubAcceptedManagedCluster", "True");
const PUT_OUT = condition("HubAcceptedManagedCluster", "False");

function cluster(
  hubAcceptsClient: boolean,
  {
    conditions = [] as (typeof JOINED)[],
    ...metadata
  }: Partial<ManagedCluster["metadata"]> & {
    conditions?: (typeof JOINED)[];
  } = {},
): Draft<ManagedCluster> {
  return { metadata: { name: "c1", ...metadata }, spec: { hubAcceptsClient }, status: { conditions } };
}
const joined = cluster(true, { conditions: [LET_IN, JOINED] });

interface Situation {
  allowed?: boolean;
  users?: string[];
  /** A new one for a first request, one that joined for a renewal; null for none. */
  entry?: Draft<ManagedCluster> | null;
}

async function approvalOf(
  given: Draft<CertificateSigningRequest>,
  { allowed = false, users = [], entry = given.spec.username === BOOTSTRAP ? cluster(false) : joined }: Situation = {},
): Promise<{ approval: unknown; asked: SubjectAccessReview["spec"][]; fake: FakeCluster }> {
  const fake = fakeCluster([CertificateSigningRequest, given]);
  if (entry) fake.put(ManagedCluster, entry);
  const { hub, asked } = reviewing(fake, allowed);
  await runUntilQuiet(csrApprovalController({ hub, clock, log: silentLog, autoApproveUsers: users }));
  return { approval: fake.read(CertificateSigningRequest, "c1-x")?.status?.conditions?.[0], asked, fake };
}

describe("a renewal", () => {
  it("is approved for an agent that may renew", async () => {
    const { approval, asked } = await approvalOf(csr(AGENT), { allowed: true });
    expect(approval).toMatchObject({
      type: "Approved",
      status: "True",
      reason: "AutoApprovedByHubCSRApprovingController",
    });
    expect(asked).toEqual([
      {
        user: AGENT,
        uid: "u",
        groups: ["g"],
        extra: { e: ["1"] },
        resourceAttributes: {
          group: "register.open-cluster-management.io",
          resource: "managedclusters",
          subresource: "clientcertificates",
          verb: "renew",
        },
      },
    ]);
  });

  it("waits for a person when the agent may not renew, as after a denial", async () => {
    expect((await approvalOf(csr(AGENT))).approval).toBeUndefined();
  });

  it.each<[string, Draft<ManagedCluster> | null]>([
    [
      "of a cluster that was denied, although its rights are still there",
      cluster(false, { conditions: [LET_IN, JOINED] }),
    ],
    ["of a cluster that was denied", cluster(false, { conditions: [PUT_OUT, JOINED] })],
    ["of a cluster that is gone", null],
    ["of another cluster only", { ...joined, metadata: { name: "c2" } }],
  ])("is not approved %s, and no right is even asked for", async (_, entry) => {
    const { approval, asked } = await approvalOf(csr(AGENT), { allowed: true, entry });
    expect([approval, asked]).toEqual([undefined, []]);
  });

  it("is approved for a cluster that goes as long as it may, because its agent still has to clean", async () => {
    const entry = cluster(true, {
      conditions: [LET_IN, JOINED],
      deletionTimestamp: "2026-01-01T00:00:00Z",
      finalizers: ["x"],
    });
    expect((await approvalOf(csr(AGENT), { allowed: true, entry })).approval).toBeDefined();
    expect((await approvalOf(csr(AGENT), { entry })).approval).toBeUndefined();
  });

  it("is approved when its cluster is let in at last", async () => {
    const fake = fakeCluster([CertificateSigningRequest, csr(AGENT)], [ManagedCluster, cluster(false)]);
    const { hub } = reviewing(fake, true);
    const running = startControllers([csrApprovalController({ hub, clock, log: silentLog })]);
    await running.quiet();
    fake.put(ManagedCluster, joined);
    await running.quiet();
    expect(fake.read(CertificateSigningRequest, "c1-x")?.status?.conditions).toHaveLength(1);
    await running.stop();
  });

  it.each([
    ["another agent of the same cluster", "system:open-cluster-management:c1:other"],
    ["the agent of another cluster", "system:open-cluster-management:c2:abcde"],
    ["an agent whose name begins alike", `${AGENT}f`],
    ["nobody", ""],
    ["a service account that calls itself alike", "system:serviceaccount:open-cluster-management:c1"],
    ["the service account of another namespace", "system:serviceaccount:c1:abcde"],
    ["an administrator", "kubernetes-admin"],
    ["the agent in capitals", AGENT.toUpperCase()],
    ["the agent with a space", `${AGENT} `],
  ])("is not one when it comes from %s, and no right is even asked for", async (_, username) => {
    const { approval, asked } = await approvalOf(csr(username), { allowed: true });
    expect(approval).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe("a first request", () => {
  it("waits for a person by default", async () => {
    expect((await approvalOf(csr(BOOTSTRAP))).approval).toBeUndefined();
  });

  it("is approved for a user who was named", async () => {
    const entry = cluster(true, { conditions: [LET_IN] });
    const { approval } = await approvalOf(csr(BOOTSTRAP), { users: [BOOTSTRAP], entry });
    expect(approval).toMatchObject({ type: "Approved" });
  });

  it.each<[string, Draft<ManagedCluster> | null]>([
    ["that has joined, because a second identity may be somebody else's", joined],
    ["that an administrator put out again", cluster(false, { conditions: [PUT_OUT] })],
    [
      "that came in by itself before and was put out since",
      cluster(false, {
        annotations: { "open-cluster-management.io/automatically-accepted-on": "2026-01-01T00:00:00Z" },
      }),
    ],
    ["that has no rights yet, because an agent that comes too early is refused", cluster(true)],
    ["that goes", cluster(true, { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x"] })],
    ["that there is not", null],
    ["but another one", { ...cluster(false), metadata: { name: "c11" } }],
  ])("is not approved for a user who was named, for a cluster %s", async (_, entry) => {
    expect((await approvalOf(csr(BOOTSTRAP), { users: [BOOTSTRAP], entry })).approval).toBeUndefined();
  });

  it("is approved for a user who was named when a person let the cluster in, and it has not joined", async () => {
    const entry = cluster(true, { conditions: [LET_IN] });
    expect((await approvalOf(csr(BOOTSTRAP), { users: [BOOTSTRAP], entry })).approval).toBeDefined();
  });

  it("is not approved for a user whose name begins alike", async () => {
    expect((await approvalOf(csr(`${BOOTSTRAP}2`), { users: [BOOTSTRAP] })).approval).toBeUndefined();
  });
});

describe("a request that was decided", () => {
  it("stays as it is", async () => {
    const conditions = [{ type: "Denied", status: "True" } as const];
    const { fake } = await approvalOf(csr(BOOTSTRAP, { status: { conditions } }), { users: [BOOTSTRAP] });
    expect(fake.writes).toEqual([]);
  });

  it("costs no write the second time", async () => {
    const entry = cluster(true, { conditions: [LET_IN] });
    const { fake } = await approvalOf(csr(BOOTSTRAP), { users: [BOOTSTRAP], entry });
    expect(fake.writes).toHaveLength(1);
    fake.writes.length = 0;
    const { hub } = reviewing(fake, true);
    await runUntilQuiet(csrApprovalController({ hub, clock, log: silentLog, autoApproveUsers: [BOOTSTRAP] }));
    expect(fake.writes).toEqual([]);
  });
});

describe("a cluster is let in without a person", () => {
  const ACCEPTED_ON = "open-cluster-management.io/automatically-accepted-on";
  const other = createCertificateRequest({
    subject: {
      commonName: "system:open-cluster-management:c2:abcde",
      organizations: ["system:open-cluster-management:c2"],
    },
    key,
  });

  async function judgedWith(
    entry: Draft<ManagedCluster>,
    requests: Draft<CertificateSigningRequest>[],
    users = [BOOTSTRAP],
  ) {
    const fake = fakeCluster([ManagedCluster, entry]);
    for (const each of requests) fake.put(CertificateSigningRequest, each);
    const controller = () => autoAcceptanceController({ hub: fake, clock, log: silentLog, autoApproveUsers: users });
    await runUntilQuiet(controller());
    const writes = fake.writes.length;
    await runUntilQuiet(controller());
    expect(fake.writes).toHaveLength(writes);
    const { metadata, spec } = fake.read(ManagedCluster, "c1") ?? {};
    return { accepted: spec?.hubAcceptsClient ?? false, on: metadata?.annotations?.[ACCEPTED_ON] };
  }
  const approved = { status: { conditions: [{ type: "Approved", status: "True" } as const] } };
  const denied = { status: { conditions: [{ type: "Denied", status: "True" } as const] } };
  const forOther = csr(BOOTSTRAP);
  const otherSpec = { ...forOther.spec, request: Buffer.from(other).toString("base64") };

  it.each<[string, Draft<CertificateSigningRequest>]>([
    ["asks for it", csr(BOOTSTRAP)],
    ["asked for it and was approved", csr(BOOTSTRAP, approved)],
  ])("when a user who was named %s, and it says when", async (_, request) => {
    expect(await judgedWith(cluster(false), [request])).toEqual({ accepted: true, on: "2026-01-01T00:00:00Z" });
  });

  it.each<[string, Draft<ManagedCluster>, Draft<CertificateSigningRequest>[]]>([
    ["nobody asks", cluster(false), []],
    ["somebody else asks", cluster(false), [csr("somebody")]],
    ["the request was denied", cluster(false), [csr(BOOTSTRAP, denied)]],
    [
      "the request is for another cluster, whatever its label says",
      cluster(false),
      [csr(BOOTSTRAP, { spec: otherSpec })],
    ],
    [
      "the request is labelled for another cluster",
      cluster(false),
      [{ ...csr(BOOTSTRAP), metadata: { name: "x", labels: { "open-cluster-management.io/cluster-name": "c2" } } }],
    ],
    ["a person put it out", cluster(false, { conditions: [PUT_OUT] }), [csr(BOOTSTRAP)]],
    [
      "it was let in so before, and put out since",
      cluster(false, { annotations: { [ACCEPTED_ON]: "2025-12-31T00:00:00Z" } }),
      [csr(BOOTSTRAP)],
    ],
  ])("not when %s", async (_, entry, requests) => {
    expect((await judgedWith(entry, requests)).accepted).toBe(false);
  });

  it("not when nobody was named, whoever asks", async () => {
    expect((await judgedWith(cluster(false), [csr(BOOTSTRAP)], [])).accepted).toBe(false);
  });

  it("not under a name that would give it the rights of others", async () => {
    const name = "registration";
    const request = createCertificateRequest({
      subject: {
        commonName: `system:open-cluster-management:${name}:a`,
        organizations: [`system:open-cluster-management:${name}`],
      },
      key,
    });
    const fake = fakeCluster([ManagedCluster, cluster(false, { name })]);
    fake.put(CertificateSigningRequest, {
      metadata: { name: "x", labels: { "open-cluster-management.io/cluster-name": name } },
      spec: { ...csr(BOOTSTRAP).spec, request: Buffer.from(request).toString("base64") },
    });
    await runUntilQuiet(autoAcceptanceController({ hub: fake, clock, log: silentLog, autoApproveUsers: [BOOTSTRAP] }));
    expect(fake.read(ManagedCluster, name)?.spec?.hubAcceptsClient).toBe(false);
  });
});
