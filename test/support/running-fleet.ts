/** A fleet as a person runs it: the built command line in a process of its own, and a folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, connectionOf, createClient, loadKubeconfig } from "#kube";
import { eventually } from "./eventually.ts";

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
const PATIENCE_MS = 60_000;

export interface RunningFleet {
  readonly dir: string;
  /** Of the administrator. */
  client(cluster: string): Promise<Client>;
  /** SIGINT as Ctrl-C, SIGKILL as a crash. Ends when the process has. */
  stop(signal: "SIGINT" | "SIGKILL"): Promise<void>;
}

/** `capstan up` in the folder; src/ must have been built. Ends when the fleet says that it is ready. */
export async function startFleet(dir: string, ...args: string[]): Promise<RunningFleet> {
  const child = spawn(process.execPath, [main, "up", "--dir", dir, ...portOf(dir), ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  await eventually(() => {
    if (child.exitCode === null && pidIn(dir) !== child.pid)
      throw new Error(`the fleet is not ready; it says: ${said}`);
  }, PATIENCE_MS);
  if (child.exitCode !== null) throw new Error(`up ended with ${child.exitCode}: ${said}`);
  return {
    dir,
    client: async (cluster) =>
      createClient({
        connection: await connectionOf(await loadKubeconfig({ path: join(dir, `${cluster}.kubeconfig`) })),
      }),
    stop: (signal) => stopped(child, signal),
  };
}

/**
 * A stopped fleet keeps its ports, and a neighbour that starts at the same first port could take them before it is
 * back. So every folder has a stretch of its own, and test runs side by side leave each other alone.
 */
export function portOf(dir: string): string[] {
  const hash = createHash("sha256").update(dir).digest().readUInt16BE(0);
  return ["--port", String(20_000 + (hash % 1_200) * 10)];
}

/** A killed fleet leaves its ready.json behind until the next one starts: whose it is, the pid says. */
function pidIn(dir: string): number | undefined {
  const file = join(dir, "ready.json");
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, "utf8")) as { programs: { pid: number }[] }).programs[0]?.pid;
}

async function stopped(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await gone;
}
