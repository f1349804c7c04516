import { describe, expect, it } from "vitest";
import { type CertificateRequestCondition, CertificateSigningRequest } from "#api/certificates";
import { AgentIdentity, ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { apiVersionOf } from "#api/meta";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import { fakeCluster } from "../../../test/support/index.ts";
import { acceptCluster, requestsOf } from "./acceptance.ts";
import type { Task } from "./task.ts";

const { privateKey: key } = generateKeyPair();
const ACCOUNT = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
const ACCEPTANCE = { cluster: "c1", wait: false, skipApproveCheck: false, requesters: [] };

interface Asked {
  name?: string;
  username?: string;
  groups?: string[];
  cluster?: string;
  agent?: string;
  decision?: CertificateRequestCondition["type"];
}

function csr(asked: Asked = {}): CertificateSigningRequest {
  const { name = "c1-a", username = ACCOUNT, groups = [], cluster = "c1", agent = "abcde", decision } = asked;
  const request = createCertificateRequest({
    subject: {
      commonName: AgentIdentity.user(cluster, agent),
      organizations: [AgentIdentity.group(cluster), AgentIdentity.commonGroup],
    },
    key,
  });
  return {
    apiVersion: apiVersionOf(CertificateSigningRequest),
    kind: "CertificateSigningRequest",
    metadata: { name, labels: { [ClusterLabel.name]: "c1" } },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["digital signature", "key encipherment", "client auth"],
      username,
      groups,
    },
    ...(decision && { status: { conditions: [{ type: decision, status: "True" }] } }),
  };
}

describe("whose request it is", () => {
  it.each<[why: string, asked: Asked, pending: number, more?: Partial<typeof ACCEPTANCE>]>([
    ["the account that gives out tokens", {}, 1],
    ["an account that is only called like it", { username: `${ACCOUNT}-2` }, 0],
    [
      "the bootstrap token, in its group",
      { username: "system:bootstrap:ocmhub", groups: ["system:bootstrappers:managedcluster"] },
      1,
    ],
    [
      "a bootstrap token of somebody else",
      { username: "system:bootstrap:abcdef", groups: ["system:bootstrappers:managedcluster"] },
      0,
    ],
    ["the bootstrap token without its group", { username: "system:bootstrap:ocmhub" }, 0],
    ["an agent that wants to be another cluster", { cluster: "c2" }, 0],
    ["one that was decided", { decision: "Denied" }, 0],
    ["a person whom nobody named", { username: "bob" }, 0],
    ["a person whom the flag names", { username: "bob" }, 1, { requesters: ["bob"] } as never],
    ["anybody, when the check is skipped", { username: "bob" }, 1, { skipApproveCheck: true }],
    ["not even then one that wants to be another cluster", { cluster: "c2" }, 0, { skipApproveCheck: true }],
  ])("%s", (_, asked, pending, more = {}) => {
    expect(requestsOf([csr(asked)], { ...ACCEPTANCE, ...more }).pending).toHaveLength(pending);
  });
});

function managed(spec: ManagedCluster["spec"] = {}, joined = false) {
  const conditions = [ClusterCondition.HubAccepted, ...(joined ? [ClusterCondition.Joined] : [])].map((type) => ({
    type,
    status: "True" as const,
    reason: "r",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));
  return [ManagedCluster, { metadata: { name: "c1" }, spec, status: { conditions } }] as const;
}

function task(hub: ReturnType<typeof fakeCluster>, dryRun = false): Task {
  return { client: hub.client, dryRun, signal: new AbortController().signal };
}

describe("accepting a cluster", () => {
  it("says that the hub accepts it, and approves its request", async () => {
    const hub = fakeCluster(managed(), [CertificateSigningRequest, csr()]);
    expect(await acceptCluster(task(hub), ACCEPTANCE)).toEqual([
      { action: "change", what: "ManagedCluster c1", note: "hubAcceptsClient is true now" },
      { action: "change", what: "CertificateSigningRequest c1-a", note: "approved" },
    ]);
    expect(hub.read(ManagedCluster, "c1")?.spec?.hubAcceptsClient).toBe(true);
    expect(hub.read(CertificateSigningRequest, "c1-a")?.status?.conditions?.[0]).toMatchObject({ type: "Approved" });
  });

  it("writes nothing in a dry run", async () => {
    const hub = fakeCluster(managed(), [CertificateSigningRequest, csr()]);
    expect(await acceptCluster(task(hub, true), ACCEPTANCE)).toHaveLength(2);
    expect(hub.read(ManagedCluster, "c1")?.spec?.hubAcceptsClient).toBeUndefined();
    expect(hub.read(CertificateSigningRequest, "c1-a")?.status).toBeUndefined();
  });

  it("has nothing to do for a cluster that has joined, though its request is long gone", async () => {
    const hub = fakeCluster(managed({ hubAcceptsClient: true }, true));
    expect(await acceptCluster(task(hub), ACCEPTANCE)).toMatchObject([{ action: "keep" }]);
  });

  it.each<[why: string, requests: CertificateSigningRequest[], problem: string]>([
    ["has not asked", [], "cluster c1 has not asked for its certificate yet"],
    ["asks as somebody else", [csr({ username: "bob" })], "comes from bob; trust that user with --requesters bob"],
    ["asks for something else", [csr({ cluster: "c2" })], "does not ask for what its agent would"],
    [
      "asks twice",
      [csr(), csr({ name: "c1-b", agent: "other" })],
      "2 different agents ask to be c1: agent abcde (c1-a, ",
    ],
  ])("refuses one that %s, and changes nothing", async (_, requests, problem) => {
    const objects = requests.map((request) => [CertificateSigningRequest, request] as const);
    const hub = fakeCluster(managed(), ...objects);
    await expect(acceptCluster(task(hub), ACCEPTANCE)).rejects.toThrow(problem);
    expect(hub.read(ManagedCluster, "c1")?.spec?.hubAcceptsClient).toBeUndefined();
  });

  it("approves two requests of one agent, which was restarted", async () => {
    const objects = [csr(), csr({ name: "c1-b" })].map((request) => [CertificateSigningRequest, request] as const);
    const hub = fakeCluster(managed(), ...objects);
    expect(await acceptCluster(task(hub), ACCEPTANCE)).toHaveLength(3);
  });

  it("names the clusters that there are", async () => {
    const hub = fakeCluster(managed());
    await expect(acceptCluster(task(hub), { ...ACCEPTANCE, cluster: "c9" })).rejects.toThrow(
      "there is no ManagedCluster c9 on",
    );
  });
});
