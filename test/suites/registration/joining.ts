/** How a cluster joins, stays and is lost, on any two API servers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { ClusterRole, RoleBinding } from "#api/rbac";
import { appliedManifestWorkCrd, manifestWorkCrd } from "#api/work";
import { accept, FLEET_NAMESPACE, runAgent, runHub, untilWorking } from "#app";
import {
  type Client,
  connectionOf,
  createClient,
  isForbidden,
  isNotFound,
  isUnauthorized,
  kubeconfigFor,
  parseKubeconfig,
} from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { parseCertificate } from "#lib/pki";
import { eventually } from "../../support/eventually.ts";
import { bootstrapKubeconfig, installDefinitions, prepareHub, prepareSpoke } from "../../support/prepared.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { accessCases } from "../access.ts";

const AGENT_NAMESPACE = "open-cluster-management-agent";
const HUB_SECRET = `${AGENT_NAMESPACE}/hub-kubeconfig-secret`;

export function registrationSuite(start: StartServer): void {
  let hub: TestServer;
  let spoke: TestServer;
  const stopHub = new AbortController();
  let hubStopped: Promise<void> = Promise.resolve();
  const agents: Agent[] = [];

  beforeAll(async () => {
    [hub, spoke] = await Promise.all([start("hub"), start("cluster1")]);
    await prepareHub(hub.client);
    await prepareSpoke(spoke.client, AGENT_NAMESPACE);
    await installDefinitions(hub.client, [manifestWorkCrd]);
    await installDefinitions(spoke.client, [appliedManifestWorkCrd]);
    hubStopped = runHub({ client: hub.client, clock: systemClock, log: silentLog, signal: stopHub.signal });
  }, 180_000);

  afterAll(async () => {
    await Promise.all(agents.map((agent) => agent.stop()));
    stopHub.abort();
    await hubStopped;
    await Promise.all([hub?.close(), spoke?.close()]);
  }, 60_000);

  const startAgent = async (name: string, grantAccess?: string): Promise<Agent> => {
    const stopping = new AbortController();
    const ended = runAgent({
      clusterName: name,
      spoke: spoke.client,
      endpoints: [{ url: spoke.url, caBundle: Buffer.from(spoke.authority).toString("base64") }],
      bootstrap: await bootstrapKubeconfig(hub.client, hub.authority),
      namespace: AGENT_NAMESPACE,
      ...(grantAccess !== undefined && { grantAccess }),
      clock: systemClock,
      log: silentLog,
      signal: stopping.signal,
    });
    const agent = {
      stop: async () => {
        stopping.abort();
        await ended;
      },
    };
    agents.push(agent);
    return agent;
  };
  const managed = (name = "cluster1") => hub.client.get(ManagedCluster, name);
  const conditionOf = async (type: string) => findCondition((await managed()).status?.conditions, type);
  const requests = async () =>
    (
      await hub.client.list(CertificateSigningRequest, {
        labelSelector: "open-cluster-management.io/cluster-name=cluster1",
      })
    ).items;
  const waysIn = async () =>
    (await hub.client.get(ClusterProfile, `${FLEET_NAMESPACE}/cluster1`)).status?.accessProviders ?? [];
  const patience = () => AbortSignal.timeout(60_000);
  const restartAgent = async (grantAccess?: string): Promise<void> => {
    await agents.pop()?.stop();
    const before = new Date();
    await startAgent("cluster1", grantAccess);
    await untilWorking(hub.client, "cluster1", before, patience());
  };

  describe("joining", () => {
    it("asks and waits: nobody is let in before a person says so", async () => {
      await startAgent("cluster1");
      const [request] = await eventually(async () => {
        const found = await requests();
        expect(found).toHaveLength(1);
        return found;
      });
      expect(request?.spec).toMatchObject({
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["digital signature", "key encipherment", "client auth"],
        username: "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
      });
      expect(request?.status?.conditions ?? []).toEqual([]);
      const cluster = await managed();
      expect(cluster.spec?.hubAcceptsClient ?? false).toBe(false);
      expect(cluster.spec?.managedClusterClientConfigs?.map(({ url }) => url)).toEqual([spoke.url]);
      await expect(hub.client.get(Namespace, "cluster1")).rejects.toSatisfy(isNotFound);
    });

    it("works once it is accepted: joined, available, with version, lease and set", async () => {
      const before = new Date();
      await accept(hub.client, "cluster1", patience());
      await untilWorking(hub.client, "cluster1", before, patience());
      const cluster = await managed();
      expect(cluster.metadata.labels?.["cluster.open-cluster-management.io/clusterset"]).toBe("default");
      expect(cluster.status?.version?.kubernetes).toMatch(/^v1\.\d+/);
      for (const type of ["HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable"]) {
        expect(findCondition(cluster.status?.conditions, type)?.status, type).toBe("True");
      }
      await eventually(async () => expect((await managed()).spec?.taints ?? []).toEqual([]));
      expect((await hub.client.get(Namespace, "cluster1")).metadata.labels).toMatchObject({
        "open-cluster-management.io/cluster-name": "cluster1",
      });
    });

    it("keeps the agent's identity on the spoke in the form that other agents read", async () => {
      const { data = {} } = await spoke.client.get(Secret, HUB_SECRET);
      expect(Object.keys(data).sort()).toEqual(["agent-name", "cluster-name", "kubeconfig", "tls.crt", "tls.key"]);
      const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
      expect(text("cluster-name")).toBe("cluster1");
      const { subject } = parseCertificate(text("tls.crt"));
      expect(subject.commonName).toBe(`system:open-cluster-management:cluster1:${text("agent-name")}`);
      expect([...subject.organizations].sort()).toEqual([
        "system:open-cluster-management:cluster1",
        "system:open-cluster-management:managed-clusters",
      ]);
      expect(text("kubeconfig")).toContain("client-certificate: tls.crt");
    });

    it("renews its lease", async () => {
      const renewed = async () => (await hub.client.get(Lease, "cluster1/managed-cluster-lease")).spec?.renewTime ?? "";
      const first = await renewed();
      await eventually(async () => expect((await renewed()) > first).toBe(true));
    });

    it("needs no second certificate after a restart", async () => {
      await restartAgent();
      expect(await requests()).toHaveLength(1);
    });
  });

  const agentClient = async (): Promise<Client> => {
    const { data = {} } = await spoke.client.get(Secret, HUB_SECRET);
    const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
    const access = { name: "agent", server: hub.url, ca: hub.authority, cert: text("tls.crt"), key: text("tls.key") };
    // What the Secret says leads to the same place.
    expect(parseKubeconfig(text("kubeconfig"), "the Secret").clusters[0]?.server).toBe(hub.url);
    return createClient({ connection: await connectionOf(kubeconfigFor(access)) });
  };

  describe("identities", () => {
    let identity: Client;
    beforeAll(async () => {
      identity = await agentClient();
    });
    afterAll(() => identity.close());

    it("may read its own lease and no other cluster's", async () => {
      await identity.get(Lease, "cluster1/managed-cluster-lease");
      await expect(identity.get(Lease, "cluster2/managed-cluster-lease")).rejects.toSatisfy(isForbidden);
      await expect(identity.get(ManagedCluster, "cluster2")).rejects.toSatisfy(isForbidden);
      await expect(identity.list(Secret, { namespace: "cluster1" })).rejects.toSatisfy(isForbidden);
    });

    it("are worth nothing on another server: a certificate of the spoke is refused by the hub", async () => {
      const { cert, key } = spoke.kubeconfig.users[0] as unknown as { cert: { pem: string }; key: { pem: string } };
      const stranger = createClient({
        connection: await connectionOf(
          kubeconfigFor({ name: "x", server: hub.url, ca: hub.authority, cert: cert.pem, key: key.pem }),
        ),
      });
      await expect(stranger.list(Namespace)).rejects.toSatisfy(isUnauthorized);
      stranger.close();
    });
  });

  describe("the inventory", () => {
    it("repeats the cluster in every namespace that a set is bound to", async () => {
      const profile = await eventually(async () => {
        const found = await hub.client.get(ClusterProfile, `${FLEET_NAMESPACE}/cluster1`);
        expect(findCondition(found.status?.conditions, "ControlPlaneHealthy")?.status).toBe("True");
        expect(found.metadata.labels?.["multicluster.x-k8s.io/clusterset"]).toBe("default");
        return found;
      });
      expect(profile.spec).toEqual({ displayName: "cluster1", clusterManager: { name: "open-cluster-management" } });
      expect(profile.metadata.labels).toMatchObject({
        "x-k8s.io/cluster-manager": "open-cluster-management",
        "open-cluster-management.io/cluster-name": "cluster1",
      });
      expect(profile.status?.version?.kubernetes).toBe((await managed()).status?.version?.kubernetes);
    });

    it("follows bindings as they come and go", async () => {
      await hub.client.create(Namespace, { metadata: { name: "team-a" } });
      await hub.client.create(ManagedClusterSetBinding, {
        metadata: { namespace: "team-a", name: "global" },
        spec: { clusterSet: "global" },
      });
      await eventually(() => hub.client.get(ClusterProfile, "team-a/cluster1"));
      await hub.client.delete(ManagedClusterSetBinding, "team-a/global");
      await eventually(() => expect(hub.client.get(ClusterProfile, "team-a/cluster1")).rejects.toSatisfy(isNotFound));
    });
  });

  describe("access", () =>
    accessCases(() => ({ hub, spoke, agentNamespace: AGENT_NAMESPACE, restartAgent, agentClient })));

  describe("sets", () => {
    it("default and global come back when somebody deletes them", async () => {
      const uidOf = async (name: string) => (await hub.client.get(ManagedClusterSet, name)).metadata.uid;
      const before = await uidOf("global");
      await hub.client.delete(ManagedClusterSet, "global");
      await eventually(async () => expect(await uidOf("global")).not.toBe(before));
    });

    it("tell how many clusters they have", async () => {
      await eventually(async () => {
        const { status } = await hub.client.get(ManagedClusterSet, "default");
        expect(findCondition(status?.conditions, "ClusterSetEmpty")).toMatchObject({
          status: "False",
          reason: "ClustersSelected",
          message: "1 ManagedClusters selected",
        });
      });
    });
  });

  describe("losing and letting go", () => {
    it("shows when the agent falls silent, and that it is back", async () => {
      await hub.client.patch(ManagedCluster, "cluster1", { spec: { leaseDurationSeconds: 1 } });
      await agents.pop()?.stop();
      await eventually(async () =>
        expect(await conditionOf("ManagedClusterConditionAvailable")).toMatchObject({
          status: "Unknown",
          reason: "ManagedClusterLeaseUpdateStopped",
        }),
      );
      await eventually(async () =>
        expect((await managed()).spec?.taints?.map(({ key }) => key)).toEqual([
          "cluster.open-cluster-management.io/unreachable",
        ]),
      );
      await startAgent("cluster1", "view");
      await eventually(async () =>
        expect((await conditionOf("ManagedClusterConditionAvailable"))?.status).toBe("True"),
      );
      await eventually(async () => expect((await managed()).spec?.taints ?? []).toEqual([]));
    });

    it("takes a denied cluster's rights away, and access to it, and its work agent looks at nothing any more", async () => {
      await eventually(async () => expect(await waysIn()).toHaveLength(1));
      await eventually(async () => expect(await openWatches(hub.client, "manifestworks")).toBe(1));
      await hub.client.patch(ManagedCluster, "cluster1", { spec: { hubAcceptsClient: false } });
      await eventually(async () =>
        expect(await conditionOf("HubAcceptedManagedCluster")).toMatchObject({
          status: "False",
          reason: "HubClusterAdminDenied",
        }),
      );
      await eventually(async () => {
        const { rules = [] } = await hub.client.get(ClusterRole, "open-cluster-management:managedcluster:cluster1");
        expect(rules.flatMap(({ verbs }) => verbs).sort()).toEqual(["get", "list", "watch"]);
      });
      await eventually(() =>
        expect(
          hub.client.get(RoleBinding, "cluster1/open-cluster-management:managedcluster:cluster1:registration"),
        ).rejects.toSatisfy(isNotFound),
      );
      await eventually(async () => expect(await openWatches(hub.client, "manifestworks")).toBe(0));
      await eventually(async () => expect(await waysIn()).toEqual([]));
      await expect(hub.client.get(Secret, "cluster1/capstan-cluster-access")).rejects.toSatisfy(isNotFound);
      const account = `${AGENT_NAMESPACE}/cluster-access`;
      await eventually(() => expect(spoke.client.get(ServiceAccount, account)).rejects.toSatisfy(isNotFound));
    });
  });
}

interface Agent {
  stop(): Promise<void>;
}

/** How many watches of a resource in one namespace the server has open. */
async function openWatches(client: Client, resource: string): Promise<number> {
  const lines = (await client.raw("/metrics")).split("\n");
  return lines
    .filter((line) => line.startsWith("apiserver_longrunning_requests{") && line.includes(`resource="${resource}"`))
    .filter((line) => line.includes('scope="namespace"'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
