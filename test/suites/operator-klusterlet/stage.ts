/** A spoke with its operator, which runs as its own service account and with no more than it has. */
import { expect } from "vitest";
import { Deployment } from "#api/apps";
import type { Container } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { Klusterlet, klusterletCrd, OPERATOR_NAMESPACE } from "#api/operator";
import { AppliedManifestWork } from "#api/work";
import { klusterletControllers, klusterletInstallation, managedClustersProvider } from "#features/operator/klusterlet";
import { type Client, connectionOf, createApplyEngine, createClient, isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { connectedCluster, createFleet, createManager, type ReconcileRecord, runTogether } from "#runtime";
import { accountToken } from "../../support/account-token.ts";
import { eventually } from "../../support/eventually.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";

export const IMAGE = "registry.example/capstan:1.2.3";
export const AGENTS = "open-cluster-management-agent";

/** How long a Klusterlet that goes waits for what does not. A real namespace takes its time. */
const REMOVAL_PATIENCE_MS = 30_000;

export class OperatorStage {
  readonly server: TestServer;
  /** Every look at a Klusterlet so far. */
  reconciles = 0;
  /** The last reconcile of each controller. */
  readonly last = new Map<string, ReconcileRecord>();
  readonly #stops: (() => Promise<unknown>)[] = [];

  private constructor(server: TestServer) {
    this.server = server;
  }

  /** With an operator and without Klusterlets. */
  static async start(start: StartServer, name: string, removalPatience = REMOVAL_PATIENCE_MS): Promise<OperatorStage> {
    const stage = new OperatorStage(await start(name, { nodes: { count: 1 } }));
    await stage.apply([klusterletCrd as unknown as DynamicObject, ...klusterletInstallation({ image: IMAGE })]);
    const client = await stage.as(`${OPERATOR_NAMESPACE}/klusterlet`);
    const cluster = connectedCluster({ name: "local", client, clock: systemClock, log: silentLog });
    const managed = createFleet({ provider: managedClustersProvider({ cluster }), clock: systemClock, log: silentLog });
    const controllers = klusterletControllers({
      cluster,
      managed,
      image: IMAGE,
      removalPatience,
      connect: (connection) => createClient({ connection }),
      clock: systemClock,
    });
    const observe = (record: ReconcileRecord) => {
      stage.last.set(record.controller, record);
      if (record.controller === "klusterlet") stage.reconciles++;
    };
    stage.run((signal) => {
      const manager = createManager({ controllers, fleet: managed, clock: systemClock, log: silentLog, observe });
      return runTogether(manager, managed, signal).finally(() => client.close());
    });
    return stage;
  }

  get client(): Client {
    return this.server.client;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
    await this.server.close();
  }

  /** Runs something until the end of the stage; the answer ends it before. */
  run(begin: (signal: AbortSignal) => Promise<void>): () => Promise<unknown> {
    const stopping = new AbortController();
    const ended = begin(stopping.signal);
    const stop = () => {
      stopping.abort();
      return ended;
    };
    this.#stops.push(stop);
    return stop;
  }

  async apply(objects: readonly DynamicObject[]): Promise<void> {
    const engine = createApplyEngine({ client: this.client, fieldManager: "administrator" });
    const report = await engine.apply({ wishes: objects.map((object) => ({ object })) }, { patience: 30_000 });
    expect(report.objects.filter(({ action }) => action === "refused" || action === "waiting")).toEqual([]);
  }

  /** The spoke as a service account sees it. */
  async as(account: string): Promise<Client> {
    const { cert: _, key: __, ...connection } = await connectionOf(this.server.kubeconfig);
    return createClient({ connection: { ...connection, token: await accountToken(this.server, account) } });
  }

  create(name: string, spec: Klusterlet["spec"] = {}, annotations: Record<string, string> = {}): Promise<Klusterlet> {
    return this.client.create(Klusterlet, { metadata: { name, annotations }, spec });
  }

  patch(name: string, spec: object): Promise<Klusterlet> {
    return this.client.patch(Klusterlet, name, { spec }, { type: "merge" });
  }

  /** Waits until a condition says so, about the spec as it is now. */
  until(name: string, type: string, condition: object): Promise<void> {
    return eventually(async () => {
      const { status, metadata } = await this.client.get(Klusterlet, name);
      expect(status?.observedGeneration).toBe(metadata.generation);
      expect(findCondition(status?.conditions, type)).toMatchObject(condition);
    });
  }

  async untilGone(name: string): Promise<void> {
    await eventually(() => isGone(this.client.get(Klusterlet, name)));
  }

  deployment(key: string): Promise<Deployment> {
    return this.client.get(Deployment, key);
  }

  async container(key: string): Promise<Container> {
    const [first] = (await this.deployment(key)).spec.template.spec.containers;
    if (!first) throw new Error(`Deployment ${key} has no container`);
    return first;
  }

  /** Waits until a Deployment is as the test says. */
  untilDeployed(key: string, look: (deployment: Deployment) => void): Promise<void> {
    return eventually(async () => look(await this.deployment(key)));
  }
}

export function isGone(look: Promise<unknown>): Promise<void> {
  return expect(look).rejects.toSatisfy(isNotFound);
}

export function argsOf({ spec }: Deployment): string[] {
  return spec.template.spec.containers[0]?.args ?? [];
}

/** What the work agent of a Klusterlet leaves where it does not dare to remove something. */
export async function holdRemoval(client: Client, { metadata }: Klusterlet, work: string): Promise<string> {
  const { metadata: made } = await client.create(AppliedManifestWork, {
    metadata: {
      name: `hash-${work}`,
      labels: { "work.capstan.dev/removal-held": "true" },
      annotations: { "work.capstan.dev/removal-held": "Nothing is removed, because the hub has lost its works" },
    },
    spec: { hubHash: "hash", agentID: metadata.uid ?? "", manifestWorkName: work },
  });
  return made.name;
}
