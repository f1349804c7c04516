import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { AgentIdentity, ClusterLabel, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Secret } from "#api/core";
import { Klusterlet } from "#api/operator";
import { type Client, kubeconfigFor, kubeconfigText, parseKubeconfig } from "#kube";
import { createCertificateAuthority, createCertificateRequest, generateKeyPair } from "#lib/pki";
import { eventually } from "../../../test/support/eventually.ts";
import { fakeCluster } from "../../../test/support/index.ts";
import { rejoinCluster } from "./rejoining.ts";

const AGENTS = "open-cluster-management-agent";
/** Nobody listens there. */
const NOWHERE = "https://127.0.0.1:1";
const USER = "system:serviceaccount:open-cluster-management:agent-registration-bootstrap";
const newAuthority = (commonName: string) =>
  createCertificateAuthority({ commonName, now: new Date("2026-01-01T00:00:00Z") }).certificate;
const [authority, oldAuthority] = [newAuthority("hub"), newAuthority("hub before")];
const token = `h.${Buffer.from(JSON.stringify({ jti: "the-new-one" })).toString("base64url")}.s`;

function base64(content: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(content).map(([key, text]) => [key, Buffer.from(text).toString("base64")]));
}

function stage(spec: ManagedCluster["spec"] = { hubAcceptsClient: true }) {
  const createSub = (async () => ({
    status: { token, expirationTimestamp: "2026-01-01T01:00:00Z" },
  })) as unknown as Client["createSub"];
  const condition = {
    type: "ManagedClusterConditionAvailable",
    status: "True",
    reason: "r",
    message: "",
    lastTransitionTime: "",
  } as const;
  const hub = fakeCluster(
    { createSub },
    [ManagedCluster, { metadata: { name: "c1" }, spec, status: { conditions: [condition] } }],
    [Lease, { metadata: { name: "managed-cluster-lease", namespace: "c1" }, spec: { renewTime: "before" } }],
    [ConfigMap, { metadata: { name: "kube-root-ca.crt", namespace: "kube-public" }, data: { "ca.crt": authority } }],
  );
  const old = kubeconfigFor({ name: "its-name", server: NOWHERE, ca: oldAuthority, token: "old" });
  const spoke = fakeCluster(
    { name: "c1" },
    [Klusterlet, { metadata: { name: "klusterlet" }, spec: { clusterName: "c1" } }],
    [
      Secret,
      {
        metadata: { name: "bootstrap-hub-kubeconfig", namespace: AGENTS },
        data: base64({ kubeconfig: kubeconfigText(old) }),
      },
      {
        metadata: { name: "hub-kubeconfig-secret", namespace: AGENTS },
        data: base64({ "cluster-name": "c1", "agent-name": "abcde" }),
      },
    ],
  );
  const task = (dryRun = false) => ({ client: spoke.client, dryRun, signal: AbortSignal.timeout(20_000) });
  const wish = { hub: { client: hub.client, connection: { server: NOWHERE, ca: authority } }, wait: true };
  return { hub, spoke, task, wish };
}

function request(name: string, agent: string, id: string) {
  const pem = createCertificateRequest({
    subject: {
      commonName: AgentIdentity.user("c1", agent),
      organizations: [AgentIdentity.group("c1"), AgentIdentity.commonGroup],
    },
    key: generateKeyPair().privateKey,
  });
  return {
    metadata: { name, labels: { [ClusterLabel.name]: "c1" } },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["digital signature", "key encipherment", "client auth"],
      username: USER,
      extra: { "authentication.kubernetes.io/credential-id": [`JTI=${id}`] },
    },
  };
}

describe("restoring an identity", () => {
  it("puts the new token and the hub's authority where the agents look, under the names that were", async () => {
    const { spoke, task, wish } = stage();
    const { changes, remarks } = await rejoinCluster(task(), { ...wish, wait: false });
    expect(changes).toEqual([
      { action: "change", what: `Secret ${AGENTS}/bootstrap-hub-kubeconfig`, note: ".data.kubeconfig" },
    ]);
    expect(remarks[0]).toContain("does not answer here");
    const { data } = spoke.read(Secret, `${AGENTS}/bootstrap-hub-kubeconfig`) ?? {};
    const config = parseKubeconfig(Buffer.from(data?.kubeconfig ?? "", "base64").toString(), "the Secret");
    expect(config.clusters[0]).toMatchObject({ name: "its-name", server: NOWHERE, ca: { pem: authority } });
    expect(config.users[0]?.token).toBe(token);
  });

  it("approves what the cluster's own agent asks for with that token, and nobody who only says so", async () => {
    const { hub, task, wish } = stage();
    const done = rejoinCluster(task(), wish);
    const approved = (name: string) => hub.read(CertificateSigningRequest, name)?.status?.conditions?.[0]?.type;
    hub.put(CertificateSigningRequest, request("c1-thief", "abcde", "another-token"));
    hub.put(CertificateSigningRequest, request("c1-own", "abcde", "the-new-one"));
    await eventually(() => expect(approved("c1-own")).toBe("Approved"));
    hub.put(Lease, { metadata: { name: "managed-cluster-lease", namespace: "c1" }, spec: { renewTime: "after" } });
    const { changes } = await done;
    expect(changes.map(({ what }) => what)).toContain("CertificateSigningRequest c1-own");
    expect(approved("c1-thief")).toBeUndefined();
  });

  it("stops when somebody else asks with the new token", async () => {
    const { hub, task, wish } = stage();
    const done = rejoinCluster(task(), wish);
    hub.put(CertificateSigningRequest, request("c1-other", "other", "the-new-one"));
    await expect(done).rejects.toThrow("c1-other asks to be c1 with the new token, but not as its agent");
  });

  it("does nothing for a cluster that the hub does not accept", async () => {
    const { spoke, task, wish } = stage({});
    const problem = "does not accept c1; if it should, say so first with `capstan accept --clusters c1`";
    await expect(rejoinCluster(task(), wish)).rejects.toThrow(problem);
    expect(spoke.writes).toEqual([]);
  });

  it("only tells in a dry run", async () => {
    const { spoke, hub, task, wish } = stage();
    const { changes } = await rejoinCluster(task(true), wish);
    expect(changes.map(({ action }) => action)).toEqual(["change", "change"]);
    expect([...spoke.writes, ...hub.writes]).toEqual([]);
  });
});

describe("restoring an identity whose agent is run by no Klusterlet", () => {
  let dir: string;
  let file: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "capstan-rejoin-"));
    file = join(dir, "bootstrap.kubeconfig");
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  /** A cluster with identities in these namespaces, and nothing else. */
  function bareStage(...namespaces: readonly string[]) {
    const { hub, task, wish, spoke } = stage();
    spoke.drop(Klusterlet, "klusterlet");
    spoke.drop(Secret, `${AGENTS}/bootstrap-hub-kubeconfig`);
    spoke.drop(Secret, `${AGENTS}/hub-kubeconfig-secret`);
    const own = kubeconfigText(kubeconfigFor({ name: "its-own-name", server: NOWHERE, ca: oldAuthority, token: "t" }));
    for (const namespace of namespaces) {
      const [clusterName = ""] = namespace.split("-").reverse();
      spoke.put(Secret, {
        metadata: { name: "hub-kubeconfig-secret", namespace },
        data: base64({ "cluster-name": clusterName, "agent-name": "abcde", kubeconfig: own }),
      });
    }
    return { hub, spoke, task, wish: { ...wish, wait: false } };
  }

  it("says which file it needs, and changes nothing", async () => {
    const { spoke, task, wish } = bareStage("agents-c1");
    await expect(rejoinCluster(task(), wish)).rejects.toThrow(
      "the agent of c1 is run by no Klusterlet, so its bootstrap kubeconfig is a file where it runs; name that file with --bootstrap-kubeconfig",
    );
    expect(spoke.writes).toEqual([]);
  });

  it("puts the new token and the hub's authority into that file, under the names that were", async () => {
    const { spoke, task, wish } = bareStage("agents-c1");
    const old = kubeconfigFor({ name: "its-name", server: NOWHERE, ca: oldAuthority, token: "old" });
    await writeFile(file, kubeconfigText(old));
    const dry = await rejoinCluster(task(true), { ...wish, bootstrapFile: file });
    expect(dry.changes[0]).toMatchObject({ action: "change", what: `file ${file}` });
    expect(await readFile(file, "utf8")).toBe(kubeconfigText(old));

    const { changes } = await rejoinCluster(task(), { ...wish, bootstrapFile: file });
    expect(changes).toHaveLength(1);
    expect(JSON.stringify(changes)).not.toContain(token);
    const config = parseKubeconfig(await readFile(file, "utf8"), file);
    expect(config.clusters).toMatchObject([{ name: "its-name", server: NOWHERE, ca: { pem: authority } }]);
    expect(config.users[0]?.token).toBe(token);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(spoke.writes).toEqual([]);
  });

  it("makes the file where there is none, with the hub's name as the identity has it", async () => {
    const { task, wish } = bareStage("agents-c1");
    const { changes } = await rejoinCluster(task(), { ...wish, bootstrapFile: file });
    expect(changes[0]).toMatchObject({ action: "create", what: `file ${file}` });
    const { clusters, users } = parseKubeconfig(await readFile(file, "utf8"), file);
    expect(clusters).toMatchObject([{ name: "its-own-name", server: NOWHERE, ca: { pem: authority } }]);
    expect(users[0]?.token).toBe(token);
  });

  it("approves what that agent asks for, wherever its identity lies", async () => {
    const { hub, task, wish } = bareStage("agents-c1", "agents-c2");
    const done = rejoinCluster(task(), { ...wish, clusterName: "c1", bootstrapFile: file, wait: true });
    hub.put(CertificateSigningRequest, request("c1-own", "abcde", "the-new-one"));
    await eventually(() =>
      expect(hub.read(CertificateSigningRequest, "c1-own")?.status?.conditions?.[0]?.type).toBe("Approved"),
    );
    hub.put(Lease, { metadata: { name: "managed-cluster-lease", namespace: "c1" }, spec: { renewTime: "after" } });
    expect((await done).clusterName).toBe("c1");
  });

  it("asks which is meant where there are several, and says who is there", async () => {
    const { task, wish } = bareStage("agents-c1", "agents-c2");
    await expect(rejoinCluster(task(), wish)).rejects.toThrow("agents of c1, c2 run on");
    await expect(rejoinCluster(task(), { ...wish, clusterName: "c3" })).rejects.toThrow(
      "has not joined as c3, but as c1, c2; correct --cluster-name or --context",
    );
  });

  it("refuses a file that cannot be read, and one where a Klusterlet runs the agents", async () => {
    const { task, wish } = bareStage("agents-c1");
    await expect(rejoinCluster(task(), { ...wish, bootstrapFile: dir })).rejects.toThrow("cannot be read: ");
    const managed = stage();
    await expect(rejoinCluster(managed.task(), { ...managed.wish, bootstrapFile: file })).rejects.toThrow(
      `are run by a Klusterlet and read Secret ${AGENTS}/bootstrap-hub-kubeconfig; leave --bootstrap-kubeconfig out`,
    );
  });
});
