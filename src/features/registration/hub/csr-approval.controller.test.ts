import { describe, expect, it } from "vitest";
import type { SubjectAccessReview } from "#api/authorization";
import { CertificateSigningRequest } from "#api/certificates";
import type { Kind, KubeObject } from "#api/meta";
import type { Draft } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import type { Cluster } from "#runtime";
import { type FakeCluster, fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
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

async function approvalOf(
  given: Draft<CertificateSigningRequest>,
  { allowed = false, users = [] as string[] } = {},
): Promise<{ approval: unknown; asked: SubjectAccessReview["spec"][]; fake: FakeCluster }> {
  const fake = fakeCluster([CertificateSigningRequest, given]);
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

  it.each([
    ["another agent of the same cluster", "system:open-cluster-management:c1:other"],
    ["the agent of another cluster", "system:open-cluster-management:c2:abcde"],
    ["an agent whose name begins alike", `${AGENT}f`],
    ["nobody", ""],
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
    expect((await approvalOf(csr(BOOTSTRAP), { users: [BOOTSTRAP] })).approval).toMatchObject({ type: "Approved" });
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
    const { fake } = await approvalOf(csr(BOOTSTRAP), { users: [BOOTSTRAP] });
    expect(fake.writes).toHaveLength(1);
    fake.writes.length = 0;
    const { hub } = reviewing(fake, true);
    await runUntilQuiet(csrApprovalController({ hub, clock, log: silentLog, autoApproveUsers: [BOOTSTRAP] }));
    expect(fake.writes).toEqual([]);
  });
});
