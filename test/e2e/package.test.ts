/**
 * Capstan as somebody else has it: the packed package in an empty project, and the guide to writing a controller
 * followed to the letter. Nothing is fetched: what the package depends on is linked from here.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { TokenRequest } from "#api/authentication";
import { ConfigMap, Secret, ServiceAccount } from "#api/core";
import { ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { apiVersionOf } from "#api/meta";
import { ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { ownProvider, tokenAccessProvider, writeProviderFile } from "#features/inventory";
import { isNotFound, writeKubeconfig } from "#kube";
import { eventually } from "../support/eventually.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const guide = join(root, "docs/guides/write-a-controller.md");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

const SHARED = "example.com/shared";

let project: string;
let installed: string;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
  project = await mkdtemp(join(tmpdir(), "capstan-package-"));
  installed = join(project, "node_modules/capstan");
  await install();
  for (const [name, code] of await programsOf(guide)) await writeFile(join(project, name), code);
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
}, 120_000);

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  if (project) await rm(project, { recursive: true, force: true });
});

async function install(): Promise<void> {
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", project], { cwd: root });
  const [packed = ""] = (await readdir(project)).filter((file) => file.endsWith(".tgz"));
  await run("tar", ["xzf", packed], { cwd: project });
  await mkdir(dirname(installed), { recursive: true });
  await rename(join(project, "package"), installed);
  for (const name of [...Object.keys(manifest.dependencies), "typescript", "@types/node"]) {
    const target = join(project, "node_modules", name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(root, "node_modules", name), target);
  }
}

/** The files that a guide tells its reader to write. */
async function programsOf(file: string): Promise<[name: string, code: string][]> {
  const blocks = (await readFile(file, "utf8")).matchAll(/^`([\w.-]+\.ts)`:\n\n```ts\n([\s\S]*?)^```$/gm);
  return [...blocks].map(([, name = "", code = ""]) => [name, code]);
}

async function tsc(...args: string[]): Promise<string> {
  const compiler = join(root, "node_modules/typescript", manifestOf("typescript").bin.tsc);
  return run(process.execPath, [compiler, ...args], { cwd: project }).then(
    () => "",
    ({ stdout, stderr }) => stdout + stderr,
  );
}

function manifestOf(name: string): { bin: { tsc: string } } {
  return JSON.parse(readFileSync(join(root, "node_modules", name, "package.json"), "utf8"));
}

describe("the package", () => {
  it("holds programs and their types, and nothing that only we need", async () => {
    const files = await readdir(installed, { recursive: true });
    expect(
      files.filter((file) => /\.test\.|(^|\/)(testing|test|src|tools|bench)(\/|$)|\.built-from|\.tgz$/.test(file)),
    ).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "NOTICE", "README.md", "dist/cli/main.js"]));
  });

  it("has a program and its types behind everything that it exports", async () => {
    const groups = await readdir(join(installed, "dist/api"));
    const exported: { types: string; default: string }[] = Object.values(manifest.exports).filter(isWay);
    const paths = exported
      .flatMap((way) => [way.types, way.default])
      .flatMap((path) => (path.includes("*") ? groups.map((group) => path.replace("*", group)) : [path]));
    expect(paths.length).toBeGreaterThan(2 * groups.length);
    expect(paths.filter((path) => !existsSync(join(installed, path)))).toEqual([]);
  });

  it("names no file that it does not hold, whichever conditions somebody's tools know", () => {
    const conditions = Object.values<object>(manifest.imports).flatMap((way) => Object.keys(way));
    expect(new Set(conditions)).toEqual(new Set(["@capstan/source", "default"]));
  });
});

function isWay(value: unknown): value is { types: string; default: string } {
  return typeof value === "object";
}

describe("the guide to writing a controller", () => {
  it("takes fewer than fifty lines", async () => {
    const programs = (await programsOf(guide)).filter(([name]) => !name.endsWith(".test.ts"));
    const lines = programs.flatMap(([, code]) => code.split("\n")).filter((line) => line.trim() !== "");
    expect(programs.map(([name]) => name)).toEqual(["shared-config.ts", "main.ts"]);
    expect(lines.length).toBeLessThan(50);
  });

  describe("followed to the letter", () => {
    const servers = new Map<string, TestServer>();
    const server = (name: string): TestServer => {
      const found = servers.get(name);
      if (!found) throw new Error(`${name} did not start`);
      return found;
    };

    beforeAll(async () => {
      for (const name of ["hub", "east", "west"]) {
        servers.set(name, await startEmbedded(name));
        await writeKubeconfig(join(project, `${name}.kubeconfig`), server(name).kubeconfig);
      }
      // What a compiler of today suggests to new projects, and our declarations are not spared.
      expect(await tsc("--init", "--strict", "--target", "es2023", "--module", "nodenext", "--types", "node")).toBe("");
      expect(await tsc("--skipLibCheck", "false")).toBe("");
    }, 60_000);

    afterAll(async () => {
      await Promise.all([...servers.values()].map((each) => each.close()));
    });

    it("gives a test that passes", async () => {
      const env = { ...process.env, DIR: project };
      const { stdout } = await run(process.execPath, ["--test", "shared-config.test.js"], { cwd: project, env });
      expect(stdout).toMatch(/^# pass 1$/m);
    });

    it("gives a program that does what it should on clusters of the inventory, and ends with 0 on Ctrl-C", async () => {
      const [hub, east, west] = [server("hub"), server("east"), server("west")];
      const metadata = { name: "greeting", namespace: "default", labels: { [SHARED]: "true" } };
      const copyOn = (spoke: TestServer) => spoke.client.get(ConfigMap, "default/greeting");
      await hub.client.create(CustomResourceDefinition, clusterProfileCrd);
      await hub.client.create(ConfigMap, { metadata, data: { text: "ahoy" } });
      await addProfile(hub, east);

      const program = start(["main.js"], {
        KUBECONFIG: join(project, "hub.kubeconfig"),
        PROVIDER_FILE: await providerFile(),
      });
      await eventually(async () => expect((await copyOn(east)).data).toEqual({ text: "ahoy" }));

      await addProfile(hub, west);
      await eventually(async () => expect((await copyOn(west)).data).toEqual({ text: "ahoy" }));

      await hub.client.patch(ConfigMap, "default/greeting", { data: { text: "aye" } });
      for (const spoke of [east, west]) {
        await eventually(async () => expect((await copyOn(spoke)).data).toEqual({ text: "aye" }));
      }

      await west.client.delete(ConfigMap, "default/greeting");
      await east.client.patch(ConfigMap, "default/greeting", { data: { text: "mine", more: "too" } });
      for (const spoke of [east, west]) {
        await eventually(async () => expect((await copyOn(spoke)).data).toEqual({ text: "aye" }));
      }

      await hub.client.patch(ConfigMap, "default/greeting", { metadata: { labels: { [SHARED]: null } } });
      for (const spoke of [east, west]) {
        await eventually(() => expect(copyOn(spoke)).rejects.toSatisfy(isNotFound));
      }

      program.child.kill("SIGINT");
      expect(await program.ended).toEqual({ code: 0, signal: null, stderr: expect.not.stringMatching(/error/i) });
    }, 60_000);
  });
});

function start(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, args, {
    cwd: project,
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent", ...env },
    stdio: ["ignore", "inherit", "pipe"],
  });
  children.add(child);
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<object>((resolve) =>
    child.once("close", (code, signal) => {
      children.delete(child);
      resolve({ code, signal, stderr });
    }),
  );
  return { child, ended };
}

/** Credentials come from the packed plugin, as they do for every other consumer. */
async function providerFile(): Promise<string> {
  const path = join(project, "providers.json");
  const capstan = [process.execPath, join(installed, "dist/cli/main.js")] as const;
  const kubeconfig = join(project, "hub.kubeconfig");
  await writeProviderFile(path, [ownProvider({ plugin: "token-secretreader", capstan, kubeconfig })]);
  return path;
}

async function addProfile(hub: TestServer, spoke: TestServer): Promise<void> {
  const { name, url: server, authority } = spoke;
  const account = { metadata: { name: "consumer", namespace: "default" } };
  await spoke.client.create(ServiceAccount, account);
  await spoke.client.create(ClusterRoleBinding, {
    metadata: { name: "consumer" },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", ...account.metadata }],
  });
  const order = { apiVersion: apiVersionOf(TokenRequest), kind: TokenRequest.kind, metadata: {}, spec: {} };
  const { status } = await spoke.client.createSub<TokenRequest, ServiceAccount>(
    ServiceAccount,
    "default/consumer",
    "token",
    order,
  );
  const secret = { metadata: { name, namespace: "default" }, stringData: { token: tokenIn(status) } };
  await hub.client.create(Secret, secret);
  const profile = { metadata: { name, namespace: "default" }, spec: { clusterManager: { name: "test" } } };
  await eventually(() => hub.client.create(ClusterProfile, profile));
  const place = { secretNamespace: "default", secretName: name, key: "token" };
  const accessProviders = [tokenAccessProvider({ server, authority, ...place })];
  await hub.client.patch(ClusterProfile, `default/${name}`, { status: { accessProviders } }, { subresource: "status" });
}

function tokenIn(status: TokenRequest["status"]): string {
  if (!status?.token) throw new Error("the spoke gave no token");
  return status.token;
}
