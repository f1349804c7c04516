/** Upstream's registration and work programs as processes: what runs on a hub, and what runs on a spoke. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { type Kubeconfig, kubeconfigText } from "#kube";
import { createCertificateAuthority } from "#lib/pki";
import { eventually } from "../support/eventually.ts";
import { servingPair } from "../support/serving-pair.ts";
import { turnAtFixedPorts } from "./fixed-ports.ts";
import { stranger } from "./strangers.ts";

export const stockRegistration = stranger("ocm-registration");
export const stockWork = stranger("ocm-work");

export interface StockProgram {
  readonly pid: number;
  /** Why it is no longer there, or undefined while it runs. */
  ended(): string | undefined;
  stop(): Promise<void>;
}

/** The controllers of upstream's hub. */
export async function startStockHub(options: {
  readonly hub: Kubeconfig;
  /** Where its files and its log go. */
  readonly dir: string;
  readonly flags?: readonly string[];
}): Promise<StockProgram> {
  const { hub, dir, flags = [] } = options;
  const kubeconfig = await written(dir, "hub.kubeconfig", hub);
  const words = ["controller", "--kubeconfig", kubeconfig, "--namespace", "open-cluster-management-hub"];
  return started(stockRegistration, dir, "stock-hub", [...words, ...flags, ...(await standing())]);
}

/** What upstream's hub does with works. */
export async function startStockWorkManager(options: {
  readonly hub: Kubeconfig;
  readonly dir: string;
  readonly flags?: readonly string[];
}): Promise<StockProgram> {
  const { hub, dir, flags = [] } = options;
  const kubeconfig = await written(dir, "work-manager.kubeconfig", hub);
  const words = ["manager", "--kubeconfig", kubeconfig, "--namespace", "open-cluster-management-hub"];
  return started(stockWork, dir, "stock-work-manager", [...words, ...flags, ...(await standing())]);
}

export interface StockWebhook extends StockProgram {
  readonly url: string;
  /** PEM. */
  readonly authority: string;
}

/** What upstream's hub asks before a work is written. Of these there can be one at a time on a machine. */
export async function startStockWorkWebhook(options: {
  readonly hub: Kubeconfig;
  readonly dir: string;
}): Promise<StockWebhook> {
  const { hub, dir } = options;
  const certificates = join(dir, "work-webhook");
  const ca = createCertificateAuthority({ commonName: "work-webhook", now: new Date(), years: 1 });
  const pair = servingPair(ca);
  await mkdir(certificates, { recursive: true });
  await writeFile(join(certificates, "tls.crt"), pair.certificate);
  await writeFile(join(certificates, "tls.key"), pair.key, { mode: 0o600 });
  const port = await freePort();
  const kubeconfig = await written(dir, "work-webhook.kubeconfig", hub);
  const words = ["webhook-server", "--kubeconfig", kubeconfig, "--port", String(port), "--certdir", certificates];
  const leave = await turnAtFixedPorts();
  try {
    const program = await started(stockWork, dir, "stock-work-webhook", words);
    await eventually(() => answering(port));
    const stop = () => program.stop().finally(leave);
    return { ...program, stop, url: `https://127.0.0.1:${port}`, authority: ca.certificate };
  } catch (error) {
    await leave();
    throw error;
  }
}

export interface StockAgentOptions {
  readonly clusterName: string;
  readonly spoke: Kubeconfig;
  readonly bootstrap: Kubeconfig;
  /** Where others reach the spoke. */
  readonly url: string;
  readonly dir: string;
}

/** Upstream's agent. It keeps its identity in the same Secret as ours. */
export async function startStockAgent(options: StockAgentOptions): Promise<StockProgram> {
  const { clusterName, spoke, bootstrap, url, dir } = options;
  const identity = join(dir, `${clusterName}-identity`);
  await mkdir(identity, { recursive: true });
  return started(stockRegistration, dir, clusterName, [
    "agent",
    `--kubeconfig=${await written(dir, `${clusterName}.kubeconfig`, spoke)}`,
    `--bootstrap-kubeconfig=${await written(dir, `${clusterName}-bootstrap.kubeconfig`, bootstrap)}`,
    `--hub-kubeconfig-dir=${identity}`,
    `--spoke-cluster-name=${clusterName}`,
    `--spoke-external-server-urls=${url}`,
    "--namespace=open-cluster-management-agent",
    "--feature-gates=ClusterProperty=true",
    ...(await standing()),
  ]);
}

export interface StockWorkAgentOptions {
  readonly clusterName: string;
  readonly agentId: string;
  readonly spoke: Kubeconfig;
  /** The folder with the identity on the hub, as the Secret of a registration agent is mounted. */
  readonly identity: string;
  readonly dir: string;
}

/** Upstream's work agent. It looks at what it has placed every second, and not every ten. */
export async function startStockWorkAgent(options: StockWorkAgentOptions): Promise<StockProgram> {
  const { clusterName, agentId, spoke, identity, dir } = options;
  return started(stockWork, dir, `${clusterName}-work`, [
    "agent",
    `--kubeconfig=${await written(dir, `${clusterName}-work.kubeconfig`, spoke)}`,
    `--hub-kubeconfig-dir=${identity}`,
    `--workload-source-config=${join(identity, "kubeconfig")}`,
    `--spoke-cluster-name=${clusterName}`,
    `--agent-id=${agentId}`,
    "--namespace=open-cluster-management-agent",
    "--status-sync-interval=1s",
    ...(await standing()),
  ]);
}

async function written(dir: string, name: string, kubeconfig: Kubeconfig): Promise<string> {
  const file = join(dir, name);
  await writeFile(file, kubeconfigText(kubeconfig), { mode: 0o600 });
  return file;
}

/** What all of them are told but webhooks. They take no port of the system's choice: 0 ends them. */
async function standing(): Promise<string[]> {
  return ["--disable-leader-election", `--listen=127.0.0.1:${await freePort()}`];
}

async function started(program: string, dir: string, name: string, words: readonly string[]): Promise<StockProgram> {
  const file = join(dir, `${name}.log`);
  const log = openSync(file, "a");
  const child = spawn(program, words, {
    stdio: ["ignore", log, log],
    env: { PATH: process.env.PATH, HOME: dir },
  });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ended = () =>
    hasEnded(child) ? `upstream's ${name} has ended:\n${readFileSync(file, "utf8").slice(-2000)}` : undefined;
  await eventually(() => {
    if (ended() === undefined && readFileSync(file, "utf8") === "") throw new Error(`upstream's ${name} says nothing`);
  });
  const why = ended();
  if (why !== undefined) throw new Error(why);
  return {
    pid: child.pid ?? 0,
    ended,
    async stop() {
      child.kill("SIGTERM");
      const cut = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await gone;
      clearTimeout(cut);
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answering(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve();
    });
    socket.once("error", reject);
  });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
