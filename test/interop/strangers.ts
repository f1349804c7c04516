/** Where the programs of others lie that the tests here run, and what to do when they are not there. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { kubeconfigText } from "#kube";
import { startEmbedded, type TestServer } from "../support/servers.ts";

const folder = fileURLToPath(new URL("../../.kube/strangers", import.meta.url));
const required = process.env.CAPSTAN_REQUIRE?.split(",") ?? [];

export const upstream = fileURLToPath(new URL("../../../shared/upstream", import.meta.url));

export function stranger(name: string): string {
  return join(folder, name);
}

/** kubectl of the PATH. */
export function kubectl(): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((dir) => join(dir, "kubectl"))
    .find((path) => existsSync(path));
}

/** Why a test must be left out; throws instead where CAPSTAN_REQUIRE asks for what is missing. */
export function missingOf({ paths = [], shared = false }: { paths?: (string | undefined)[]; shared?: boolean }) {
  const missing = paths.some((path) => path === undefined || !existsSync(path))
    ? { need: "interop", why: "programs are missing; `npm run test:interop` builds those that can be built" }
    : shared && !existsSync(upstream)
      ? { need: "shared", why: `${upstream} is missing` }
      : undefined;
  if (missing && required.includes(missing.need)) throw new Error(missing.why);
  return missing?.why;
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Stage {
  readonly server: TestServer;
  /** Runs a program as somebody whose kubeconfig leads to the cluster, in a home of their own. */
  run(program: string, args: readonly string[]): Promise<Outcome>;
  /** The folder that `run` runs in. */
  readonly dir: string;
  close(): Promise<void>;
}

/** An embedded cluster with a node, and a folder to work in. */
export async function stage(name: string): Promise<Stage> {
  const server = await startEmbedded(name, { nodes: { count: 1 } });
  const dir = await mkdtemp(join(tmpdir(), `capstan-${name}-`));
  const kubeconfig = join(dir, "kubeconfig");
  await writeFile(kubeconfig, kubeconfigText(server.kubeconfig), { mode: 0o600 });
  const env = { PATH: process.env.PATH, HOME: dir, KUBECONFIG: kubeconfig };
  return {
    server,
    dir,
    run: (program, args) =>
      new Promise((resolve) => {
        execFile(program, args, { cwd: dir, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
        });
      }),
    async close() {
      await server.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
