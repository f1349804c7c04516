/** Upstream's registration programs as processes: what runs on a hub, and what runs on a spoke. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { type Kubeconfig, kubeconfigText } from "#kube";
import { eventually } from "../support/eventually.ts";
import { stranger } from "./strangers.ts";

export const stockRegistration = stranger("ocm-registration");

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
  return started(dir, "stock-hub", [...words, ...flags]);
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
  return started(dir, clusterName, [
    "agent",
    `--kubeconfig=${await written(dir, `${clusterName}.kubeconfig`, spoke)}`,
    `--bootstrap-kubeconfig=${await written(dir, `${clusterName}-bootstrap.kubeconfig`, bootstrap)}`,
    `--hub-kubeconfig-dir=${identity}`,
    `--spoke-cluster-name=${clusterName}`,
    `--spoke-external-server-urls=${url}`,
    "--namespace=open-cluster-management-agent",
    "--feature-gates=ClusterProperty=true",
  ]);
}

async function written(dir: string, name: string, kubeconfig: Kubeconfig): Promise<string> {
  const file = join(dir, name);
  await writeFile(file, kubeconfigText(kubeconfig), { mode: 0o600 });
  return file;
}

async function started(dir: string, name: string, words: readonly string[]): Promise<StockProgram> {
  const file = join(dir, `${name}.log`);
  const log = openSync(file, "a");
  const flags = ["--disable-leader-election", `--listen=127.0.0.1:${await freePort()}`];
  const child = spawn(stockRegistration, [...words, ...flags], {
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

/** It takes no port of the system's choice: 0 ends it. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
