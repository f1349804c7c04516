/** How a cluster that grants access is reached through the inventory, on any two API servers: part of registration. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManagedClusterSetBinding } from "#api/cluster";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { Role, RoleBinding } from "#api/rbac";
import { FLEET_NAMESPACE } from "#app";
import { createInventoryAccess, isAccessFailure, parseProviderFile } from "#features/inventory";
import {
  type Client,
  connectionOf,
  createClient,
  createExecEngine,
  isForbidden,
  isNotFound,
  isUnauthorized,
  kubeconfigFor,
} from "#kube";
import { systemClock } from "#lib/clock";
import { eventually } from "../support/eventually.ts";
import type { TestServer } from "../support/servers.ts";

const SECRET = "cluster1/capstan-cluster-access";
const ROLE = "cluster1/open-cluster-management:cluster-access";
const PROFILE = `${FLEET_NAMESPACE}/cluster1`;
/** A real server remembers for ten seconds whom it let in. */
const FORGETTING_MS = 30_000;

export interface JoinedCluster {
  readonly hub: TestServer;
  readonly spoke: TestServer;
  /** Where the agent of cluster1 lives on the spoke. */
  readonly agentNamespace: string;
  /** Starts the agent of cluster1 again and waits until it works; it grants this ClusterRole, or nothing. */
  restartAgent(grantAccess?: string): Promise<void>;
  /** A client of the hub with the agent's identity. */
  agentClient(): Promise<Client>;
}

export function accessCases(stage: () => JoinedCluster): void {
  const { providers } = parseProviderFile(
    '{"providers": [{"name": "token-secretreader", "builtin": "token-secretreader"}]}',
    { file: "providers.json", cwd: "/" },
  );
  const engine = createExecEngine({ env: {}, policy: { type: "DenyAll" } });
  const clients: Client[] = [];
  afterAll(() => {
    for (const client of clients) client.close();
    engine.close();
  });

  /** As a consumer of the inventory goes: from the profile to the cluster. */
  async function reach(profileKey: string): Promise<Client> {
    const { hub } = stage();
    const inventory = createInventoryAccess({
      source: {
        current: () => ({ providers, warnings: [] }),
        problem: () => undefined,
        onChange: () => () => {},
        close() {},
      },
      exec: engine,
      hub: { client: hub.client, namespace: "default" },
      clock: systemClock,
    });
    const way = inventory.accessTo(await hub.client.get(ClusterProfile, profileKey));
    if (isAccessFailure(way)) throw new Error(way.message);
    const client = createClient({ connection: inventory.connectionTo(way) });
    clients.push(client);
    return client;
  }

  const token = async () => {
    const { data = {} } = await stage().hub.client.get(Secret, SECRET);
    expect(Object.keys(data)).toEqual(["token"]);
    return Buffer.from(data.token ?? "", "base64").toString();
  };

  it("is not there unless the agent grants it", async () => {
    const { hub, spoke, agentNamespace } = stage();
    await expect(hub.client.get(Secret, SECRET)).rejects.toSatisfy(isNotFound);
    await expect(spoke.client.get(ServiceAccount, `${agentNamespace}/cluster-access`)).rejects.toSatisfy(isNotFound);
    expect((await hub.client.get(ClusterProfile, PROFILE)).status?.accessProviders ?? []).toEqual([]);
  });

  it("leads from the profile into the cluster, as far as the granted role goes", async () => {
    await stage().restartAgent("view");
    const client = await eventually(() => reach(PROFILE));
    await client.list(ConfigMap, { namespace: "default" });
    await expect(client.list(Secret, { namespace: "default" })).rejects.toSatisfy(isForbidden);
    await expect(client.delete(Namespace, "default")).rejects.toSatisfy(isForbidden);
  });

  it("is told in every namespace that a set is bound to", async () => {
    const { hub } = stage();
    await hub.client.create(Namespace, { metadata: { name: "team-b" } });
    await hub.client.create(ManagedClusterSetBinding, {
      metadata: { namespace: "team-b", name: "global" },
      spec: { clusterSet: "global" },
    });
    const client = await eventually(() => reach("team-b/cluster1"));
    await client.list(ConfigMap, { namespace: "default" });
  });

  describe("gives the agent", () => {
    let agent: Client;
    beforeAll(async () => {
      agent = await stage().agentClient();
      const { hub } = stage();
      await hub.client.create(Secret, { metadata: { name: "private", namespace: "cluster1" }, stringData: { a: "b" } });
    });
    afterAll(() => agent.close());

    it("one Secret to read and to write", async () => {
      const secret = await agent.get(Secret, SECRET);
      const one = { namespace: "cluster1", fieldSelector: "metadata.name=capstan-cluster-access" };
      expect((await agent.list(Secret, one)).items).toHaveLength(1);
      await agent.update(Secret, secret);
    });

    it.each<[string, () => Promise<unknown>]>([
      ["another Secret of its namespace", () => agent.get(Secret, "cluster1/private")],
      ["its Secrets all at once", () => agent.list(Secret, { namespace: "cluster1" })],
      [
        "another one by way of a list",
        () => agent.list(Secret, { namespace: "cluster1", fieldSelector: "metadata.name=private" }),
      ],
      ["a watch on all of them", () => agent.watch(Secret, { namespace: "cluster1" })],
      ["the Secret of another cluster", () => agent.get(Secret, "cluster2/capstan-cluster-access")],
      ["the right to remove it", () => agent.delete(Secret, SECRET)],
      ["the right to make another", () => agent.create(Secret, { metadata: { name: "x", namespace: "cluster1" } })],
      ["its own rights to change", () => agent.get(Role, ROLE)],
    ])("not %s", async (_, ask) => {
      await expect(ask()).rejects.toSatisfy(isForbidden);
    });
  });

  it("survives a restart of the agent with the same token", async () => {
    const before = await token();
    await stage().restartAgent("view");
    expect(await token()).toBe(before);
  });

  it("is given back when the token is exchanged or its service account replaced", async () => {
    const { hub, spoke, agentNamespace } = stage();
    const first = await token();
    await hub.client.patch(Secret, SECRET, { data: { token: Buffer.from("nonsense").toString("base64") } });
    const second = await eventually(async () => {
      const current = await token();
      expect([first, "nonsense"]).not.toContain(current);
      return current;
    });
    await spoke.client.delete(ServiceAccount, `${agentNamespace}/cluster-access`);
    await eventually(async () => expect(await token()).not.toBe(second));
    await eventually(async () => (await reach(PROFILE)).list(ConfigMap, { namespace: "default" }));
  });

  it("ends without a trace when the agent grants it no longer, and tokens of before are refused", async () => {
    const { hub, spoke, agentNamespace, restartAgent } = stage();
    const access = { name: "x", server: spoke.url, ca: spoke.authority, token: await token() };
    const client = createClient({ connection: await connectionOf(kubeconfigFor(access)) });
    clients.push(client);
    await client.list(ConfigMap, { namespace: "default" });

    await restartAgent();
    await eventually(() => expect(hub.client.get(Secret, SECRET)).rejects.toSatisfy(isNotFound));
    await eventually(() => expect(hub.client.get(Role, ROLE)).rejects.toSatisfy(isNotFound));
    await eventually(() => expect(hub.client.get(RoleBinding, ROLE)).rejects.toSatisfy(isNotFound));
    await eventually(async () => {
      for (const key of [PROFILE, "team-b/cluster1"])
        expect((await hub.client.get(ClusterProfile, key)).status?.accessProviders ?? []).toEqual([]);
    });
    const account = `${agentNamespace}/cluster-access`;
    await eventually(() => expect(spoke.client.get(ServiceAccount, account)).rejects.toSatisfy(isNotFound));
    await eventually(
      () => expect(client.list(ConfigMap, { namespace: "default" })).rejects.toSatisfy(isUnauthorized),
      FORGETTING_MS,
    );
  }, 60_000);
}
