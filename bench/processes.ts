/** Processes that benchmarks start, and what they take. */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

/** Where to put profiles of what runs, if anybody wants to see them. */
const PROFILES = process.env.BENCH_PROFILES;
/** The words for Node that ask for them. */
export const PROFILED = PROFILES ? ["--cpu-prof", `--cpu-prof-dir=${PROFILES}`] : [];

/** How long a process may take to end by itself. */
const GRACE_MS = 10_000;

export function pidsOf({ pid }: ChildProcess): number[] {
  return pid === undefined ? [] : [pid];
}

/** A process that says something is ready; one that ends before has failed. */
export async function firstLine(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once("data", () => resolve());
    child.once("exit", (code) => reject(new Error(`${child.spawnargs.join(" ")} ended with ${code}`)));
  });
}

/** Ends it with its input if it has one, by a signal otherwise. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  if (child.stdin) child.stdin.end();
  else child.kill("SIGTERM");
  const cut = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  await gone;
  clearTimeout(cut);
}

/** Time of processes and of the system on their behalf, of which the kernel counts hundredths of seconds. */
export function cpuSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return sum + (Number(fields[11]) + Number(fields[12])) / 100;
  }, 0);
}

export function rssMb(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return sum + Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  }, 0);
}
