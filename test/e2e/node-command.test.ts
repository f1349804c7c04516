/** Nodes as a person runs them: the built command line, signals and exit codes. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Node, Pod, ServiceAccount } from "#api/core";
import { type Client, connectionOf, createClient, loadKubeconfig } from "#kube";
import { isTrue } from "#lib/conditions";
import { eventually } from "../support/eventually.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "dist/cli/main.js");
const running = new Set<ChildProcess>();
let dir: string;

beforeAll(async () => {
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
  dir = await mkdtemp(join(tmpdir(), "capstan-node-"));
}, 60_000);
afterAll(async () => {
  for (const child of running) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }
  await rm(dir, { recursive: true, force: true });
}, 120_000);

function start(...args: string[]): { child: ChildProcess; ended: Promise<{ code: number | null; stderr: string }> } {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", TMPDIR: dir },
    stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  let stderr = "";
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    child.once("close", (code) => {
      running.delete(child);
      resolve({ code, stderr });
    }),
  );
  return { child, ended };
}

/** Servers in a folder of their own, ready to work. */
async function servers(name: string, ...flags: string[]) {
  const folder = join(dir, name);
  const port = String(32_000 + Math.floor(Math.random() * 700));
  const server = start(
    "apiserver",
    "--clusters",
    name,
    "--data-dir",
    folder,
    "--port",
    port,
    "--durability",
    "os",
    ...flags,
  );
  const kubeconfig = join(folder, `${name}.kubeconfig`);
  await eventually(() => expect(existsSync(join(folder, "ready.json"))).toBe(true));
  const client = createClient({ connection: await connectionOf(await loadKubeconfig({ path: kubeconfig })) });
  return { ...server, client, kubeconfig };
}

/** Processes of this machine in whose command line the word occurs. */
async function processesWith(word: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return pids.filter((_, index) => lines[index]?.includes(word));
}

const readyNodes = async (client: Client) =>
  (await client.list(Node)).items
    .filter(({ status }) => isTrue(status?.conditions, "Ready"))
    .map(({ metadata }) => metadata.name)
    .sort();

describe("capstan apiserver", () => {
  it("gives every cluster as many nodes as it is told, and stops them with it", async () => {
    const { child, ended, client } = await servers("several", "--nodes", "2");
    expect(await readyNodes(client)).toEqual(["several-node", "several-node-2"]);
    client.close();
    child.kill("SIGINT");
    expect(await ended).toEqual({ code: 0, stderr: "" });
  });
});

describe("capstan node", () => {
  it("takes the Pods of a cluster that has no nodes, until Ctrl-C", async () => {
    const { child: server, ended: served, client, kubeconfig } = await servers("bare", "--no-node");
    expect(await readyNodes(client)).toEqual([]);
    await eventually(() => client.get(ServiceAccount, "default/default"));
    const containers = [{ name: "web", image: "nginx" }];
    await client.create(Pod, { metadata: { name: "web", namespace: "default" }, spec: { containers } });

    const { child, ended } = start("node", "--kubeconfig", kubeconfig, "--name", "mine", "--count", "2");
    await eventually(async () => {
      const { spec, status } = await client.get(Pod, "default/web");
      expect([isTrue(status?.conditions, "Ready"), spec.nodeName?.startsWith("mine")]).toEqual([true, true]);
    });
    expect(await readyNodes(client)).toEqual(["mine", "mine-2"]);
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    expect(code).toBe(0);
    expect(stderr).toMatch(/^mine, mine-2 ready on https:\S+; Ctrl-C stops\n$/);
    expect(await readyNodes(client)).toEqual(["mine", "mine-2"]);
    expect((await readdir(dir)).filter((name) => name.startsWith("capstan-node-"))).toEqual([]);
    client.close();
    server.kill("SIGINT");
    expect((await served).code).toBe(0);
  });

  it("runs Pods of its own image as processes, of which none is left when it is killed", async () => {
    const { child: server, ended: served, client, kubeconfig } = await servers("isolated", "--no-node");
    await eventually(() => client.get(ServiceAccount, "default/default"));
    const flags = ["--name", "mine", "--image", "capstan:mine", "--isolate"];
    const { child, ended } = start("node", "--kubeconfig", kubeconfig, ...flags);
    const containers = [{ name: "hub", image: "capstan:mine", args: ["hub", "--controllers=cluster-lease"] }];
    const draft = { metadata: { name: "hub", namespace: "default" }, spec: { containers } };
    const { metadata } = await client.create(Pod, draft);
    await eventually(async () => {
      const { status } = await client.get(Pod, "default/hub");
      expect(status?.containerStatuses?.[0]?.containerID).toMatch(/^capstan:/);
    });
    const pid = await eventually(async () => {
      const [found] = await processesWith(metadata.uid ?? "-");
      if (found === undefined) throw new Error("there is no process of the Pod");
      return found;
    });
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
    await ended;
    await eventually(async () => expect(await processesWith(metadata.uid ?? "-")).not.toContain(pid));
    client.close();
    server.kill("SIGINT");
    expect((await served).code).toBe(0);
  });

  it("ends at once although the server is gone", async () => {
    const { child: server, ended: served, client, kubeconfig } = await servers("lost", "--no-node");
    const { child, ended } = start("node", "--kubeconfig", kubeconfig, "--name", "mine");
    await eventually(async () => expect(await readyNodes(client)).toEqual(["mine"]));
    client.close();
    server.kill("SIGKILL");
    await served;
    child.kill("SIGINT");
    expect((await ended).code).toBe(0);
  });

  it.each<[args: string[], code: number, problem: string]>([
    [["node"], 2, "required option '--kubeconfig <file>' not specified"],
    [["node", "--kubeconfig", "/nonexistent/config"], 1, "/nonexistent/config"],
    [["node", "--kubeconfig", "x", "--name", "Not A Name"], 2, "lower-case letters"],
    [["node", "--kubeconfig", "x", "--count", "0"], 2, "at least 1"],
    [["node", "--kubeconfig", "x", "--image", "not an image"], 2, "reference of an image"],
  ])("%j ends with %d and says what is wrong", async (args, code, problem) => {
    const ended = await start(...args).ended;
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(problem);
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
  });
});
