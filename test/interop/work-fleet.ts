/**
 * One hub and two clusters, of which one has upstream's work agent and the other ours. Agents can be exchanged: they
 * have the identity of their cluster in common, as the registration agent of the cluster has stored it.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { managedClusterAddOnCrd } from "#api/addon";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import type { DynamicObject, Key, Kind, KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, type PolicyRule, RBAC_GROUP } from "#api/rbac";
import { AppliedManifestWork, appliedManifestWorkCrd, ManifestWork, manifestWorkCrd } from "#api/work";
import { accept, runRegistration, runWork, wayInFile } from "#app";
import { type Client, connectionOf, createClient, isNotFound, writeKubeconfig } from "#kube";
import { systemClock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { conditionOf, type Spec } from "../suites/work/stage.ts";
import { eventually } from "../support/eventually.ts";
import { bootstrapKubeconfig, installDefinitions, prepareHub, prepareSpoke } from "../support/prepared.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { startStockWorkAgent } from "./stock-ocm.ts";

const AGENT_NAMESPACE = "open-cluster-management-agent";
const HUB_SECRET = `${AGENT_NAMESPACE}/hub-kubeconfig-secret`;

export interface Running {
  stop(): Promise<void>;
}

export type Maker = "upstream's" | "our";

/** What runs on the hub beside its API server. */
export interface HubKind {
  start(): Promise<TestServer>;
  run(hub: TestServer, dir: string): Promise<readonly Running[]>;
}

export class WorkFleet {
  readonly hub: TestServer;
  readonly dir: string;
  readonly #programs: Running[] = [];
  readonly #clusters: FleetCluster[] = [];

  private constructor(hub: TestServer, dir: string) {
    this.hub = hub;
    this.dir = dir;
  }

  static async open(kind: HubKind, clusters: Readonly<Record<string, Maker>>): Promise<WorkFleet> {
    const dir = await mkdtemp(join(tmpdir(), "capstan-works-"));
    const fleet = new WorkFleet(await kind.start(), dir);
    await prepareHub(fleet.hub.client);
    await installDefinitions(fleet.hub.client, [manifestWorkCrd, managedClusterAddOnCrd]);
    await writeKubeconfig(fleet.file("hub.kubeconfig"), fleet.hub.kubeconfig);
    fleet.#programs.push(...(await kind.run(fleet.hub, dir)));
    for (const [name, maker] of Object.entries(clusters)) {
      const cluster = await FleetCluster.join(fleet, name);
      fleet.#clusters.push(cluster);
      await cluster.serveWith(maker);
    }
    return fleet;
  }

  async close(): Promise<void> {
    for (const cluster of this.#clusters) await cluster.close();
    for (const program of this.#programs.reverse()) await program.stop();
    await this.hub.close();
    await rm(this.dir, { recursive: true, force: true });
  }

  cluster(name: string): FleetCluster {
    const found = this.#clusters.find((each) => each.name === name);
    if (!found) throw new Error(`there is no cluster ${name}`);
    return found;
  }

  file(name: string): string {
    return join(this.dir, name);
  }
}

export class FleetCluster {
  readonly name: string;
  readonly spoke: TestServer;
  readonly #fleet: WorkFleet;
  readonly #registration: Running;
  #agent: Running | undefined;

  private constructor(fleet: WorkFleet, name: string, spoke: TestServer, registration: Running) {
    this.#fleet = fleet;
    this.name = name;
    this.spoke = spoke;
    this.#registration = registration;
  }

  /** A cluster that is joined and well, and has no work agent yet. */
  static async join(fleet: WorkFleet, name: string): Promise<FleetCluster> {
    const { client: hub, authority } = fleet.hub;
    const spoke = await startEmbedded(name, { nodes: { count: 1 } });
    await prepareSpoke(spoke.client, AGENT_NAMESPACE);
    await installDefinitions(spoke.client, [appliedManifestWorkCrd]);
    const stopping = new AbortController();
    const ended = runRegistration({
      clusterName: name,
      spoke: spoke.client,
      endpoints: [{ url: spoke.url, caBundle: Buffer.from(spoke.authority).toString("base64") }],
      bootstrap: await bootstrapKubeconfig(hub, authority),
      namespace: AGENT_NAMESPACE,
      clock: systemClock,
      log: silentLog,
      signal: stopping.signal,
    });
    const stop = () => {
      stopping.abort();
      return ended;
    };
    const cluster = new FleetCluster(fleet, name, spoke, { stop });
    await accept(hub, name, AbortSignal.timeout(100_000));
    await eventually(async () => {
      const { status } = await hub.get(ManagedCluster, name);
      expect(isTrue(status?.conditions, "ManagedClusterConditionAvailable")).toBe(true);
    });
    await cluster.#storeIdentity();
    return cluster;
  }

  async close(): Promise<void> {
    await this.#agent?.stop();
    await this.#registration.stop();
    await this.spoke.close();
  }

  get #identity(): string {
    return this.#fleet.file(`${this.name}-identity`);
  }

  /** As the Secret of the registration agent is mounted in the Pods of others. */
  async #storeIdentity(): Promise<void> {
    const { data = {} } = await this.spoke.client.get(Secret, HUB_SECRET);
    await mkdir(this.#identity, { recursive: true });
    for (const [key, value] of Object.entries(data)) {
      await writeFile(join(this.#identity, key), Buffer.from(value, "base64"), { mode: 0o600 });
    }
  }

  /** Whoever served the cluster before stops first. */
  async serveWith(maker: Maker): Promise<void> {
    await this.#agent?.stop();
    this.#agent = maker === "our" ? await this.#startOurs() : await this.#startTheirs();
  }

  async #agentId(): Promise<string> {
    const { data = {} } = await this.spoke.client.get(Secret, HUB_SECRET);
    return Buffer.from(data["agent-name"] ?? "", "base64").toString();
  }

  async #startTheirs(): Promise<Running> {
    const { name: clusterName, spoke } = this;
    const agentId = await this.#agentId();
    const { dir } = this.#fleet;
    return startStockWorkAgent({ clusterName, agentId, spoke: spoke.kubeconfig, identity: this.#identity, dir });
  }

  async #startOurs(): Promise<Running> {
    const stopping = new AbortController();
    const spoke = createClient({ connection: await connectionOf(this.spoke.kubeconfig) });
    const [clock, log] = [systemClock, silentLog];
    const ended = runWork({
      spoke,
      agentId: await this.#agentId(),
      hub: wayInFile(join(this.#identity, "kubeconfig"), { clock, log }),
      clock,
      log,
      signal: stopping.signal,
    });
    return {
      async stop() {
        stopping.abort();
        await ended;
        spoke.close();
      },
    };
  }

  get hub(): Client {
    return this.#fleet.hub.client;
  }

  /** A namespace on the spoke that nobody else uses. */
  async namespace(name: string): Promise<string> {
    await this.spoke.client.create(Namespace, { metadata: { name } });
    await eventually(() => this.spoke.client.get(ServiceAccount, `${name}/default`));
    return name;
  }

  async work(name: string, manifests: readonly DynamicObject[], spec: Spec = {}): Promise<string> {
    await this.hub.create(ManifestWork, {
      metadata: { name, namespace: this.name },
      spec: { workload: { manifests: [...manifests] }, ...spec },
    });
    return name;
  }

  read(name: string): Promise<ManifestWork> {
    return this.hub.get(ManifestWork, `${this.name}/${name}`);
  }

  edit(name: string, spec: unknown): Promise<ManifestWork> {
    return this.hub.patch(ManifestWork, `${this.name}/${name}`, { spec }, { type: "merge" });
  }

  /** Ends when its cluster has cleaned up. */
  async delete(name: string): Promise<void> {
    await this.hub.delete(ManifestWork, `${this.name}/${name}`);
    await this.untilGone(name);
  }

  async untilGone(name: string): Promise<void> {
    await eventually(() => expect(this.read(name)).rejects.toSatisfy(isNotFound));
  }

  /** The work, once the agent has said of its present state that it is so. */
  untilReported(name: string, expected: { applied: string; available?: string }): Promise<ManifestWork> {
    return eventually(async () => {
      const work = await this.read(name);
      const applied = conditionOf(work, "Applied");
      expect(applied?.observedGeneration).toBe(work.metadata.generation);
      expect(applied?.status, JSON.stringify(work.status?.resourceStatus?.manifests)).toBe(expected.applied);
      if (expected.available) expect(conditionOf(work, "Available")?.status).toBe(expected.available);
      return work;
    });
  }

  async record(name: string): Promise<AppliedManifestWork> {
    const { items } = await this.spoke.client.list(AppliedManifestWork);
    const found = items.find(({ spec }) => spec?.manifestWorkName === name);
    if (!found) throw new Error(`there is no AppliedManifestWork of ${name}`);
    return found;
  }

  async exists<T extends KubeObject>(kind: Kind<T>, key: Key<T>): Promise<boolean> {
    try {
      await this.spoke.client.get(kind, key);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async dataOf(key: string): Promise<Record<string, string> | undefined> {
    return (await this.spoke.client.get(ConfigMap, key)).data;
  }

  /** Rights on the spoke for a service account of this name in the namespace. */
  async account(namespace: string, name: string, rules: PolicyRule[]): Promise<void> {
    const { client } = this.spoke;
    await client.create(ServiceAccount, { metadata: { name, namespace } });
    const role = `${namespace}-${name}`;
    await client.create(ClusterRole, { metadata: { name: role }, rules });
    await client.create(ClusterRoleBinding, {
      metadata: { name: role },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    });
  }
}
