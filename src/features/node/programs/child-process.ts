/**
 * Programs as processes of their own. Each has a group, so that what it starts ends with it, and a channel to the node:
 * by it the program says that it works, and when the channel closes it ends by itself. So nothing is left even where the
 * node had no time to end it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import type { Clock } from "#lib/clock";
import type { Execute, Execution, Order } from "./execution.ts";

/** The exit code of what could not be started. */
const NOT_STARTED = 128;
/** A program that has ended but left a child behind, which holds its output open, has said all that it will say. */
const LINGER_MS = 1_000;

/** `entry` is the file that Node is started with. */
export function asChildren({ entry, clock }: { entry: string; clock: Clock }): Execute {
  const groups = new Set<number>();
  const endAll = () => {
    for (const group of groups) killGroup(group, "SIGKILL");
  };
  return (order) => {
    const child = started(entry, order);
    if (child instanceof Error) return neverBegun(notStarted(child, order.write));
    const { pid } = child;
    if (pid !== undefined) {
      if (groups.size === 0) process.on("exit", endAll);
      groups.add(pid);
    }
    return executionOf(child, order, clock, () => {
      if (pid === undefined) return;
      killGroup(pid, "SIGKILL"); // what the program started and left behind
      groups.delete(pid);
      if (groups.size === 0) process.off("exit", endAll);
    });
  };
}

/** Words and variables may be too many or too long for the system, which it says at once. */
function started(entry: string, order: Order): ChildProcess | Error {
  try {
    return spawn(process.execPath, [entry, ...mountOptions(order), ...order.args], {
      env: { ...surroundings(), ...order.env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
  } catch (error) {
    return error as Error;
  }
}

function notStarted({ message }: Error, write: (line: string) => void): number {
  write(`the program cannot be started: ${message}`);
  return NOT_STARTED;
}

function neverBegun(exitCode: number): Execution {
  return { ended: Promise.resolve(exitCode), stop() {}, kill() {} };
}

function executionOf(child: ChildProcess, { write, ready }: Order, clock: Clock, gone: () => void): Execution {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", write);
  }
  child.on("message", (message) => {
    if (typeof message === "object" && message !== null && "ready" in message && message.ready === true) ready();
  });
  const ended = new Promise<number>((resolve) => {
    child.on("error", (error) => {
      if (child.pid === undefined) resolve(notStarted(error, write));
    });
    child.once("exit", (code, signal) => {
      gone();
      const exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
      child.once("close", () => resolve(exitCode));
      clock.after(LINGER_MS, () => resolve(exitCode));
    });
  });
  const { pid } = child;
  return {
    ended,
    stop: () => void child.kill("SIGTERM"),
    kill: () => void (pid !== undefined && killGroup(pid, "SIGKILL")),
  };
}

function mountOptions({ mounts }: Order): string[] {
  return mounts.map(({ path, real }) => `--mount=${path}=${real}`);
}

/** Of the node's own variables a program gets those without which Node would not work as the person wants it. */
function surroundings(): Record<string, string> {
  const passed = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && /^(PATH|HOME|NODE_.*)$/.test(entry[0]) && !entry[0].startsWith("NODE_CHANNEL"),
  );
  return Object.fromEntries(passed);
}

function killGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // It was faster.
  }
}
