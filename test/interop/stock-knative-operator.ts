/** Upstream's Knative operator as a process, as its own manifests would start it. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigMap, Namespace } from "#api/core";
import { type Client, isAlreadyExists } from "#kube";
import { eventually } from "../support/eventually.ts";
import { turnAtFixedPorts } from "./fixed-ports.ts";
import { stranger } from "./strangers.ts";

export const stockOperator = stranger("knative-operator");

export interface StockOptions {
  /** The file that leads to the hub. */
  readonly kubeconfig: string;
  readonly providerFile?: string;
  /** Where the releases lie. */
  readonly releases: string;
  /** Where its log goes. */
  readonly dir: string;
}

export interface StockOperator {
  readonly pid: number;
  stop(): Promise<void>;
}

const NAMESPACE = "knative-operator";
const CONFIGS = { CONFIG_LOGGING_NAME: "config-logging", CONFIG_OBSERVABILITY_NAME: "config-observability" };
/** It listens there on all addresses, and cannot be told otherwise: one at a time. */
const PROBES = "http://127.0.0.1:8080/readiness";

/** What it reads at its start. */
export async function prepareForStock(hub: Client): Promise<void> {
  await hub.create(Namespace, { metadata: { name: NAMESPACE } }).catch(unlessThere);
  for (const name of Object.values(CONFIGS)) {
    await hub.create(ConfigMap, { metadata: { name, namespace: NAMESPACE }, data: {} }).catch(unlessThere);
  }
}

/** Ends when it says that it is ready. */
export async function startStock({ kubeconfig, providerFile, releases, dir }: StockOptions): Promise<StockOperator> {
  const leave = await turnAtFixedPorts();
  const file = join(dir, "knative-operator.log");
  const log = openSync(file, "a");
  const flags = providerFile === undefined ? [] : [`-clusterprofile-provider-file=${providerFile}`];
  const child = spawn(stockOperator, [`-kubeconfig=${kubeconfig}`, "-disable-ha", ...flags], {
    stdio: ["ignore", log, log],
    env: {
      PATH: process.env.PATH,
      HOME: dir,
      ...CONFIGS,
      KO_DATA_PATH: releases,
      SYSTEM_NAMESPACE: NAMESPACE,
      POD_NAME: "operator",
      METRICS_DOMAIN: "knative.dev/operator",
      KUBERNETES_MIN_VERSION: "",
      PROFILING_PORT: "0",
    },
  });
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await eventually(async () => {
    if (hasEnded(child)) return;
    if (!(await fetch(PROBES)).ok) throw new Error("it is not ready");
  });
  if (hasEnded(child)) {
    await leave();
    throw new Error(`upstream's operator has ended:\n${readFileSync(file, "utf8").slice(-2000)}`);
  }
  return {
    pid: child.pid ?? 0,
    async stop() {
      child.kill("SIGTERM");
      const cut = setTimeout(() => child.kill("SIGKILL"), 5_000);
      await gone;
      clearTimeout(cut);
      await leave();
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function unlessThere(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
  return undefined;
}
