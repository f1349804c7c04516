/** One run of one program: without a shell, in a process group of its own, with a bound on its time and its output. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Clock } from "#lib/clock";
import { endWithUs } from "./orphans.ts";

export interface ProgramRun {
  /** Absolute path. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The program talks with the person at the terminal: it reads from it, and what it says is not for us. */
  readonly interactive: boolean;
  readonly timeoutMs: number;
  /** Bytes that it may write on stdout, and on stderr. */
  readonly outputLimit: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type ProgramEnd =
  | { readonly how: "exited"; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly how: "killed"; readonly by: string }
  | { readonly how: "timeout" }
  | { readonly how: "too-much-output" }
  | { readonly how: "called-off" }
  | { readonly how: "not-started"; readonly cause: Error };

/** What is kept of stderr: enough for a first line, not enough to fill memory. */
const STDERR_KEPT = 4 * 1024;

/**
 * A program that ended but left a child behind, which holds its output open, has said all that it will say; and one
 * that the system cannot end now, because it waits for a disk, is not waited for.
 */
const LINGER_MS = 1_000;

/** Resolves when the program is gone, however it went; never rejects. */
export function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const child = start(run);
    if (child instanceof Error) return resolve({ how: "not-started", cause: child });

    const release = run.interactive ? () => {} : endWithUs(child);
    const stdout = new Output(child.stdout, run.outputLimit, run.outputLimit, () => end({ how: "too-much-output" }));
    const stderr = new Output(child.stderr, STDERR_KEPT, run.outputLimit, () => end({ how: "too-much-output" }));
    const timers = [run.clock.after(run.timeoutMs, () => end({ how: "timeout" }))];
    const callOff = () => end({ how: "called-off" });
    let ending: ProgramEnd | undefined;

    const end = (how: ProgramEnd) => {
      ending ??= how;
      kill(child, run.interactive);
      timers.push(run.clock.after(LINGER_MS, () => finish(how)));
    };
    const finish = (how: ProgramEnd) => {
      for (const cancel of timers) cancel();
      run.signal.removeEventListener("abort", callOff);
      stdout.close();
      stderr.close();
      release();
      resolve(ending ?? how);
    };

    run.signal.addEventListener("abort", callOff, { once: true });
    if (run.signal.aborted) callOff();
    child.once("error", (cause) => finish({ how: "not-started", cause }));
    child.once("exit", (code, signal) => {
      const gone = (): ProgramEnd =>
        code === null
          ? { how: "killed", by: signal ?? "a signal" }
          : { how: "exited", code, stdout: stdout.text(), stderr: stderr.text() };
      child.once("close", () => finish(gone()));
      timers.push(run.clock.after(LINGER_MS, () => finish(gone())));
    });
  });
}

function start({ program, args, env, interactive }: ProgramRun): ChildProcess | Error {
  try {
    // A group of its own, so that the children of a script go with it. A program that talks with a person must
    // stay in ours: only there the terminal listens to it.
    return spawn(program, args, {
      env,
      detached: !interactive,
      stdio: interactive ? ["inherit", "pipe", "inherit"] : ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    return error as Error;
  }
}

function kill(child: ChildProcess, interactive: boolean): void {
  if (child.pid === undefined) return;
  try {
    process.kill(interactive ? child.pid : -child.pid, "SIGKILL");
  } catch {
    // It was faster.
  }
}

/** What came out of one pipe, up to a bound; `full` is called when it writes on beyond the other. */
class Output {
  readonly #stream: (NodeJS.ReadableStream & { destroy?: () => void }) | null;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #seen = 0;

  constructor(stream: ChildProcess["stdout"], keep: number, limit: number, full: () => void) {
    this.#stream = stream;
    stream?.on("error", () => {}); // its end is told by the process
    stream?.on("data", (chunk: Buffer) => {
      this.#seen += chunk.length;
      if (this.#seen > limit) {
        this.close();
        return full();
      }
      const part = chunk.subarray(0, keep - this.#kept);
      this.#kept += part.length;
      if (part.length > 0) this.#chunks.push(part);
    });
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }

  close(): void {
    this.#stream?.destroy?.();
  }
}
