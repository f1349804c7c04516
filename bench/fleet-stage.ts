/** What `npm run bench:fleet` measures on: a hub, one that runs it, many agents in a few processes, and somebody who watches. */
import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { managedClusterAddOnCrd } from "#api/addon";
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterCondition, ClusterLabel, ManagedCluster, ManagedClusterSet } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Namespace } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import { manifestWorkCrd } from "#api/work";
import { Bootstrap } from "#features/registration/hub";
import {
  type Client,
  connectionOf,
  createCache,
  createClient,
  type Kubeconfig,
  kubeconfigText,
  loadKubeconfig,
} from "#kube";
import { isTrue } from "#lib/conditions";
import { startStockHub } from "../test/interop/stock-ocm.ts";
import { startControlPlane } from "../test/kube/control-plane.ts";
import { eventually } from "../test/support/eventually.ts";
import { bootstrapKubeconfig, installDefinitions, prepareHub } from "../test/support/prepared.ts";
import { ended, firstLine, PROFILED, pidsOf } from "./processes.ts";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const MAIN = path("../dist/cli/main.js");
const FIRST_PORT = 28_500;

/** An API server for a hub. */
export interface Server {
  readonly kubeconfig: Kubeconfig;
  readonly authority: string;
  readonly client: Client;
  readonly pids: readonly number[];
  close(): Promise<void>;
}

/** One process, as `capstan apiserver` runs. */
export async function embeddedServer(): Promise<Server> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-bench-hub-"));
  const flags = ["--data-dir", dir, "--durability", "os", "--no-node", "--port", String(FIRST_PORT)];
  const child = spawn(process.execPath, [...PROFILED, MAIN, "apiserver", "--clusters", "hub", ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await firstLine(child);
  const kubeconfig = await loadKubeconfig({ path: join(dir, "hub.kubeconfig") });
  const connection = await connectionOf(kubeconfig);
  const client = createClient({ connection });
  return {
    kubeconfig,
    authority: connection.ca ?? "",
    client,
    pids: pidsOf(child),
    async close() {
      client.close();
      await ended(child);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** etcd, kube-apiserver and kube-controller-manager. */
export function realServer(): Promise<Server> {
  return startControlPlane("bench");
}

export type Who = "ours" | "stock";

export interface Program {
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** Runs the hub's controllers in a process of their own; ends when they work. */
export async function startHub(who: Who, server: Server, dir: string): Promise<Program> {
  const gates = "--feature-gates=ClusterProfile=true,ManagedClusterAutoApproval=true";
  const program =
    who === "stock"
      ? await stockHub(server, dir, [gates, `--auto-approved-csr-users=${Bootstrap.user}`])
      : await ourHub(server, dir, [gates, `--cluster-auto-approval-users=${Bootstrap.user}`]);
  await eventually(() => server.client.get(ManagedClusterSet, "global"), 120_000);
  return program;
}

async function stockHub({ kubeconfig }: Server, dir: string, flags: readonly string[]): Promise<Program> {
  const { pid, stop } = await startStockHub({ hub: kubeconfig, dir, flags });
  return { pids: [pid], stop };
}

/** Upstream's webhooks are a program of their own, which does not run here; so ours do not either. */
async function ourHub({ kubeconfig }: Server, dir: string, flags: readonly string[]): Promise<Program> {
  const file = join(dir, "our-hub.kubeconfig");
  await writeFile(file, kubeconfigText(kubeconfig), { mode: 0o600 });
  const log = openSync(join(dir, "our-hub.log"), "a");
  const child = spawn(process.execPath, [...PROFILED, MAIN, "hub", "--kubeconfig", file, "--no-webhooks", ...flags], {
    stdio: ["ignore", log, log],
  });
  return { pids: pidsOf(child), stop: () => ended(child) };
}

/** Kinds and rights, and a namespace to which all clusters are bound. */
export async function prepareFleet({ client }: Server): Promise<void> {
  await prepareHub(client);
  await installDefinitions(client, [manifestWorkCrd, managedClusterAddOnCrd]);
}

export interface Agents {
  /** Lets a cluster join. */
  start(name: string): void;
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** Processes that clusters are spread over. */
export async function startAgents(server: Server, dir: string, processes: number): Promise<Agents> {
  const file = join(dir, "bootstrap.kubeconfig");
  const bootstrap = await bootstrapKubeconfig(server.client, server.authority);
  await writeFile(file, kubeconfigText(bootstrap), { mode: 0o600 });
  const children = await Promise.all(
    Array.from({ length: processes }, async () => {
      const args = [...PROFILED, path("./fleet-agents.mjs"), "--bootstrap", file];
      // What they keep goes with the folder, even if they are cut off.
      const env = { ...process.env, TMPDIR: dir };
      const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"], env });
      await firstLine(child);
      return child;
    }),
  );
  let turn = 0;
  return {
    pids: children.flatMap(pidsOf),
    start: (name) => children[turn++ % processes]?.stdin?.write(`${name}\n`),
    async stop() {
      await Promise.all(children.map(ended));
    },
  };
}

/** What somebody who beats for many clusters tells. */
export interface Beating {
  /** When all clusters were made, and when all were available; in seconds. */
  readonly joined?: { readonly made: number; readonly all: number };
  /** Of ten seconds: beats that came through, milliseconds that they took, and how many did not. */
  readonly beats?: number;
  readonly mean?: number;
  readonly longest?: number;
  readonly late?: number;
}

/** Clusters that are only there, and beat: all by one process. */
export async function startBeating(
  server: Server,
  dir: string,
  clusters: number,
): Promise<{ next(): Promise<Beating>; stop(): Promise<void> }> {
  const file = join(dir, "beating.kubeconfig");
  await writeFile(file, kubeconfigText(server.kubeconfig), { mode: 0o600 });
  const args = [path("./fleet-leases.mjs"), "--kubeconfig", file, "--clusters", String(clusters)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  return {
    /** What is told next from now on. */
    next: () =>
      new Promise((resolve, reject) => {
        lines.once("line", (line) => resolve(JSON.parse(line)));
        lines.once("close", () => reject(new Error("whoever beats for the clusters has ended")));
      }),
    stop: () => ended(child),
  };
}

/** How many clusters a hub has given up. */
export async function unknownOn({ client }: Server): Promise<number> {
  const { items } = await client.list(ManagedCluster);
  const available = ({ status }: ManagedCluster) => isTrue(status?.conditions, ClusterCondition.Available);
  return items.filter((cluster) => !available(cluster)).length;
}

/** Somebody who watches the hub and writes down when things happened. */
export class Observer {
  /** By cluster, when its request was first seen, and when it was first seen to be available. */
  readonly asked = new Map<string, number>();
  readonly available = new Map<string, number>();
  beats = 0;
  readonly #stopping = new AbortController();
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(server: Server): Promise<Observer> {
    const observer = new Observer(createClient({ connection: await connectionOf(server.kubeconfig) }));
    await Promise.all([
      observer.#follow(CertificateSigningRequest, {}, ({ metadata }) => {
        const name = metadata.labels?.[ClusterLabel.name];
        if (name !== undefined && !observer.asked.has(name)) observer.asked.set(name, performance.now());
      }),
      observer.#follow(ManagedCluster, {}, ({ metadata, status }) => {
        if (!isTrue(status?.conditions, ClusterCondition.Available)) return;
        if (!observer.available.has(metadata.name)) observer.available.set(metadata.name, performance.now());
      }),
      observer.#follow(Lease, { fieldSelector: "metadata.name=managed-cluster-lease" }, () => {
        observer.beats++;
      }),
    ]);
    return observer;
  }

  async #follow<T extends KubeObject>(kind: Kind<T>, scope: { fieldSelector?: string }, see: (object: T) => void) {
    const cache = createCache({ client: this.#client, kind, scope });
    cache.onChange((_, object) => object && see(object));
    cache.start(this.#stopping.signal);
    await cache.whenSynced();
  }

  /** Every write moves the version of a server on by one. */
  async writes(): Promise<number> {
    const { metadata } = await this.#client.list(Namespace, { limit: 1 });
    return Number(metadata.resourceVersion);
  }

  close(): void {
    this.#stopping.abort();
    this.#client.close();
  }
}
