/** The built command line as people and scripts run it: words in, exit code and both streams out. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "dist/cli/main.js");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** What it has said so far on stderr. */
  said(): string;
  readonly ended: Promise<Ended>;
}

/** src/ as it is now. */
export function build(): void {
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
}

export function start(...args: string[]): Running {
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.on("data", (chunk) => {
      said[stream] += chunk;
    });
  }
  const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, ...said })));
  return { child, said: () => said.stderr, ended };
}

export function run(...args: string[]): Promise<Ended> {
  return start(...args).ended;
}
