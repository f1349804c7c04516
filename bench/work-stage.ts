/** What `npm run bench:work` measures on: hubs, spokes, agents in processes of their own, and somebody who watches. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CertificateSigningRequest, KeyUsage, Signer } from "#api/certificates";
import { ManagedCluster, managedClusterCrd } from "#api/cluster";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import { ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { appliedManifestWorkCrd, ManifestWork, manifestWorkCrd, WorkCondition } from "#api/work";
import {
  type Client,
  connectionOf,
  createCache,
  createClient,
  isAlreadyExists,
  type Kubeconfig,
  kubeconfigFor,
  kubeconfigText,
  loadKubeconfig,
} from "#kube";
import { findCondition } from "#lib/conditions";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import { stranger } from "../test/interop/strangers.ts";
import { startControlPlane } from "../test/kube/control-plane.ts";
import { eventually } from "../test/support/eventually.ts";
import { installDefinitions } from "../test/support/prepared.ts";
import { ended, firstLine, PROFILED, pidsOf } from "./processes.ts";

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const MAIN = path("../dist/cli/main.js");
/** Whom agents are on every server, so that audit logs tell them from everybody else. */
const AGENT = "bench-work-agent";

export interface Server {
  readonly name: string;
  readonly url: string;
  readonly authority: string;
  readonly client: Client;
  readonly auditLog: string;
}

export interface Servers {
  readonly all: readonly Server[];
  readonly pids: readonly number[];
  close(): Promise<void>;
}

/** Embedded clusters in one process. */
export async function embedded(names: readonly string[], firstPort: number): Promise<Servers> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-bench-work-"));
  const flags = ["--data-dir", dir, "--durability", "os", "--no-node", "--port", String(firstPort)];
  const args = [...PROFILED, MAIN, "apiserver", "--clusters", names.join(","), ...flags];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await firstLine(child);
  const all = await Promise.all(
    names.map(async (name) => {
      const connection = await connectionOf(await loadKubeconfig({ path: join(dir, `${name}.kubeconfig`) }));
      const client = createClient({ connection });
      const { server: url, ca: authority = "" } = connection;
      return { name, url, authority, client, auditLog: join(dir, "data", name, "audit.log") };
    }),
  );
  return {
    all,
    pids: pidsOf(child),
    async close() {
      for (const { client } of all) client.close();
      await ended(child);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** etcd, kube-apiserver and kube-controller-manager: a hub and its spoke in one. */
export async function real(): Promise<Servers> {
  const server = await startControlPlane("bench-work", { audit: true });
  return { all: [server], pids: server.pids, close: () => server.close() };
}

/** Kinds, and a place for each cluster. */
export async function prepareHub({ client }: Server, clusters: readonly string[]): Promise<void> {
  await installDefinitions(client, [manifestWorkCrd, managedClusterCrd]);
  await letIn(client);
  await inTurns(clusters, async (name) => {
    await client.create(Namespace, { metadata: { name } }).catch(unlessThere);
    await client.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: true } });
  });
}

export async function prepareSpoke({ client }: Server, namespace: string): Promise<void> {
  await installDefinitions(client, [appliedManifestWorkCrd]);
  await letIn(client);
  await client.create(Namespace, { metadata: { name: namespace } }).catch(unlessThere);
}

async function letIn(client: Client): Promise<void> {
  await client
    .create(ClusterRoleBinding, {
      metadata: { name: AGENT },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: AGENT }],
    })
    .catch(unlessThere);
}

/** An identity of its own for an agent, as agents have them: by certificate. */
async function identityOn({ name, url, authority, client }: Server): Promise<Kubeconfig> {
  const { privateKey: key } = generateKeyPair();
  const request = createCertificateRequest({ subject: { commonName: AGENT }, key });
  const asked = await client.create(CertificateSigningRequest, {
    metadata: { generateName: `${AGENT}-` },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: Signer.kubeApiserverClient,
      usages: [KeyUsage.digitalSignature, KeyUsage.keyEncipherment, KeyUsage.clientAuth],
    },
  });
  const approved = { type: "Approved", status: "True", reason: "Bench", message: "for a benchmark" };
  await client.patch(
    CertificateSigningRequest,
    asked.metadata.name,
    { status: { conditions: [approved] } },
    { subresource: "approval" },
  );
  const cert = await eventually(async () => {
    const { status } = await client.get(CertificateSigningRequest, asked.metadata.name);
    if (!status?.certificate) throw new Error("no certificate yet");
    return Buffer.from(status.certificate, "base64").toString("utf8");
  });
  return kubeconfigFor({ name, server: url, ca: authority, cert, key });
}

/** How the agent of one cluster reaches its hub and its spoke. */
export interface Way {
  readonly clusterName: string;
  /** Kubeconfig files. */
  readonly hub: string;
  readonly spoke: string;
}

export async function wayOf(clusterName: string, hub: Server, spoke: Server, dir: string): Promise<Way> {
  const own = join(dir, clusterName);
  await mkdir(own);
  const way = { clusterName, hub: join(own, "hub"), spoke: join(own, "spoke") };
  await writeFile(way.hub, kubeconfigText(await identityOn(hub)), { mode: 0o600 });
  await writeFile(way.spoke, kubeconfigText(await identityOn(spoke)), { mode: 0o600 });
  return way;
}

export type Who = "ours" | "stock";

export interface Program {
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

export interface AgentOptions {
  readonly dir: string;
  /** Lets the stock agent ask as often as it likes, where it only makes ready what is measured later. */
  readonly unlimited?: boolean;
}

/** One agent in one process, as each of the two comes. */
export function startAgent(who: Who, way: Way, options: AgentOptions): Program {
  const { dir } = options;
  const log = openSync(join(dir, `${way.clusterName}.log`), "a");
  const child = who === "ours" ? ourAgent(way, log) : stockAgent(way, log, options);
  return { pids: pidsOf(child), stop: () => ended(child) };
}

function ourAgent({ clusterName, hub, spoke }: Way, log: number): ChildProcess {
  const args = ["--hub-kubeconfig", hub, "--spoke-kubeconfig", spoke, "--cluster-name", clusterName];
  const words = [...PROFILED, MAIN, "agent", "work", ...args, "--agent-id", clusterName];
  return spawn(process.execPath, words, { stdio: ["ignore", log, log] });
}

/** The stock agent takes no port of the system's choice: 0 ends it. Below those that the system gives to connections. */
let stockPort = 28_000;

function stockAgent(way: Way, log: number, { dir, unlimited }: AgentOptions): ChildProcess {
  const { clusterName, hub, spoke } = way;
  const rates = ["--kube-api-qps", "--hub-kube-api-qps", "--kube-api-burst", "--hub-kube-api-burst"];
  const words = [
    "agent",
    `--spoke-cluster-name=${clusterName}`,
    `--agent-id=${clusterName}`,
    `--hub-kubeconfig=${hub}`,
    `--workload-source-config=${hub}`,
    `--kubeconfig=${spoke}`,
    "--namespace=open-cluster-management-agent",
    "--disable-leader-election",
    `--listen=127.0.0.1:${stockPort++}`,
    ...(unlimited ? rates.map((rate) => `${rate}=10000`) : []),
  ];
  return spawn(stranger("ocm-work"), words, {
    stdio: ["ignore", log, log],
    env: { PATH: process.env.PATH, HOME: dir },
  });
}

export interface Host extends Program {
  add(way: Way): void;
}

/** One process for the agents of many clusters. */
export async function startHost(): Promise<Host> {
  const child = spawn(process.execPath, [...PROFILED, path("./work-agents.mjs")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await firstLine(child);
  return {
    pids: pidsOf(child),
    add: (way) => void child.stdin?.write(`${JSON.stringify(way)}\n`),
    stop: () => ended(child),
  };
}

/** Three manifests, which need nobody but the API server. */
export function workOf(clusterName: string, name: string, namespace: string, value = "first") {
  const metadata = (what: string) => ({ name: `${name}-${what}`, namespace });
  const manifests: DynamicObject[] = [
    { apiVersion: "v1", kind: "ConfigMap", metadata: metadata("settings"), data: { value, text: "x".repeat(200) } },
    { apiVersion: "v1", kind: "Secret", metadata: metadata("secret"), data: { key: "c2VjcmV0" } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata("account") },
  ];
  return { metadata: { name, namespace: clusterName }, spec: { workload: { manifests } } };
}

/** Whether the hub has heard that this state of the work is applied, and that all of it is there. */
export function toldOf({ metadata, status }: ManifestWork): { readonly applied: boolean; readonly available: boolean } {
  const isTold = (type: string) => {
    const condition = findCondition(status?.conditions, type);
    return condition?.status === "True" && condition.observedGeneration === metadata.generation;
  };
  const applied = isTold(WorkCondition.Applied);
  return { applied, available: applied && isTold(WorkCondition.Available) };
}

/** Somebody who watches one hub and one spoke, and writes down when things were first seen. */
export class Observer {
  readonly #stopping = new AbortController();
  readonly #seen = new Map<string, number>();

  static async open(hub: Server, spoke: Server, clusterName: string, namespace: string): Promise<Observer> {
    const observer = new Observer();
    const see = (what: string) => {
      if (!observer.#seen.has(what)) observer.#seen.set(what, performance.now());
    };
    const named = ({ kind, metadata }: KubeObject) => see(`${kind} ${metadata.name}`);
    await Promise.all([
      observer.#follow(hub, ManifestWork, clusterName, (work) => {
        const { applied, available } = toldOf(work);
        const { name, generation } = work.metadata;
        if (applied) see(`applied ${name} ${generation}`);
        if (available) see(`available ${name} ${generation}`);
      }),
      observer.#follow(spoke, ConfigMap, namespace, ({ metadata, data }) =>
        see(`ConfigMap ${metadata.name} ${data?.value}`),
      ),
      observer.#follow(spoke, Secret, namespace, named),
      observer.#follow(spoke, ServiceAccount, namespace, named),
    ]);
    return observer;
  }

  async #follow<T extends KubeObject>({ client }: Server, kind: Kind<T>, namespace: string, see: (object: T) => void) {
    const cache = createCache({ client, kind, scope: { namespace } });
    cache.onChange((_, object) => object && see({ ...object, kind: kind.kind }));
    cache.start(this.#stopping.signal);
    await cache.whenSynced();
  }

  /** When it was first seen; undefined for what was not. */
  at(what: string): number | undefined {
    return this.#seen.get(what);
  }

  close(): void {
    this.#stopping.abort();
  }
}

interface Heard {
  readonly auditID: string;
  readonly verb: string;
  readonly stage: string;
  readonly user?: { readonly username?: string };
}

/** What agents ask of servers from now on. */
export class Listener {
  readonly #logs: { readonly file: string; at: number; rest: string }[];
  readonly #ids = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** When the last of it was heard; of the log, which is a moment behind. */
  last = performance.now();

  constructor(servers: readonly Server[]) {
    this.#logs = servers.map(({ auditLog: file }) => ({ file, at: sizeOf(file), rest: "" }));
  }

  get total(): number {
    return this.#ids.size;
  }

  get writes(): number {
    return this.#of((verb) => !READS.has(verb));
  }

  /** `3 get, 2 watch` */
  get text(): string {
    const parts = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([verb, count]) => `${count} ${verb}`);
    return parts.join(", ") || "none";
  }

  #of(isMeant: (verb: string) => boolean): number {
    return [...this.#counts].reduce((sum, [verb, count]) => (isMeant(verb) ? sum + count : sum), 0);
  }

  look(): void {
    for (const log of this.#logs) {
      const size = sizeOf(log.file);
      if (size < log.at) log.at = 0; // a new file has taken its place
      const lines = (log.rest + textBetween(log.file, log.at, size)).split("\n");
      log.at = size;
      log.rest = lines.pop() ?? ""; // the last line may be half written
      for (const line of lines) this.#hear(line);
    }
  }

  #hear(line: string): void {
    if (!line.includes(AGENT)) return;
    const { auditID, verb, user } = JSON.parse(line) as Heard;
    if (user?.username !== AGENT || this.#ids.has(auditID)) return;
    this.#ids.add(auditID);
    this.#counts.set(verb, (this.#counts.get(verb) ?? 0) + 1);
    this.last = performance.now();
  }
}

const READS: ReadonlySet<string> = new Set(["get", "list", "watch"]);

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}

function textBetween(file: string, from: number, to: number): string {
  if (to <= from) return "";
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(to - from);
    return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, bytes.length, from));
  } finally {
    closeSync(descriptor);
  }
}

/** Does something for each, several at a time. */
export async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<unknown>, atOnce = 16): Promise<void> {
  const left = [...items];
  const one = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function unlessThere(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
  return undefined;
}
