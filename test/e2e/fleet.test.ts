/** The fleet as a person runs it: the built command line, signals, files and exit codes. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { ClusterProfile } from "#api/inventory";
import { type Client, connectionOf, createClient, loadKubeconfig } from "#kube";
import { eventually } from "../support/eventually.ts";
import { portOf } from "../support/running-fleet.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "dist/cli/main.js");
const running = new Set<ChildProcess>();
const folders: string[] = [];

beforeAll(() => {
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
}, 60_000);

afterEach(async () => {
  for (const child of running) await killed(child, "SIGKILL");
});

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "capstan-fleet-"));
  folders.push(path);
  return path;
}

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function start(args: string[], env: Record<string, string> = {}): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let [stdout, stderr] = ["", ""];
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Ended>((resolve) =>
    child.once("close", (code) => {
      running.delete(child);
      resolve({ code, stdout, stderr });
    }),
  );
  return { child, ended };
}

const run = (args: string[], env?: Record<string, string>): Promise<Ended> => start(args, env).ended;

async function killed(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
}

async function up(dir: string, ...more: string[]): Promise<{ child: ChildProcess; ended: Promise<Ended> }> {
  const fleet = start(["up", "--dir", dir, ...portOf(dir), ...more]);
  const early = fleet.ended.then(({ code, stderr }) => {
    throw new Error(`up ended with ${code}: ${stderr}`);
  });
  early.catch(() => {});
  // A killed fleet leaves its ready.json behind until the next one starts: whose it is, the pid says.
  const ready = () => expect(readyOf(dir)?.programs[0]?.pid).toBe(fleet.child.pid);
  await Promise.race([eventually(ready, 60_000), early]);
  return fleet;
}

interface Ready {
  clusters: { name: string; url: string }[];
  programs: { pid: number }[];
}

function readyOf(dir: string): Ready | undefined {
  const file = join(dir, "ready.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

async function hubOf(dir: string): Promise<Client> {
  return createClient({
    connection: await connectionOf(await loadKubeconfig({ path: join(dir, "kubeconfig") }), "hub"),
  });
}

describe("capstan up", () => {
  it("makes a fleet that survives kill -9 with the same identities, and ends at SIGINT without a trace", async () => {
    const dir = await folder();
    const first = await up(dir);
    const bytes = () =>
      ["kubeconfig", "hub.kubeconfig", "cluster1.kubeconfig"].map((file) => readFileSync(join(dir, file), "utf8"));
    expect(statSync(join(dir, "kubeconfig")).mode & 0o777).toBe(0o600);
    const before = bytes();
    let hub = await hubOf(dir);
    const uids = async () => (await hub.list(ManagedCluster)).items.map(({ metadata }) => metadata.uid);
    const requests = async () => (await hub.list(CertificateSigningRequest)).items.map(({ metadata }) => metadata.name);
    const [uidsBefore, requestsBefore] = [await uids(), await requests()];
    expect(uidsBefore).toHaveLength(2);
    expect(
      (await hub.list(ClusterProfile, { namespace: "fleet-system" })).items.map(({ metadata }) => metadata.name),
    ).toEqual(["cluster1", "cluster2"]);
    hub.close();

    await killed(first.child, "SIGKILL");
    const second = await up(dir);
    hub = await hubOf(dir);
    expect(await uids()).toEqual(uidsBefore);
    expect(await requests()).toEqual(requestsBefore);
    expect(bytes()).toEqual(before);
    hub.close();

    second.child.kill("SIGINT");
    second.child.kill("SIGINT"); // npm passes on what the terminal has sent already
    const { code, stdout, stderr } = await second.ended;
    expect(code).toBe(0);
    expect(stdout).toContain("Three things to try");
    expect(stderr).not.toMatch(/warn/i);
    const left = readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((file) =>
      /lock|ready\.json|\.sock/.test(file),
    );
    expect(left).toEqual([]);
  });

  it("refuses a folder in which a fleet runs, naming pid and remedy, and down stops that fleet", async () => {
    const dir = await folder();
    const { child, ended } = await up(dir, "--spokes", "1");
    const second = await run(["up", "--dir", dir]);
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toContain(`pid ${child.pid}`);
    expect(second.stderr).toContain(`capstan down --dir ${dir}`);
    expect(second.stderr.trim().split("\n")).toHaveLength(1);
    expect((await run(["down", "--dir", dir])).code).toBe(0);
    expect((await ended).code).toBe(0);
    expect((await run(["down", "--dir", dir])).code, "nothing to stop is no error").toBe(0);
  });

  it("adds spokes to what there is, side by side with another fleet", async () => {
    const [one, other] = [await folder(), await folder()];
    const [, neighbour] = await Promise.all([up(one, "--spokes", "1"), up(other, "--spokes", "1")]);
    expect((await run(["down", "--dir", one])).code).toBe(0);
    await up(one, "--spokes", "2");
    const ports = [one, other].flatMap((dir) =>
      (JSON.parse(readFileSync(join(dir, "ready.json"), "utf8")) as { clusters: { url: string }[] }).clusters.map(
        ({ url }) => url,
      ),
    );
    expect(ports).toHaveLength(5);
    expect(new Set(ports).size).toBe(5);
    const listed = await run(["get", "clusters", "--dir", one, "-o", "json"]);
    expect(
      JSON.parse(listed.stdout).items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
    ).toEqual(["cluster1", "cluster2"]);
    expect((await run(["get", "clusters", "--dir", other])).stdout).toMatch(
      /^NAME\s+ACCEPTED\s+AVAILABLE\s+CLUSTERSET.*\ncluster1\s+true\s+True\s+default/,
    );
    await killed(neighbour.child, "SIGTERM");
  });

  it("detaches, and starts from nothing when asked to", async () => {
    const dir = await folder();
    const detached = await run(["up", "--dir", dir, ...portOf(dir), "--spokes", "1", "--detach"]);
    expect(detached.code).toBe(0);
    const hub = await hubOf(dir);
    const [before] = (await hub.list(ManagedCluster)).items;
    hub.close();
    const refused = await run(["up", "--dir", dir, "--fresh", "--detach"]);
    expect(refused.code, "a running fleet is not replaced").toBe(1);
    expect((await run(["down", "--dir", dir])).code).toBe(0);

    expect((await run(["up", "--dir", dir, ...portOf(dir), "--spokes", "1", "--fresh", "--detach"])).code).toBe(0);
    const fresh = await hubOf(dir);
    const [after] = (await fresh.list(ManagedCluster)).items;
    fresh.close();
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    expect((await run(["down", "--dir", dir, "--purge"])).code).toBe(0);
    expect(existsSync(dir)).toBe(false);
  });
});

describe("capstan apiserver", () => {
  it("adds and removes clusters, while it runs and while it does not", async () => {
    const dir = await folder();
    const names = () => (readyOf(dir)?.clusters ?? []).map(({ name }) => name);
    const servers = start(["apiserver", "--clusters", "a,b", "--data-dir", dir, ...portOf(dir)]);
    await eventually(() => expect(names()).toEqual(["a", "b"]));

    expect(await run(["apiserver", "add", "c", "--data-dir", dir])).toMatchObject({ code: 0 });
    expect(names()).toEqual(["a", "b", "c"]);
    const added = createClient({
      connection: await connectionOf(await loadKubeconfig({ path: join(dir, "c.kubeconfig") })),
    });
    expect(await added.raw("/readyz")).toBe("ok");
    added.close();
    expect(await run(["apiserver", "add", "c", "--data-dir", dir])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there is a cluster c"),
    });
    expect(await run(["apiserver", "remove", "b", "--data-dir", dir])).toMatchObject({ code: 0 });
    expect(names()).toEqual(["a", "c"]);
    expect(readdirSync(join(dir, "data")).sort()).toEqual(["a", "c"]);
    expect((await loadKubeconfig({ path: join(dir, "kubeconfig") })).contexts.map(({ name }) => name)).toEqual([
      "a",
      "c",
    ]);
    expect(await run(["apiserver", "remove", "nobody", "--data-dir", dir])).toMatchObject({ code: 1 });

    servers.child.kill("SIGTERM");
    expect((await servers.ended).code).toBe(0);
    expect(await run(["apiserver", "add", "d", "--data-dir", dir])).toMatchObject({ code: 0 });
    expect(await run(["apiserver", "remove", "a", "--data-dir", dir])).toMatchObject({ code: 0 });
    start(["apiserver", "--clusters", "c", "--data-dir", dir]);
    await eventually(() => expect(names()).toEqual(["c", "d"]));
  });
});

describe("mistakes", () => {
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close();
  });

  it.each([
    [["upp"], 2, /unknown command 'upp' \(did you mean up\?\); see --help/],
    [["up", "--spokes", "two"], 2, /--spokes/],
    [["up", "--sproke", "2"], 2, /unknown option '--sproke'/],
    [["get", "clusters", "-o", "xml"], 2, /table, tree, json, yaml/],
    [["apiserver", "--data-dir", "/tmp/x"], 2, /--clusters/],
    [["get", "clusters", "--kubeconfig", "/nonexistent/config"], 1, /\/nonexistent\/config/],
    [["get", "clusters"], 1, /--kubeconfig/],
    [["get", "clusters", "--dir", "/nonexistent/fleet"], 1, /no fleet in \/nonexistent\/fleet/],
  ])("%j ends with %i and says what is wrong", async (args, code, text) => {
    const ended = await run(args as string[]);
    expect(ended.stderr).toMatch(text as RegExp);
    expect(ended.code).toBe(code);
    expect(ended.stdout).toBe("");
    expect(ended.stderr.trim().split("\n"), "one line").toHaveLength(1);
  });

  it("of a folder that cannot be written: one line", async () => {
    const dir = await folder();
    writeFileSync(join(dir, "file"), "");
    const ended = await run(["up", "--dir", join(dir, "file", "fleet")]);
    expect(ended.code).toBe(1);
    expect(ended.stderr.trim().split("\n")).toEqual([
      expect.stringContaining(`cannot write to ${join(dir, "file", "fleet")}`),
    ]);
  });

  it("of --fresh on somebody else's folder: nothing is removed", async () => {
    const dir = await folder();
    writeFileSync(join(dir, "thesis.txt"), "years of work");
    const ended = await run(["up", "--dir", dir, "--fresh"]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain("not a fleet's folder");
    expect(readdirSync(dir)).toEqual(["thesis.txt"]);
  });

  it("of a kept port that somebody took: names the port and the program", async () => {
    const dir = await folder();
    await up(dir, "--spokes", "0");
    const [cluster] = readyOf(dir)?.clusters ?? [];
    expect((await run(["down", "--dir", dir])).code).toBe(0);
    const port = Number(new URL(cluster?.url ?? "").port);
    const server = createServer();
    servers.push(server);
    await eventually(
      () =>
        new Promise<void>((resolve, reject) => {
          server.once("error", reject);
          server.listen(port, "127.0.0.1", () => resolve());
        }),
    );
    const ended = await run(["up", "--dir", dir]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain(`port ${port}`);
    expect(ended.stderr).toContain(`pid ${process.pid}`);
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
  });
});
