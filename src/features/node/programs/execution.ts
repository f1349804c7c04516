/** How a program is begun and ended: inside this process, or as a process of its own. */
import type { Mount } from "./mounts.ts";
import { resolvedPath } from "./mounts.ts";
import type { RunProgram } from "./program.ts";

export interface Order {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mounts: readonly Mount[];
  readonly write: (line: string) => void;
  readonly ready: () => void;
}

export interface Execution {
  /** Ends with the exit code, and never fails. */
  readonly ended: Promise<number>;
  /** Asks it to end. */
  stop(): void;
  /** Ends it, whether it wants or not. */
  kill(): void;
}

export type Execute = (order: Order) => Execution;

/** SIGKILL, by the shell's reckoning. */
export const KILLED = 137;

/** A program in this process cannot be ended against its will: it is given up, and nobody hears of it any more. */
export function inThisProcess(run: RunProgram): Execute {
  return ({ args, env, mounts, write, ready }) => {
    const stopping = new AbortController();
    let giveUp = (_code: number) => {};
    const givenUp = new Promise<number>((resolve) => {
      giveUp = resolve;
    });
    const context = {
      args,
      env,
      resolve: (path: string) => resolvedPath(path, mounts),
      write,
      ready,
      signal: stopping.signal,
    };
    // Not at once: whoever begins a program must have heard of it before it says something.
    const ran = Promise.resolve()
      .then(() => run(context))
      .catch((error: unknown) => {
        write(error instanceof Error ? (error.stack ?? error.message) : String(error));
        return 1;
      });
    return {
      ended: Promise.race([ran, givenUp]),
      stop: () => stopping.abort(),
      kill() {
        stopping.abort();
        giveUp(KILLED);
      },
    };
  };
}
