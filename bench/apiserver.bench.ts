/**
 * The embedded API server side by side with kube-apiserver and etcd: the same load, from the same process, in the
 * same run. Prints a table; `docs/benchmarks.md` keeps the last one that was published.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { it } from "vitest";
import { ConfigMap } from "#api/core";
import { connectionOf, createClient, type Kubeconfig, loadKubeconfig } from "#kube";
import { startControlPlane } from "../test/kube/control-plane.ts";

const main = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const loader = fileURLToPath(new URL("./load.mjs", import.meta.url));

const OBJECTS = 5_000;
const SIZE = 1_024;
const IN_FLIGHT = 32;
const SECONDS = 8;
const WATCHERS = 100;
const WATCHED_EVENTS = 2_000;

/** How many clusters, and with which flags. */
const EMPTY: [number, string[]][] = [
  [1, []],
  [100, []],
  [1000, []],
  [1, ["--shared-port"]],
  [1000, ["--shared-port"]],
];

interface Subject {
  readonly name: string;
  readonly kubeconfig: Kubeconfig;
  readonly readyMs: number;
  memoryMb(): number;
  close(): Promise<void>;
}

interface Result {
  readonly rate: number;
  readonly failed: number;
  readonly codes?: Record<string, number>;
  readonly clientCpu?: number;
}

const SUBJECTS: Record<string, () => Promise<Subject>> = {
  "embedded, os": () => startEmbedded("os"),
  "kube + etcd, no fsync": () => startReal("kube", { fsync: false }),
  "embedded, sync": () => startEmbedded("sync"),
  "kube + etcd, fsync": () => startReal("kube-sync", { fsync: true }),
};

it(
  "measures",
  async () => {
    const columns: Record<string, Record<string, string>> = {};
    for (const [name, start] of Object.entries(SUBJECTS)) {
      const subject = await start();
      try {
        columns[name] = await measure(subject);
      } finally {
        await subject.close();
      }
    }
    const rows = Object.keys(Object.values(columns)[0] ?? {});
    const names = Object.keys(columns);
    console.log(`\n| | ${names.join(" | ")} |\n|---|${names.map(() => "---:|").join("")}`);
    for (const row of rows) console.log(`| ${row} | ${names.map((name) => columns[name]?.[row] ?? "").join(" | ")} |`);
    console.log("\n| embedded clusters | started in | RSS | per further cluster |\n|---|---:|---:|---:|");
    let before = { clusters: 0, mb: 0, ms: 0 };
    for (const [clusters, flags] of EMPTY) {
      const { ms, mb } = await emptyClusters(clusters, flags);
      const more = clusters - before.clusters;
      const each =
        more <= 0 ? "" : `${((ms - before.ms) / more).toFixed(1)} ms, ${((mb - before.mb) / more).toFixed(2)} MB`;
      console.log(
        `| ${[clusters, ...flags].join(" ")} | ${(ms / 1000).toFixed(2)} s | ${mb.toFixed(0)} MB | ${each} |`,
      );
      before = { clusters, mb, ms };
    }
  },
  30 * 60_000,
);

async function measure(subject: Subject): Promise<Record<string, string>> {
  const out: Record<string, string> = { "ready after start": `${(subject.readyMs / 1000).toFixed(2)} s` };
  const run = async (row: string, operation: string, more: Record<string, unknown> = {}) => {
    const result = await load(subject.kubeconfig, { operation, ...more });
    out[row] =
      `${Math.round(result.rate)}/s${result.failed > 0 ? ` (${result.failed} failed ${JSON.stringify(result.codes ?? {})})` : ""}`;
    console.log(
      `${subject.name}: ${row}: ${out[row]} (client ${Math.round((result.clientCpu ?? 0) * 100)} % of a core)`,
    );
  };
  await run("create", "create", { seconds: 60 });
  await run("get", "get");
  await run("merge patch", "patch");
  await run("server-side apply", "apply");
  await run(`list of ${OBJECTS}`, "list", { inflight: 4 });
  await run("page of 500", "page", { inflight: 8 });
  const client = createClient({ connection: await connectionOf(subject.kubeconfig) });
  const { metadata } = await client.list(ConfigMap, { namespace: "default", limit: 1 });
  client.close();
  await run(`events to ${WATCHERS} watchers`, "watch", {
    watchers: WATCHERS,
    events: WATCHED_EVENTS,
    since: metadata.resourceVersion,
  });
  out["RSS after this"] = `${subject.memoryMb().toFixed(0)} MB`;
  await run("delete", "delete", { seconds: 60 });
  return out;
}

async function load(kubeconfig: Kubeconfig, more: Record<string, unknown>): Promise<Result> {
  const { server, ca, cert, key } = await connectionOf(kubeconfig);
  const child = spawn(process.execPath, [loader], { stdio: ["pipe", "pipe", "inherit"] });
  const order = {
    server,
    ca,
    cert,
    key,
    inflight: IN_FLIGHT,
    seconds: SECONDS,
    count: OBJECTS,
    namespace: "default",
    size: SIZE,
    ...more,
  };
  child.stdin.write(`${JSON.stringify(order)}\n`);
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  return JSON.parse(text);
}

async function startEmbedded(durability: string): Promise<Subject> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-bench-"));
  const server = await serve(dir, ["bench"], durability);
  return {
    name: `embedded, ${durability}`,
    kubeconfig: await loadKubeconfig({ path: join(dir, "kubeconfig") }),
    readyMs: server.ms,
    memoryMb: () => residentMb(server.pid),
    async close() {
      await server.end();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function emptyClusters(count: number, flags: readonly string[]): Promise<{ ms: number; mb: number }> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-bench-"));
  const names = Array.from({ length: count }, (_, index) => `c${index}`);
  const server = await serve(dir, names, "sync", flags);
  const mb = residentMb(server.pid);
  await server.end();
  await rm(dir, { recursive: true, force: true });
  return { ms: server.ms, mb };
}

/** From the command to the first line that says it serves. Without nodes, as the real server has none. */
async function serve(
  dir: string,
  clusters: string[],
  durability: string,
  flags: readonly string[] = [],
): Promise<{ pid: number; ms: number; end(): Promise<void> }> {
  const started = performance.now();
  const args = [
    main,
    "apiserver",
    "--clusters",
    clusters.join(","),
    "--data-dir",
    dir,
    "--durability",
    durability,
    "--port",
    "20000",
    "--no-node",
    ...flags,
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`the API server ended with ${code}`)));
  });
  const ms = performance.now() - started;
  return {
    pid: child.pid ?? 0,
    ms,
    async end() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await gone;
    },
  };
}

async function startReal(name: string, { fsync }: { fsync: boolean }): Promise<Subject> {
  const started = performance.now();
  const server = await startControlPlane(name, { fsync });
  const readyMs = performance.now() - started;
  return {
    name: `kube + etcd, ${fsync ? "fsync" : "no fsync"}`,
    kubeconfig: server.kubeconfig,
    readyMs,
    memoryMb: () => server.pids.reduce((total, pid) => total + residentMb(pid), 0),
    close: () => server.close(),
  };
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}
