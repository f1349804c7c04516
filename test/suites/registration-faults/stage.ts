/** A hub and a spoke with agents that a test can kill, cut off and start again; everything that is said is listened to. */
import { existsSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Secret } from "#api/core";
import type { Condition } from "#api/meta";
import { RBAC_GROUP, Role, RoleBinding } from "#api/rbac";
import { accept, runHub } from "#app";
import { type RegistrationAgentOptions, runRegistrationAgent } from "#features/registration/agent";
import {
  type Client,
  type ClientOptions,
  connectionOf,
  createClient,
  isNotFound,
  type Kubeconfig,
  kubeconfigText,
  parseKubeconfig,
} from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { parseCertificate, parseCertificateRequest } from "#lib/pki";
import { connectedCluster } from "#runtime";
import { Canary } from "../../support/canary.ts";
import { eventually } from "../../support/eventually.ts";
import { Life } from "../../support/mortal-client.ts";
import { bootstrapKubeconfig, prepareHub, prepareSpoke } from "../../support/prepared.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";

/** On a ManagedCluster: which test it belongs to, whatever it is called. */
const CASE = "agent.open-cluster-management.io/case";

export interface AgentOptions extends Partial<RegistrationAgentOptions> {
  readonly life?: Life;
  readonly clock?: Clock;
  /** How the hub is dialled. */
  readonly client?: Omit<ClientOptions, "connection">;
}

/** An agent of one case. */
export interface RunningAgent {
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export class FaultStage {
  readonly hub: TestServer;
  readonly spoke: TestServer;
  readonly canary = new Canary();
  readonly #agents = new Set<RunningAgent>();
  #hubLife = new Life();
  #stopHub = new AbortController();
  #hubEnded: Promise<void> = Promise.resolve();

  private constructor(hub: TestServer, spoke: TestServer) {
    this.hub = hub;
    this.spoke = spoke;
  }

  static async open(start: StartServer): Promise<FaultStage> {
    const [hub, spoke] = await Promise.all([start("hub"), start("spoke")]);
    await prepareHub(hub.client);
    await prepareSpoke(spoke.client, "open-cluster-management-agent");
    const stage = new FaultStage(hub, spoke);
    stage.startHub();
    return stage;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents].map((agent) => agent.stop()));
    await this.stopHub();
    await Promise.all([this.hub.close(), this.spoke.close()]);
  }

  /** Nothing that was made during the tests is to be found in what was written; and there was something to look at. */
  async expectSilence({ least = { heard: 101, secrets: 11 } } = {}): Promise<void> {
    for (const server of [this.hub, this.spoke]) {
      await this.canary.learnFrom(server.name, server.client);
      await this.canary.lookAt(server.name, server.client);
      if (existsSync(server.auditLog)) {
        this.canary.hear(`the audit log of ${server.name}`, readFileSync(server.auditLog, "utf8"));
      }
    }
    expect(this.canary.leaks()).toEqual([]);
    expect(this.canary.effort.heard).toBeGreaterThanOrEqual(least.heard);
    expect(this.canary.effort.secrets).toBeGreaterThanOrEqual(least.secrets);
  }

  startHub(life = new Life()): void {
    this.#hubLife = life;
    this.#stopHub = new AbortController();
    this.#hubEnded = runHub({
      client: life.lived(this.hub.client),
      clock: systemClock,
      log: this.canary.log("the hub"),
      signal: AbortSignal.any([this.#stopHub.signal, life.over]),
    });
  }

  async stopHub(): Promise<void> {
    this.#stopHub.abort();
    await this.#hubEnded.catch((error: unknown) => {
      if (!this.#hubLife.isOver) throw error;
    });
  }

  async bootstrap(): Promise<Kubeconfig> {
    const config = await bootstrapKubeconfig(this.hub.client, this.hub.authority);
    this.canary.learnKubeconfig("a bootstrap kubeconfig", kubeconfigText(config));
    return config;
  }

  namespaceOf(id: string): string {
    return `agent-${id}`;
  }

  /** An agent of its own for every case, on the one spoke; its cluster has no name unless the case gives it one. */
  async start(id: string, options: AgentOptions = {}): Promise<RunningAgent> {
    const { life = new Life(), clock = systemClock, client: dialling = {}, ...wishes } = options;
    const stopping = new AbortController();
    const log = this.canary.log(`the agent of ${id}`);
    const lived = (client: Client) => connectedCluster({ name: "hub", client: life.lived(client), clock, log });
    const spoke = connectedCluster({ name: "spoke", client: life.lived(this.spoke.client), clock, log });
    const ended = runRegistrationAgent({
      spoke,
      namespace: this.namespaceOf(id),
      clusterAnnotations: { [CASE]: id },
      bootstrapKubeconfig: wishes.bootstrapKubeconfig ?? kubeconfigText(await this.bootstrap()),
      async connectHub(text) {
        const connection = await connectionOf(parseKubeconfig(text, "the hub kubeconfig"));
        return lived(createClient({ connection, ...dialling }));
      },
      claims: { claims: false, properties: false },
      clock,
      log,
      signal: AbortSignal.any([stopping.signal, life.over]),
      ...wishes,
    });
    const agent = {
      ended,
      stop: async () => {
        stopping.abort();
        this.#agents.delete(agent);
        await ended;
      },
    };
    this.#agents.add(agent);
    return agent;
  }

  /** What the Secret of an agent holds under a key. */
  async stored(id: string, key: string): Promise<string> {
    const secret = await this.spoke.client
      .get(Secret, `${this.namespaceOf(id)}/hub-kubeconfig-secret`)
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    return Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");
  }

  async cluster(name: string): Promise<ManagedCluster> {
    return this.hub.client.get(ManagedCluster, name);
  }

  async condition(name: string, type: string): Promise<Condition | undefined> {
    return findCondition((await this.cluster(name)).status?.conditions, type);
  }

  async requests(name: string): Promise<CertificateSigningRequest[]> {
    const labelSelector = `open-cluster-management.io/cluster-name=${name}`;
    return (await this.hub.client.list(CertificateSigningRequest, { labelSelector })).items;
  }

  async beat(name: string): Promise<string | undefined> {
    return (await this.hub.client.get(Lease, `${name}/managed-cluster-lease`)).spec?.renewTime;
  }

  /** Waits for a beat that is not the last one that was. */
  async untilNextBeat(name: string): Promise<void> {
    const last = await this.beat(name);
    await eventually(async () => expect(await this.beat(name)).not.toBe(last));
  }

  /** Lets the cluster in as a person would, until it has joined. */
  admit(name: string, hub: Client = this.hub.client): Promise<void> {
    return accept(hub, name, AbortSignal.timeout(100_000));
  }

  /** The same for the cluster of a case, whatever it turns out to be called. */
  async admitCase(id: string): Promise<void> {
    const cluster = await eventually(async () => {
      const { items } = await this.hub.client.list(ManagedCluster);
      const [own] = items.filter(({ metadata }) => metadata.annotations?.[CASE] === id);
      expect(own).toBeDefined();
      return own;
    });
    await this.admit(cluster?.metadata.name ?? "");
  }

  /** Joined, available and beating. */
  async untilWorking(name: string): Promise<void> {
    await eventually(async () => {
      for (const type of ["ManagedClusterJoined", "ManagedClusterConditionAvailable"]) {
        expect((await this.condition(name, type))?.status, type).toBe("True");
      }
      expect(await this.beat(name)).toBeDefined();
    });
  }

  /** What must be so however often anybody died: one ManagedCluster, one identity, joined. */
  async expectOne(id: string): Promise<void> {
    const name = await this.stored(id, "cluster-name");
    const { items } = await this.hub.client.list(ManagedCluster);
    const own = items.filter(({ metadata }) => metadata.annotations?.[CASE] === id);
    expect(own.map(({ metadata }) => metadata.name)).toEqual([name]);
    const user = `system:open-cluster-management:${name}:${await this.stored(id, "agent-name")}`;
    const asked = (await this.requests(name)).map(
      ({ spec }) => parseCertificateRequest(Buffer.from(spec.request, "base64").toString()).subject.commonName,
    );
    expect([...new Set(asked)]).toEqual([user]);
    expect(parseCertificate(await this.stored(id, "tls.crt")).subject.commonName).toBe(user);
    await this.untilWorking(name);
  }

  /** Lets agents read what the hub says of its authority, as `init` does. */
  async openAuthority(): Promise<void> {
    const metadata = { name: "hub-authority", namespace: "kube-public" };
    const rule = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["kube-root-ca.crt"], verbs: ["get"] };
    await this.hub.client.create(Role, { metadata, rules: [rule] });
    await this.hub.client.create(RoleBinding, {
      metadata,
      roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: metadata.name },
      subjects: [{ kind: "Group", apiGroup: RBAC_GROUP, name: "system:open-cluster-management:managed-clusters" }],
    });
    await eventually(() => this.hub.client.get(ConfigMap, "kube-public/kube-root-ca.crt"));
  }
}
