/** Upstream's registration agent and ours side by side, on hubs of ours and on upstream's. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClusterProperty } from "#api/about";
import { managedClusterAddOnCrd } from "#api/addon";
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterClaim, ManagedCluster, ManagedClusterSetBinding } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Namespace, Secret } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/rbac";
import { ManifestWork, manifestWorkCrd } from "#api/work";
import { accept, runHub, runRegistration } from "#app";
import { type Client, connectionOf, createClient, isForbidden, isNotFound, kubeconfigFor } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { parseCertificate } from "#lib/pki";
import { missingControlPlane, startControlPlane } from "../kube/control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { bootstrapKubeconfig, installDefinitions, prepareHub, prepareSpoke } from "../support/prepared.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { startStockAgent, startStockHub, stockRegistration } from "./stock-ocm.ts";
import { missingOf } from "./strangers.ts";

const AGENT_NAMESPACE = "open-cluster-management-agent";
const HUB_SECRET = `${AGENT_NAMESPACE}/hub-kubeconfig-secret`;
const GROUP = "open-cluster-management";

/**
 * Upstream's agent renews when a quarter to a fifth of a life is left. Signers begin that life five minutes early, so that
 * these are due a few seconds after they were signed, and good for more than a minute after that. Ours waits until half
 * of what was left when it came is over.
 */
const SHORT_LIFE_SECONDS = 102;
const RENEWAL_MS = 90_000;

interface Running {
  stop(): Promise<void>;
}

interface Fleet {
  readonly hub: TestServer;
  readonly dir: string;
}

const missing = missingOf({ paths: [stockRegistration] });
const missingHub = missing ?? missingControlPlane();

describe.skipIf(missing)(`our hub on an embedded API server${missing ? ` (${missing})` : ""}`, () =>
  mixedFleet({ start: () => startEmbedded("hub", { signingDurationMs: SHORT_LIFE_SECONDS * 1000 }), run: ourHub }),
);

describe.skipIf(missingHub)(`our hub on kube-apiserver${missingHub ? ` (${missingHub})` : ""}`, () =>
  mixedFleet({ start: () => startControlPlane("hub", { signingSeconds: SHORT_LIFE_SECONDS }), run: ourHub }),
);

describe.skipIf(missingHub)(`upstream's hub on kube-apiserver${missingHub ? ` (${missingHub})` : ""}`, () =>
  mixedFleet({
    start: () => startControlPlane("hub", { signingSeconds: SHORT_LIFE_SECONDS }),
    run: ({ hub, dir }) => startStockHub({ hub: hub.kubeconfig, dir, flags: ["--feature-gates=ClusterProfile=true"] }),
  }),
);

async function ourHub({ hub }: Fleet): Promise<Running> {
  const stopping = new AbortController();
  const ended = runHub({ client: hub.client, clock: systemClock, log: silentLog, signal: stopping.signal });
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

async function ourAgent(name: string, { hub }: Fleet, spoke: TestServer): Promise<Running> {
  const stopping = new AbortController();
  const ended = runRegistration({
    clusterName: name,
    spoke: spoke.client,
    endpoints: [{ url: spoke.url, caBundle: Buffer.from(spoke.authority).toString("base64") }],
    bootstrap: await bootstrapKubeconfig(hub.client, hub.authority),
    namespace: AGENT_NAMESPACE,
    clock: systemClock,
    log: silentLog,
    signal: stopping.signal,
  });
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

async function stockAgent(name: string, { hub, dir }: Fleet, spoke: TestServer): Promise<Running> {
  const bootstrap = await bootstrapKubeconfig(hub.client, hub.authority);
  return startStockAgent({ clusterName: name, spoke: spoke.kubeconfig, bootstrap, url: spoke.url, dir });
}

/** The name of one begins like that of the other. */
const AGENTS = [
  { who: "upstream's agent", name: "cluster1", other: "cluster11", start: stockAgent },
  { who: "our agent", name: "cluster11", other: "cluster1", start: ourAgent },
];

const NAMED = AGENTS.map((agent) => [agent.who, agent] as const);

function mixedFleet(kind: { start(): Promise<TestServer>; run(fleet: Fleet): Promise<Running> }): void {
  let fleet: Fleet;
  let hub: Client;
  const spokes = new Map<string, TestServer>();
  const running: Running[] = [];

  beforeAll(async () => {
    const dir = await mkdtemp(join(tmpdir(), "capstan-ocm-"));
    fleet = { hub: await kind.start(), dir };
    hub = fleet.hub.client;
    await prepareHub(hub);
    // Upstream's agent waits for both; nobody converts between the versions of add-ons here, and there are none.
    await installDefinitions(hub, [manifestWorkCrd, managedClusterAddOnCrd]);
    running.push(await kind.run(fleet));
    for (const { name, start } of AGENTS) {
      const spoke = await startEmbedded(name, { nodes: { count: 1 } });
      spokes.set(name, spoke);
      await prepareSpoke(spoke.client, AGENT_NAMESPACE);
      running.push(await start(name, fleet, spoke));
    }
  }, 180_000);

  afterAll(async () => {
    for (const program of running.reverse()) await program.stop();
    await Promise.all([fleet?.hub, ...spokes.values()].map((server) => server?.close()));
    await rm(fleet?.dir, { recursive: true, force: true });
  }, 60_000);

  const spokeOf = (name: string): Client => {
    const spoke = spokes.get(name);
    if (!spoke) throw new Error(`there is no spoke ${name}`);
    return spoke.client;
  };
  const conditionsOf = async (name: string) => (await hub.get(ManagedCluster, name)).status?.conditions;
  const renewed = async (name: string) => (await hub.get(Lease, `${name}/managed-cluster-lease`)).spec?.renewTime ?? "";
  const requestsOf = async (name: string) => {
    const labelSelector = `open-cluster-management.io/cluster-name=${name}`;
    return (await hub.list(CertificateSigningRequest, { labelSelector })).items;
  };
  const identityOf = async (name: string) => {
    const { data = {} } = await spokeOf(name).get(Secret, HUB_SECRET);
    const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
    return { cert: text("tls.crt"), key: text("tls.key") };
  };
  /** Somebody who shows the certificate of the agent. */
  const asAgent = async <T>(name: string, act: (agent: Client) => Promise<T>): Promise<T> => {
    const { url: server, authority: ca } = fleet.hub;
    const access = kubeconfigFor({ name, server, ca, ...(await identityOf(name)) });
    const client = createClient({ connection: await connectionOf(access) });
    try {
      return await act(client);
    } finally {
      client.close();
    }
  };

  it.each(NAMED)("%s asks, and waits", async (_, { name }) => {
    await eventually(async () => expect(await requestsOf(name)).toHaveLength(1));
    expect((await hub.get(ManagedCluster, name)).spec?.hubAcceptsClient ?? false).toBe(false);
    await expect(hub.get(Namespace, name)).rejects.toSatisfy(isNotFound);
  });

  it.each(NAMED)("%s works once it is accepted", async (_, { name }) => {
    await accept(hub, name, AbortSignal.timeout(60_000));
    await eventually(async () => {
      const conditions = await conditionsOf(name);
      for (const type of ["ManagedClusterJoined", "ManagedClusterConditionAvailable"]) {
        expect(isTrue(conditions, type), type).toBe(true);
      }
      expect(isTrue(conditions, "ManagedClusterConditionClockSynced")).toBe(true);
    });
    const { status, spec } = await eventually(async () => {
      const cluster = await hub.get(ManagedCluster, name);
      expect(cluster.spec?.taints ?? []).toEqual([]);
      expect(Object.keys(cluster.status?.capacity ?? {})).toEqual(expect.arrayContaining(["cpu", "memory"]));
      return cluster;
    });
    expect(status?.version?.kubernetes).toMatch(/^v1\.\d+/);
    expect(spec?.managedClusterClientConfigs?.[0]?.url).toBe(spokes.get(name)?.url);
  });

  it.each(NAMED)("%s renews its lease", async (_, { name }) => {
    const first = await renewed(name);
    await eventually(async () => expect((await renewed(name)) > first).toBe(true));
  });

  it.each(NAMED)("%s tells what its cluster claims, and prefers properties", async (_, { name }) => {
    const spoke = spokeOf(name);
    for (const claim of ["site.example.com", "both.example.com"]) {
      await spoke.create(ClusterClaim, { metadata: { name: claim }, spec: { value: "claimed" } });
    }
    for (const property of ["cluster.clusterset.k8s.io", "both.example.com"]) {
      await spoke.create(ClusterProperty, { metadata: { name: property }, spec: { value: "property" } });
    }
    await eventually(async () => {
      const { status } = await hub.get(ManagedCluster, name);
      expect(status?.clusterClaims).toEqual([
        { name: "both.example.com", value: "property" },
        { name: "cluster.clusterset.k8s.io", value: "property" },
        { name: "site.example.com", value: "claimed" },
      ]);
    });
  });

  it("both are in the inventory of a namespace that all clusters are bound to", async () => {
    await hub.create(Namespace, { metadata: { name: "team" } });
    const metadata = { namespace: "team", name: "global" };
    await hub.create(ManagedClusterSetBinding, { metadata, spec: { clusterSet: "global" } });
    for (const { name } of AGENTS) {
      await eventually(async () => {
        const { status } = await hub.get(ClusterProfile, `team/${name}`);
        expect(findCondition(status?.conditions, "ControlPlaneHealthy")?.status).toBe("True");
        expect(status?.properties).toContainEqual(
          expect.objectContaining({ name: "site.example.com", value: "claimed" }),
        );
      });
    }
  });

  it.each(NAMED)("%s may touch its own objects and none of its neighbour's", async (_, { name, other }) => {
    await asAgent(name, async (agent) => {
      await agent.get(ManagedCluster, name);
      await agent.list(ManifestWork, { namespace: name });
      await expect(agent.get(ManagedCluster, other)).rejects.toSatisfy(isForbidden);
      await expect(agent.list(ManifestWork, { namespace: other })).rejects.toSatisfy(isForbidden);
      await expect(agent.get(Lease, `${other}/managed-cluster-lease`)).rejects.toSatisfy(isForbidden);
      await expect(agent.list(Secret, { namespace: name })).rejects.toSatisfy(isForbidden);
    });
  });

  it.each(NAMED)("%s gets the next certificate before its own ends, and goes on", async (_, { name }) => {
    const before = await identityOf(name);
    const asked = (await requestsOf(name)).length;
    let nudges = 0;
    // Upstream looks at its certificate when the Secret changes, and otherwise only every five minutes. Once it has asked
    // it is left alone: it would try for ever to write an answer over a Secret that has changed meanwhile.
    await eventually(async () => {
      const metadata = { annotations: { "test.capstan.dev/nudge": String(nudges++) } };
      if ((await requestsOf(name)).length === asked) await spokeOf(name).patch(Secret, HUB_SECRET, { metadata });
      expect((await requestsOf(name)).length).toBeGreaterThan(asked);
    }, RENEWAL_MS);
    await eventually(async () => expect((await identityOf(name)).cert).not.toBe(before.cert));
    const [old, now] = [parseCertificate(before.cert), parseCertificate((await identityOf(name)).cert)];
    expect(now.subject.commonName).toBe(old.subject.commonName);
    expect(now.notAfter > old.notAfter).toBe(true);
    await eventually(async () =>
      expect(findCondition(await conditionsOf(name), "ClusterCertificateRotated")).toMatchObject({ status: "True" }),
    );
    const beat = await renewed(name);
    await eventually(async () => expect((await renewed(name)) > beat).toBe(true));
  });

  it.each(NAMED)("%s is let go, and what it could do here goes with it", async (_, { name, other }) => {
    await hub.delete(ManagedCluster, name);
    await eventually(() => expect(hub.get(ManagedCluster, name)).rejects.toSatisfy(isNotFound));
    const role = `${GROUP}:managedcluster:${name}`;
    await eventually(async () => {
      await expect(hub.get(ClusterRole, role)).rejects.toSatisfy(isNotFound);
      await expect(hub.get(ClusterRoleBinding, role)).rejects.toSatisfy(isNotFound);
      expect((await hub.list(RoleBinding, { namespace: name })).items).toEqual([]);
      await expect(hub.get(ClusterProfile, `team/${name}`)).rejects.toSatisfy(isNotFound);
    });
    await asAgent(name, async (agent) => {
      await eventually(() => expect(agent.get(ManagedCluster, name)).rejects.toSatisfy(isForbidden));
      await expect(agent.list(ManifestWork, { namespace: other })).rejects.toSatisfy(isForbidden);
    });
    await hub.get(Namespace, name);
  });
}
