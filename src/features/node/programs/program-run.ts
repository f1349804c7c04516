/** One run of a container as a program, from its beginning to its end and as long as somebody may ask about it. */
import { randomBytes } from "node:crypto";
import type { Clock } from "#lib/clock";
import type { Ended, Running } from "../kubelet/runner.ts";
import { type Execute, type Execution, KILLED } from "./execution.ts";
import type { Outfit } from "./pod-site.ts";
import { RunLog } from "./run-log.ts";

/** By this prefix of a container's id programs can tell that it really runs. */
export const REAL = "capstan://";

export interface ProgramRunOptions {
  readonly execute: Execute;
  readonly outfit: Outfit;
  /** How many runs of the container came before. */
  readonly attempt: number;
  /** As how many restarts in a row this one counts. */
  readonly strikes: number;
  readonly imageID: string;
  /** Whether it is ready only when it says so. */
  readonly saysReady: boolean;
  readonly clock: Clock;
  /** Called when it says that it works, and when it has ended. */
  readonly changed: () => void;
}

/** As much of its log as kubelets put into the status of a container that failed. */
const LAST_WORDS = { lines: 80, bytes: 2048 };
/** A process that was killed is gone at once, unless the system cannot end it: then it is not waited for. */
const LINGER_MS = 1_000;

export class ProgramRun {
  readonly containerID = `${REAL}${randomBytes(32).toString("hex")}`;
  readonly attempt: number;
  readonly strikes: number;
  readonly log = new RunLog();
  /** Ends when the run has. */
  readonly ended: Promise<void>;
  readonly #options: ProgramRunOptions;
  readonly #execution: Execution;
  readonly #since: Date;
  #markEnded: () => void = () => {};
  #isReady: boolean;
  #end: { at: Date; exitCode: number } | undefined;
  /** When its patience is over who asked it to end. */
  #deadline: number | undefined;
  #cancel: () => void = () => {};

  constructor(options: ProgramRunOptions) {
    const { execute, outfit, attempt, strikes, saysReady, clock } = options;
    this.#options = options;
    this.attempt = attempt;
    this.strikes = strikes;
    this.#isReady = !saysReady;
    this.#since = clock.now();
    this.ended = new Promise((resolve) => {
      this.#markEnded = resolve;
    });
    this.#execution = execute({
      ...outfit,
      write: (line) => this.log.write(line, clock.now()),
      ready: () => this.#becomeReady(),
    });
    void this.#execution.ended.then((exitCode) => this.#finish(exitCode));
  }

  get isAlive(): boolean {
    return this.#end === undefined;
  }

  get exitCode(): number | undefined {
    return this.#end?.exitCode;
  }

  /** Milliseconds that it ran, so far or in all. */
  get age(): number {
    return (this.#end?.at ?? this.#options.clock.now()).getTime() - this.#since.getTime();
  }

  sight(): Running | Ended {
    const { containerID } = this;
    const identity = { since: this.#since, containerID, imageID: this.#options.imageID };
    if (!this.#end) return { is: "running", ...identity, isReady: this.#isReady };
    const { exitCode } = this.#end;
    const message = exitCode === 0 ? "" : this.log.tail(LAST_WORDS);
    return { is: "ended", ...identity, ...this.#end, ...(message !== "" && { message }) };
  }

  /** Asks it to end, and ends it when the time is over. Asked again with less time, it has less. */
  stop(graceMs: number): void {
    if (this.#end) return;
    const { clock } = this.#options;
    const deadline = clock.now().getTime() + graceMs;
    if (this.#deadline === undefined) this.#execution.stop();
    if (this.#deadline !== undefined && this.#deadline <= deadline) return;
    this.#deadline = deadline;
    this.#cancel();
    if (graceMs <= 0) this.kill();
    else this.#cancel = clock.after(graceMs, () => this.kill());
  }

  kill(): void {
    if (this.#end) return;
    this.#cancel();
    this.#execution.kill();
    this.#cancel = this.#options.clock.after(LINGER_MS, () => this.#finish(KILLED));
  }

  /** Milliseconds until it has ended at the latest, once it was asked to. */
  get left(): number {
    const left = (this.#deadline ?? 0) - this.#options.clock.now().getTime();
    return left > 0 ? left : LINGER_MS;
  }

  #becomeReady(): void {
    if (this.#isReady || this.#end) return;
    this.#isReady = true;
    this.#options.changed();
  }

  #finish(exitCode: number): void {
    if (this.#end) return;
    this.#cancel();
    this.#end = { at: this.#options.clock.now(), exitCode };
    this.log.close();
    this.#markEnded();
    this.#options.changed();
  }
}
