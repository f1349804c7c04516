/** A hub that can be killed, a spoke, and stories: each has a cluster of its own, and an agent that is a process of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceAccount } from "#api/core";
import { ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { appliedManifestWorkCrd, manifestWorkCrd } from "#api/work";
import { kubeconfigFor, writeKubeconfig } from "#kube";
import { accountToken } from "../../support/account-token.ts";
import { build, type Running, start } from "../../support/command.ts";
import { Gate, type Judge, type Turns } from "../../support/gate.ts";
import type { RestorableServer } from "../../support/mortal-server.ts";
import { installDefinitions, prepareHub } from "../../support/prepared.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";

export interface FaultServers {
  startHub(): Promise<RestorableServer>;
  readonly startSpoke: StartServer;
}

export interface Way {
  readonly gate: Gate;
  readonly kubeconfig: string;
}

const AGENT = "robot";

export class WorkFaultStage {
  readonly hub: RestorableServer;
  readonly spoke: TestServer;
  readonly #dir: string;
  readonly #tokens: Readonly<Record<"hub" | "spoke", string>>;
  readonly #names = new Map<string, number>();

  private constructor(hub: RestorableServer, spoke: TestServer, dir: string, tokens: Record<"hub" | "spoke", string>) {
    this.hub = hub;
    this.spoke = spoke;
    this.#dir = dir;
    this.#tokens = tokens;
  }

  static async open({ startHub, startSpoke }: FaultServers): Promise<WorkFaultStage> {
    build();
    const [hub, spoke] = await Promise.all([startHub(), startSpoke("spoke")]);
    await prepareHub(hub.client);
    await installDefinitions(hub.client, [manifestWorkCrd]);
    await installDefinitions(spoke.client, [appliedManifestWorkCrd]);
    const dir = await mkdtemp(join(tmpdir(), "capstan-work-faults-"));
    return new WorkFaultStage(hub, spoke, dir, { hub: await tokenOn(hub), spoke: await tokenOn(spoke) });
  }

  /** A name for a cluster that no other has, not even that of a test that is tried again. */
  fresh(name: string): string {
    const times = (this.#names.get(name) ?? 0) + 1;
    this.#names.set(name, times);
    return times === 1 ? name : `${name}-${times}`;
  }

  async close(): Promise<void> {
    await Promise.all([this.hub.close(), this.spoke.close()]);
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** A way to a server for one program: its gate, and the kubeconfig that leads through it. */
  async way(id: string, where: "hub" | "spoke", judge: Judge, turns?: Turns): Promise<Way> {
    const gate = await Gate.before(this[where], judge, turns);
    const kubeconfig = join(this.#dir, `${id}-${where}.kubeconfig`);
    const { url: server, authority: ca } = gate;
    await writeKubeconfig(kubeconfig, kubeconfigFor({ name: where, server, ca, token: this.#tokens[where] }));
    return { gate, kubeconfig };
  }
}

/** All rights are enough: whether fewer are is the matter of other tests. */
async function tokenOn(server: TestServer): Promise<string> {
  const { client } = server;
  await client.create(ServiceAccount, { metadata: { name: AGENT, namespace: "default" } });
  await client.create(ClusterRoleBinding, {
    metadata: { name: AGENT },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: AGENT, namespace: "default" }],
  });
  return accountToken(server, `default/${AGENT}`);
}

/** A program that is started again whenever it was killed, as a kubelet does, until it is stopped. */
export class Restarted {
  readonly #words: readonly string[];
  #running: Running;
  #lives = 1;
  #isStopped = false;

  constructor(...words: string[]) {
    this.#words = words;
    this.#running = start(...words);
  }

  get lives(): number {
    return this.#lives;
  }

  /** What the last of them said. */
  said(): string {
    return this.#running.said();
  }

  /** Ends when it is over; the next one begins then, unless all is to stop. */
  async kill(): Promise<void> {
    const { child, ended } = this.#running;
    child.kill("SIGKILL");
    await ended;
    if (this.#isStopped) return;
    this.#lives++;
    this.#running = start(...this.#words);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const { child, ended } = this.#running;
    child.kill("SIGTERM");
    await ended;
  }
}
