/** The time and the life of one call: its deadline, its caller's signal, and the words for its failures. */
import type { Clock } from "#lib/clock";
import { KubeError } from "./errors.ts";
import type { CallOptions } from "./types.ts";

/** Unless the caller says otherwise. */
const DEFAULT_TIMEOUT = 30_000;

export class Call {
  /** `GET /api/v1/nodes on https://…`: what failures say was being done. Without the query. */
  readonly what: string;
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #until: number;
  readonly #timeout: number;
  readonly #caller: AbortSignal | undefined;
  readonly #onEnd: (call: Call) => void;
  #cancelTimer: () => void;

  constructor(what: string, options: CallOptions, clock: Clock, onEnd: (call: Call) => void) {
    this.what = what;
    this.#clock = clock;
    this.#onEnd = onEnd;
    this.#timeout = options.timeout ?? DEFAULT_TIMEOUT;
    this.#until = clock.now().getTime() + this.#timeout;
    this.#caller = options.signal;
    this.#cancelTimer = clock.after(this.#timeout, this.#expire);
    if (this.#caller?.aborted) this.#abortByCaller();
    else this.#caller?.addEventListener("abort", this.#abortByCaller, { once: true });
  }

  /** Fires with a KubeError as its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds until the deadline. */
  get remaining(): number {
    return this.#until - this.#clock.now().getTime();
  }

  /** From here on only the caller ends the call, or the clock after `ms`. */
  extend(ms?: number): void {
    this.#cancelTimer();
    if (ms !== undefined) this.#cancelTimer = this.#clock.after(ms, this.#expire);
  }

  abort(why: string): void {
    this.#controller.abort(new KubeError("aborted", `${this.what}: ${why}`, { cause: this.#caller?.reason }));
  }

  /** Waits, unless the call ends before. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) return reject(this.signal.reason);
      const cancel = this.#clock.after(ms, () => {
        this.signal.removeEventListener("abort", abort);
        resolve();
      });
      const abort = () => {
        cancel();
        reject(this.signal.reason);
      };
      this.signal.addEventListener("abort", abort, { once: true });
    });
  }

  /** Lets go of the clock and of the caller's signal. */
  end(): void {
    this.#cancelTimer();
    this.#caller?.removeEventListener("abort", this.#abortByCaller);
    this.#onEnd(this);
  }

  #expire = () => {
    const message = `${this.what}: no answer within ${this.#timeout / 1000} s`;
    this.#controller.abort(new KubeError("timeout", message));
  };

  #abortByCaller = () => this.abort("called off");
}
