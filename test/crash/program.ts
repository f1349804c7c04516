/** The API server as a program of its own, which tests kill, starve and start again. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connectionOf, createClient, loadKubeconfig } from "#kube";

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** Away from the default, where a neighbour could take the port of a server that was just killed. */
const firstPort = String(20_000 + randomInt(1_200) * 10);

export interface Program {
  readonly child: ChildProcess;
  /** When it is over. */
  readonly gone: Promise<unknown>;
  readonly client: Client;
}

export interface ProgramOptions {
  /** Where it keeps its files. */
  readonly dir: string;
  /** What it is started by, which becomes the server itself: `unshare` and its arguments. */
  readonly through?: readonly string[];
  /** Where the kubeconfig is found, if not where the server writes it. */
  kubeconfigIn?(pid: number): string;
}

/** Ends when it serves. */
export async function startProgram({ dir, through = [], kubeconfigIn = () => dir }: ProgramOptions): Promise<Program> {
  const server = [process.execPath, main, "apiserver", "--clusters", "crash", "--data-dir", dir, "--port", firstPort];
  const [command = "", ...args] = [...through, ...server];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let told = "";
  child.stderr?.on("data", (chunk) => {
    told += chunk;
  });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  const serving = new Promise<void>((resolve) => child.stdout?.once("data", () => resolve()));
  const failed = gone.then(() => {
    throw new Error(`the server does not start: ${told}`);
  });
  await Promise.race([serving, failed]);
  const path = join(kubeconfigIn(child.pid ?? 0), "kubeconfig");
  const client = createClient({ connection: await connectionOf(await loadKubeconfig({ path })) });
  return { child, gone, client };
}

/** Kills it without a word of warning. */
export async function kill({ child, gone, client }: Program): Promise<void> {
  client.close();
  child.kill("SIGKILL");
  await gone;
}
