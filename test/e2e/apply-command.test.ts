/** `capstan apply` as people and scripts run it: files, standard output, talk, exit codes. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { writeKubeconfig, yamlText } from "#kube";
import { configMap, deployment, namespace, secret } from "../suites/apply/objects.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "dist/cli/main.js");
let folder: string;
let server: TestServer;
let kubeconfig: string;

beforeAll(async () => {
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
  server = await startEmbedded("apply-command");
  folder = await mkdtemp(join(tmpdir(), "capstan-apply-"));
  kubeconfig = join(folder, "kubeconfig");
  await writeKubeconfig(kubeconfig, server.kubeconfig);
}, 120_000);

afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true, force: true });
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function start(args: readonly string[], input = ""): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [main, "apply", ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", KUBECONFIG: kubeconfig },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin?.end(input);
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.on("data", (chunk) => {
      said[stream] += chunk;
    });
  }
  return { child, ended: new Promise((resolve) => child.once("close", (code) => resolve({ code, ...said }))) };
}

const run = (args: readonly string[], input?: string): Promise<Ended> => start(args, input).ended;

let count = 0;

/** A folder with these objects, a file for each, in a namespace of their own. */
async function manifests(...objects: readonly object[]): Promise<string> {
  const path = join(folder, `m-${++count}`);
  await mkdir(path);
  for (const [index, object] of objects.entries()) await writeFile(join(path, `${index}.yaml`), yamlText(object));
  return path;
}

describe("capstan apply", { timeout: 120_000 }, () => {
  it("plans, applies, and has nothing to do the second time", async () => {
    const path = await manifests(namespace("one"), configMap("one", "a"), secret("one", "s", { password: "hunter2" }));
    const planned = await run(["-f", path, "--plan"]);
    expect(planned).toMatchObject({ code: 0, stderr: "Plan: 3 to create. Nothing was changed.\n" });
    expect(planned.stdout).toMatch(/^ACTION\s+KIND\s+NAME\s+MESSAGE\ncreate\s+Namespace\s+one\n/);
    expect(await run(["-f", path])).toMatchObject({ code: 0, stderr: "3 created.\n" });
    expect(await run(["-f", path])).toMatchObject({ code: 0, stderr: "3 unchanged.\n" });
  });

  it("gives data on standard output and nothing else, without what is secret", async () => {
    const path = await manifests(namespace("two"), secret("two", "s", { password: "hunter2" }));
    await run(["-f", path]);
    const changed = await manifests(secret("two", "s", { password: "hunter3" }));
    const { stdout, stderr } = await run(["-f", changed, "--plan", "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      plan: true,
      complete: true,
      summary: { updated: 1 },
      objects: [
        {
          apiVersion: "v1",
          kind: "Secret",
          namespace: "two",
          name: "s",
          action: "updated",
          changes: [{ path: ".data.password", before: "*** (before)", after: "*** (after)" }],
          source: `${changed}/0.yaml, document 1, line 1`,
        },
      ],
    });
    for (const word of ["hunter2", "hunter3", "aHVudGVy"]) expect(stdout + stderr).not.toContain(word);
  });

  it("reads standard input, and puts what names no namespace where it is told", async () => {
    await run(["-f", await manifests(namespace("three"))]);
    const bare = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } };
    const { code, stdout } = await run(["-f", "-", "-n", "three", "-o", "yaml"], JSON.stringify(bare));
    expect(code).toBe(0);
    expect(stdout).toContain("namespace: three");
  });

  it("removes what has left a set, tells what it would, and not too much at once", async () => {
    const objects = ["a", "b", "c"].map((name) => configMap("four", name));
    const set = ["--set", "default/four", "--prune"];
    await run(["-f", await manifests(namespace("four"), ...objects), ...set]);
    const one = await manifests(namespace("four"), ...objects.slice(0, 1));
    const held = await run(["-f", one, ...set, "--max-removals", "1"]);
    expect(held.code).toBe(1);
    expect(held.stderr).toMatch(
      /capstan: ConfigMap four\/b was held back: 2 of 4 objects .*; --max-removals allows more/,
    );
    const planned = await run(["-f", one, ...set, "--plan"]);
    expect(planned.stdout).toMatch(/remove\s+ConfigMap\s+four\/b\s+it has left the set\nremove\s+ConfigMap\s+four\/c/);
    expect(await run(["-f", one, ...set])).toMatchObject({ code: 0, stderr: "2 unchanged, 2 pruned.\n" });
    const { items } = await server.client.list(ConfigMap, { namespace: "four" });
    expect(items.map(({ metadata }) => metadata.name)).not.toContain("b");
  });

  it("names who claims which field, and takes it over when told", async () => {
    const path = await manifests(namespace("five"), configMap("five", "a", { k: "ours" }));
    await run(["-f", path]);
    await server.client.patch(ConfigMap, "five/a", { data: { k: "theirs" } }, { fieldManager: "human" });
    const refused = await run(["-f", path]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      "capstan: ConfigMap five/a was refused: human claims .data.k; --force-conflicts takes these fields over",
    );
    expect((await run(["-f", path, "--force-conflicts"])).code).toBe(0);
  });

  it("waits with --wait until things work, and ends with 3 when they do not in time", async () => {
    const path = await manifests(namespace("six"), deployment("six", "web"));
    const { code, stderr } = await run(["-f", path, "--wait", "--timeout", "1s"]);
    expect(code).toBe(3);
    expect(stderr).toMatch(/capstan: Deployment six\/web does not work yet: 0 of 2 replicas are available\n$/);
    const ready = await manifests(configMap("six", "a"));
    expect((await run(["-f", ready, "--wait"])).code).toBe(0);
  });

  it("goes on where it was killed", async () => {
    const objects = Array.from({ length: 400 }, (_, i) => configMap("seven", `c-${i}`));
    const path = await manifests({ apiVersion: "v1", kind: "List", items: [namespace("seven"), ...objects] });
    const set = ["--set", "default/seven", "--prune"];
    const { child, ended } = start(["-f", path, ...set]);
    const there = async () => (await server.client.list(ConfigMap, { namespace: "seven" })).items.length;
    await eventually(async () => expect(await there()).toBeGreaterThan(20));
    child.kill("SIGKILL");
    expect((await ended).code).toBeNull();
    const fewer = { apiVersion: "v1", kind: "List", items: [namespace("seven"), ...objects.slice(200)] };
    const again = await run(["-f", await manifests(fewer), ...set, "--max-removals", "all"]);
    expect(again.code).toBe(0);
    const names = (await server.client.list(ConfigMap, { namespace: "seven" })).items.map(
      ({ metadata }) => metadata.name,
    );
    expect(names.filter((name) => name.startsWith("c-")).sort()).toEqual(
      objects
        .slice(200)
        .map(({ metadata }) => metadata.name)
        .sort(),
    );
    expect((await run(["-f", await manifests(fewer), ...set])).stderr).toBe("201 unchanged.\n");
  });

  it("applies nothing of manifests that are broken, and names file, document and line", async () => {
    const path = await manifests(namespace("eight"));
    await writeFile(join(path, "x.yaml"), "a: 1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n");
    const { code, stderr, stdout } = await run(["-f", path]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`${path}/x.yaml, document 1, line 1: it has no kind`);
    expect(stderr).toContain(`${path}/x.yaml, document 2, line 5: `);
    expect(stderr).toContain("nothing was applied");
    const { stderr: later } = await run(["-f", await manifests(configMap("eight", "a"))]);
    expect(later).toContain("ConfigMap eight/a waits: its namespace does not exist");
  });

  it.each([
    [[], "required option '-f, --filename <path>' not specified"],
    [["-f", "x", "--prune"], "--prune needs --set <name>"],
    [["-f", "x", "-o", "wide"], "Allowed choices are table, json, yaml"],
    [["-f", "x", "--max-removals", "many"], "It must be a number, a share like 20%, or all"],
  ])("%j is wrong usage: %s", async (args, words) => {
    const { code, stderr } = await run(args);
    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });

  it.each([
    [["-f", "/nonexistent.yaml"], "/nonexistent.yaml: there is no such file"],
    [["-f", "https://example.com/x.yaml"], "URLs are not read"],
    [["-f", join(root, "package.json")], "it has no kind"],
  ])("%j fails in one line: %s", async (args, words) => {
    const { code, stderr } = await run(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^capstan: .*; nothing was applied\n$/);
    expect(stderr).toContain(words);
  });
});
